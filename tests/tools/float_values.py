"""What the codes of small floats are worth, and one rounding to 16 bits; by the definitions, not by
tricks on bits. Values are Python's floats: all that is computed here is exact in them."""

import fractions
import functools
import math
import struct


def _float_code(code, exponent_bits, mantissa_bits, bias):
    sign = -1.0 if code >> (exponent_bits + mantissa_bits) else 1.0
    exponent = code >> mantissa_bits & (1 << exponent_bits) - 1
    mantissa = code & (1 << mantissa_bits) - 1
    if exponent == 0:
        return sign * math.ldexp(mantissa, 1 - bias - mantissa_bits)
    return sign * math.ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits)


def e4m3(code):
    return math.nan if code & 0x7F == 0x7F else _float_code(code, 4, 3, 7)


def e5m2(code):
    if code & 0x7F >= 0x7C:
        return math.nan if code & 3 else math.copysign(math.inf, -(code >> 7) or 1)
    return _float_code(code, 5, 2, 15)


def e2m1(code):
    return _float_code(code, 2, 1, 1)


def e8m0(code):
    return math.nan if code == 255 else math.ldexp(1.0, code - 127)


# Mantissa bits with the leading one, the exponents of the smallest and the largest normal value.
_SIXTEEN = {"F16": (11, -14, 15), "BF16": (8, -126, 127)}


def round_to_16(value, dtype):
    """The bits of the nearest value of F16 or BF16, ties to even; overflow gives infinity."""
    return (0x8000 if math.copysign(1, value) < 0 else 0) | _rounded(abs(value), dtype)


@functools.lru_cache(maxsize=None)
def _rounded(magnitude, dtype):
    precision, smallest, largest = _SIXTEEN[dtype]
    infinity = (largest - smallest + 2) << (precision - 1)
    if magnitude == 0:
        return 0
    if math.isinf(magnitude):
        return infinity
    exponent = max(math.frexp(magnitude)[1] - 1, smallest)
    step = fractions.Fraction(2)**(exponent - precision + 1)
    units = round(fractions.Fraction(magnitude) / step)  # Python rounds ties to even
    if units >= 1 << precision:
        units //= 2
        exponent += 1
    if exponent > largest:
        return infinity
    # A subnormal value has the exponent field 0 and no leading one; the sum makes it so.
    return ((exponent - smallest) << (precision - 1)) + units


def sixteen(values, dtype):
    """The bytes of a tensor."""
    return struct.pack(f"<{len(values)}H", *(round_to_16(value, dtype) for value in values))
