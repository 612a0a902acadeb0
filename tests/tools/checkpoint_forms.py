"""Random layers, the tensors that each quantiser stores them in, and what they are worth.

The values of a layer follow from its codes, zero points and scales alone: no packer has a part in
them. A tensor is (dtype, shape, bytes); a packer gives {suffix of the name: tensor}."""

import random
import struct

import float_values

AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)
COLUMN_ORDER = tuple(range(8))
_WORDS = {8: ("I8", "B"), 16: ("I16", "H"), 32: ("I32", "I"), 64: ("I64", "Q")}


def tensor(dtype, shape, kind, values):
    return dtype, list(shape), struct.pack(f"<{len(values)}{kind}", *values)


def words_tensor(shape, values, word_bits=32):
    return tensor(_WORDS[word_bits][0], shape, _WORDS[word_bits][1], values)


def flat(rows):
    return [value for row in rows for value in row]


def transposed(rows):
    return [list(column) for column in zip(*rows)]


def stream(values, bits, word_bits=32):
    """Values one after the other, low bits first; one may lie across two words."""
    number = sum(value << (bits * i) for i, value in enumerate(values))
    count = -(-len(values) * bits // word_bits)
    return [number >> (word_bits * i) & (1 << word_bits) - 1 for i in range(count)]


def whole_codes(values, bits):
    """As many whole values to each word as it has room for."""
    per_word = 32 // bits
    return flat(stream(values[i:i + per_word], bits) for i in range(0, len(values), per_word))


def nibbles(values, order):
    """Eight values of four bits to a word: number order[i] of them is the word's nibble i."""
    return [sum(values[at + order[i]] << (4 * i) for i in range(8))
            for at in range(0, len(values), 8)]


# Codes that are good scales, of about the size that quantisers write: codes, struct kind, value.
_SCALES = {
    "F16": (lambda rng: rng.randrange(0x1000, 0x2800), "H",
            lambda code: struct.unpack("<e", struct.pack("<H", code))[0]),
    "BF16": (lambda rng: rng.randrange(0x3A00, 0x3D00), "H",
             lambda code: struct.unpack("<f", struct.pack("<I", code << 16))[0]),
    "F32": (lambda rng: rng.randrange(0x3A000000, 0x3D000000), "I",
            lambda code: struct.unpack("<f", struct.pack("<I", code))[0]),
    "U8": (lambda rng: rng.randrange(115, 127), "B", float_values.e8m0),
    "F8_E8M0": (lambda rng: rng.randrange(115, 127), "B", float_values.e8m0),
    "F8_E4M3": (lambda rng: rng.randrange(0x18, 0x60), "B", float_values.e4m3),
}


class Scales:
    """[rows, columns] of a type that scales have."""

    def __init__(self, rng, dtype, rows, columns):
        draw, self.kind, value = _SCALES[dtype]
        self.dtype = dtype
        self.codes = [[draw(rng) for _ in range(columns)] for _ in range(rows)]
        self.values = [[value(code) for code in row] for row in self.codes]

    def tensor(self, shape):
        return tensor(self.dtype, shape, self.kind, flat(self.codes))

    def by_group(self):
        """[columns, rows]"""
        return tensor(self.dtype, [len(self.codes[0]), len(self.codes)], self.kind,
                      flat(transposed(self.codes)))

    def padded(self, columns):
        rows = [row + [0] * (columns - len(row)) for row in self.codes]
        return tensor(self.dtype, [len(rows), columns], self.kind, flat(rows))


class Integers:
    """[n, k] codes of `bits` bits from 0; a group of columns has a zero point and a scale, or the
    whole tensor (`whole`) one of each."""

    def __init__(self, seed, n=16, k=64, group=32, bits=4, *, symmetric=False, act_order=False,
                 scale="F16", whole=False):
        group = k if whole else group
        rng = random.Random(seed)
        self.n, self.k, self.group, self.bits = n, k, group, bits
        self.groups = -(-k // group)
        self.middle = 1 << (bits - 1)
        self.codes = [[rng.randrange(1 << bits) for _ in range(k)] for _ in range(n)]
        self.zeros = [[self.middle if symmetric else rng.randrange(1 << bits)
                       for _ in range(self.groups)] for _ in range(n)]
        self.scales = Scales(rng, scale, 1 if whole else n, self.groups)
        if whole:
            self.zeros = self.zeros[:1] * n
            self.scales.values *= n
        self.index = [i // group for i in range(k)]
        if act_order:
            rng.shuffle(self.index)

    def values(self):
        return [(self.codes[n][k] - self.zeros[n][g]) * self.scales.values[n][g]
                for n in range(self.n) for k, g in enumerate(self.index)]

    def order(self):
        """The columns by group."""
        return sorted(range(self.k), key=lambda column: self.index[column])


def minus_one_of(zeros, bits, word_bits=32):
    """GPTQ v1: one subtraction from each word, with borrows between its fields; from each field
    where fields lie across words."""
    most = (1 << bits) - 1
    if word_bits % bits:
        return stream([zero - 1 & most for zero in zeros], bits, word_bits)
    word = (1 << word_bits) - 1
    return [value - word // most & word for value in stream(zeros, bits, word_bits)]


def gptq(layer, *, minus_one=True, word_bits=32, zeros=True, index=True):
    # Each row of W is a column of words.
    down = [stream(row, layer.bits, word_bits) for row in layer.codes]
    tensors = {".qweight": words_tensor([len(down[0]), layer.n], flat(transposed(down)),
                                        word_bits),
               ".scales": layer.scales.by_group()}
    if zeros:
        along = [minus_one_of(group, layer.bits, word_bits) if minus_one
                 else stream(group, layer.bits, word_bits) for group in transposed(layer.zeros)]
        tensors[".qzeros"] = words_tensor([layer.groups, len(along[0])], flat(along), word_bits)
    if index:
        tensors[".g_idx"] = tensor("I32", [layer.k], "i", layer.index)
    return tensors


def awq(layer):
    return {".qweight": words_tensor([layer.k, layer.n // 8],
                                     nibbles(flat(transposed(layer.codes)), AWQ_ORDER)),
            ".qzeros": words_tensor([layer.groups, layer.n // 8],
                                    nibbles(flat(transposed(layer.zeros)), AWQ_ORDER)),
            ".scales": layer.scales.by_group()}


def awq_gemv(layer):
    """Rows of scales and zero points have room for a multiple of groups; what is left is zero."""
    room = -(-layer.groups // 8) * 8
    zeros = [row + [0] * (room - layer.groups) for row in layer.zeros]
    return {".qweight": words_tensor([layer.n, layer.k // 8],
                                     nibbles(flat(layer.codes), COLUMN_ORDER)),
            ".qzeros": words_tensor([layer.n, room // 8], nibbles(flat(zeros), COLUMN_ORDER)),
            ".scales": layer.scales.padded(room)}


def packed(layer, *, pack=stream, zeros="I32", index=False, one=None):
    """compressed-tensors. Codes and zero points are signed and have an offset of 2^(bits-1). `one`:
    the shape of the only scale."""
    rows = [pack(row, layer.bits) for row in layer.codes]
    shape = [layer.n, layer.groups] if one is None else one
    tensors = {".weight_packed": words_tensor([layer.n, len(rows[0])], flat(rows)),
               ".weight_scale": layer.scales.tensor(shape),
               ".weight_shape": tensor("I64", [2], "q", [layer.n, layer.k])}
    if zeros == "I32":
        down = [pack(column, layer.bits) for column in transposed(layer.zeros)]
        tensors[".weight_zero_point"] = words_tensor([len(down[0]), layer.groups],
                                                     flat(transposed(down)))
    if zeros == "I8":
        stored = layer.zeros if one is None else layer.zeros[:1]
        signed = [zero - layer.middle for zero in flat(stored)]
        tensors[".weight_zero_point"] = tensor("I8", shape, "b", signed)
    if index:
        tensors[".weight_g_idx"] = tensor("I32", [layer.k], "i", layer.index)
    return tensors


def quark_int4(layer, *, order=AWQ_ORDER, signed=False, zeros=True):
    """In two's complement, codes and zero points are 8 less."""
    flip = 8 if signed else 0
    tensors = {".weight": words_tensor(
        [layer.k, layer.n // 8], nibbles([code ^ flip for code in flat(transposed(layer.codes))],
                                         order)),
               ".weight_scale": layer.scales.by_group()}
    if zeros:
        stored = [zero ^ flip for zero in flat(transposed(layer.zeros))]
        tensors[".weight_zero_point"] = words_tensor([layer.groups, layer.n // 8],
                                                     nibbles(stored, order))
    return tensors


# dtype: how a code's byte is worth what.
_BYTES = {"F8_E4M3": float_values.e4m3, "F8_E5M2": float_values.e5m2,
          "I8": lambda code: code - 256 if code > 127 else code}


class Bytes:
    """[n, k] codes of a byte; `block` rows and columns share a scale, and a zero point (I8)."""

    def __init__(self, seed, dtype="F8_E4M3", n=16, k=64, block=(1, 64), *, scale="F32",
                 zeros=False, matrices=1):
        rng = random.Random(seed)
        self.dtype, self.n, self.k, self.block, self.matrices = dtype, n, k, block, matrices
        value = _BYTES[dtype]
        rows = n * matrices
        finite = [code for code in range(256) if abs(value(code)) < float("inf")]
        self.codes = [[rng.choice(finite) for _ in range(k)] for _ in range(rows)]
        self.blocks = (-(-n // block[0]), -(-k // block[1]))
        self.scales = Scales(rng, scale, self.blocks[0] * matrices, self.blocks[1])
        self.zeros = [[rng.randrange(-128, 128) if zeros else 0 for _ in range(self.blocks[1])]
                      for _ in range(self.blocks[0] * matrices)]

    def values(self):
        value = _BYTES[self.dtype]
        result = []
        for row, codes in enumerate(self.codes):
            place = row // self.n * self.blocks[0] + row % self.n // self.block[0]
            for column, code in enumerate(codes):
                group = column // self.block[1]
                number = value(code) - self.zeros[place][group] if self.dtype == "I8" \
                    else value(code)
                result.append(number * self.scales.values[place][group])
        return result

    def weight(self, shape=None):
        return tensor(self.dtype, shape or [self.n, self.k], "B", flat(self.codes))

    def tensors(self, scale_shape=None, scale_name=".weight_scale", zeros=False):
        shape = list(self.blocks) if scale_shape is None else scale_shape
        tensors = {".weight": self.weight(), scale_name: self.scales.tensor(shape)}
        if zeros:
            tensors[".weight_zero_point"] = tensor("I8", shape, "b", flat(self.zeros))
        return tensors


class Fp4:
    """[n, k] codes of e2m1 in groups of 32 (MX) or 16 (NV), the latter with a factor for all."""

    def __init__(self, seed, n=16, k=64, *, scale="U8", factor=1.0, matrices=1):
        rng = random.Random(seed)
        self.n, self.k, self.matrices, self.factor = n, k, matrices, factor
        self.group = 16 if scale == "F8_E4M3" else 32
        rows = n * matrices
        self.codes = [[rng.randrange(16) for _ in range(k)] for _ in range(rows)]
        self.scales = Scales(rng, scale, rows, k // self.group)

    def values(self):
        return [float_values.e2m1(code) * (self.scales.values[n][k // self.group] * self.factor)
                for n, row in enumerate(self.codes) for k, code in enumerate(row)]

    def pairs(self, shape):
        """Two codes to a byte, the first one in its low bits."""
        codes = flat(self.codes)
        return tensor("U8", shape, "B",
                      [codes[i] | codes[i + 1] << 4 for i in range(0, len(codes), 2)])

    def tensors(self, weight=".weight", **others):
        return {weight: self.pairs([self.n, self.k // 2]),
                ".weight_scale": self.scales.tensor([self.n, self.k // self.group]), **others}

    def blocks(self, join="."):
        """gpt-oss: experts, and a side of its own for the groups."""
        shape = [self.matrices, self.n, self.k // self.group]
        return {join + "blocks": self.pairs(shape + [16]),
                join + "scales": self.scales.tensor(shape)}


def f32(value):
    return tensor("F32", [1], "f", [value])


def nearest_f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]
