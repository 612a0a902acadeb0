"""Packing and quantising on the host, against a reference written from docs/layouts.md."""

import numpy as np
import pytest
from conftest import gemm

LANES = 32
# For each element of a lane: does it have row g + 8, its column, and the bit of a 4-bit integer.
UPPER = [0, 0, 1, 1, 0, 0, 1, 1]
COLUMN = [0, 1, 0, 1, 8, 9, 8, 9]
BIT = [0, 16, 4, 20, 8, 24, 12, 28]
SCALE_ORDER = [row for g in range(8) for row in (g, g + 8)]


def words_of(codes):
    """The 128 words of 16 rows by 64 columns of 4-bit codes, 16 bytes to a lane."""
    words = np.zeros((LANES, 4), np.uint32)
    for lane in range(LANES):
        g, t = divmod(lane, 4)
        for tile in range(4):
            for upper, column, bit in zip(UPPER, COLUMN, BIT, strict=True):
                code = codes[g + 8 * upper, 16 * tile + 2 * t + column]
                words[lane, tile] |= np.uint32(int(code) << bit)
    return words.tobytes()


def reference(codes, scales, zeros, group, gated=False):
    """N a multiple of 16, K of 128, groups that divide 128."""
    n, k = codes.shape
    packed = b""
    for block in range(n // 16):
        rows = (np.r_[8 * block:8 * block + 8, n // 2 + 8 * block:n // 2 + 8 * block + 8]
                if gated else np.arange(16 * block, 16 * block + 16))
        for chunk in range(k // 128):
            columns = slice(128 * chunk, 128 * chunk + 128)
            part = codes[rows, columns]
            packed += words_of(part[:, :64]) + words_of(part[:, 64:])
            entries = range(128 * chunk // group, (128 * chunk + 128) // group)
            packed += b"".join(scales[rows, g][SCALE_ORDER].tobytes() for g in entries)
            if zeros is not None:
                for g in entries:
                    both = zeros[rows, g]
                    packed += bytes(int(both[i]) | int(both[i + 8]) << 4 for i in range(8))
            packed += bytes(-len(packed) % 16)
    return packed


@pytest.mark.parametrize(("group", "zero_point", "gated"), [
    (128, "none", False), (64, "int", False), (32, "int", False), (128, "int", True)])
def test_pack_weights_writes_the_layout_of_the_page(heddle, group, zero_point, gated):
    n, k = 48, 256
    if gated:
        n = 64
    random = np.random.default_rng(7)
    codes = random.integers(0, 16, (n, k), np.uint8)
    scales = random.random((n, k // group)).astype(np.float16)
    zeros = random.integers(0, 16, (n, k // group), np.uint8) if zero_point == "int" else None
    spec = gemm(n, k, weight={"bits": 4, "group_size": group, "zero_point": zero_point})
    if gated:
        spec["epilogue"] = {"gated": True, "activation": "silu"}
    packed = heddle.pack_weights(spec, codes, scales, zeros)
    assert (packed.dtype, packed.shape) == (np.uint8, (heddle.weight_layout(spec).total_bytes,))
    assert packed.tobytes() == reference(codes, scales, zeros, group, gated)
    back = heddle.unpack_weights(spec, packed)
    np.testing.assert_array_equal(back.codes, codes)
    np.testing.assert_array_equal(back.scales, scales)
    if zeros is not None:
        np.testing.assert_array_equal(back.zeros, zeros)
    np.testing.assert_array_equal(heddle.pack_weights(spec, *back), packed)


@pytest.mark.parametrize(("weight", "scale", "columns"), [
    ({"bits": 8, "type": "e4m3", "group_size": -1, "scale_dtype": "fp32"}, np.float32, 1),
    ({"bits": 4, "type": "e2m1", "group_size": 32, "scale_dtype": "e8m0"}, np.uint8, 8),
    ({"bits": 4, "type": "e2m1", "group_size": 16, "scale_dtype": "e4m3", "tensor_scale": True},
     np.uint8, 16),
    ({"bits": 3, "group_size": 128, "zero_point": "float", "scale_dtype": "bf16"}, np.uint16, 2),
])
def test_other_formats_come_back(heddle, weight, scale, columns):
    spec = gemm(64, 256, weight=weight, activation={"dtype": "bf16"})
    random = np.random.default_rng(3)
    codes = random.integers(0, 1 << weight["bits"], (64, 256), np.uint8)
    scales = (random.random((64, columns)) * 100).astype(scale)
    zeros = scales if weight.get("zero_point") == "float" else None
    factor = 0.5 if weight.get("tensor_scale") else 1.0
    back = heddle.unpack_weights(spec, heddle.pack_weights(spec, codes, scales, zeros, factor))
    np.testing.assert_array_equal(back.codes, codes)
    np.testing.assert_array_equal(back.scales, scales)
    assert back.scales.dtype == scale
    assert (back.zeros is None, back.tensor_scale) == (zeros is None, factor)


def test_weights_of_16_bits_and_per_tensor(heddle):
    plain = gemm(64, 256, weight={"bits": 16, "type": "fp16"})
    w = np.random.default_rng(1).random((64, 256)).astype(np.float16)
    back = heddle.unpack_weights(plain, heddle.pack_weights(plain, w))
    np.testing.assert_array_equal(back.codes, w)
    assert back.scales is None
    tensor = gemm(64, 256, weight={"bits": 8, "type": "e4m3", "group_size": 0})
    codes = np.full((64, 256), 56, np.uint8)
    packed = heddle.pack_weights(tensor, codes, np.ones((1, 1), np.float16))
    assert heddle.unpack_weights(tensor, packed).scales.shape == (1, 1)


def test_quantize_makes_the_nearest_codes(heddle):
    spec = gemm(32, 256, weight={"bits": 8, "type": "int", "group_size": 128})
    w = np.random.default_rng(5).standard_normal((32, 256)).astype(np.float16)
    made = heddle.quantize(spec, w)
    assert (made.codes.shape, made.scales.shape, made.scales.dtype) == (
        (32, 256), (32, 2), np.float16)
    scales = np.repeat(made.scales.astype(np.float64), 128, axis=1)
    error = np.abs(made.codes.view(np.int8) * scales - w)
    assert (error <= scales * 0.51).all()
    assert error.max() > 0
    own = {"heddle": 1, "op": "quantize_weight", "shape": {"n": 32, "k": 256},
           "weight": {"bits": 8, "type": "int", "group_size": 128}, "input": {"dtype": "fp16"}}
    for one, other in zip(made, heddle.quantize(own, w), strict=True):
        np.testing.assert_array_equal(one, other)
    assert heddle.pack_weights(spec, *made).size == heddle.weight_layout(spec).total_bytes


TWO_LEVELS = {"bits": 4, "group_size": 32, "zero_point": "int", "scale_dtype": "int8",
              "channel_scale": "fp32"}


def two_levels():
    return gemm(32, 256, weight=TWO_LEVELS, activation={"dtype": "int8", "granularity": "token"},
                output={"dtype": "fp16"})


def test_two_levels_are_made_and_packed(heddle):
    w = np.random.default_rng(5).standard_normal((32, 256)).astype(np.float16)
    made = heddle.quantize({"heddle": 1, "op": "quantize_weight", "shape": {"n": 32, "k": 256},
                            "weight": TWO_LEVELS, "input": {"dtype": "fp16"}}, w)
    assert (made.scales.shape, made.channel_scales.shape, made.channel_scales.dtype) == (
        (32, 8), (32,), np.float32)
    steps = np.repeat(made.scales.astype(int), 32, axis=1)
    integers = steps * (made.codes.astype(int) - np.repeat(made.zeros.astype(int), 32, axis=1))
    assert np.abs(integers).max() <= 127
    error = np.abs(integers * made.channel_scales[:, None] - w)
    assert (error <= (steps + 8) * made.channel_scales[:, None]).all()
    assert np.sqrt((error ** 2).mean()) < 0.1
    packed = heddle.pack_weights(two_levels(), *made)
    for one, other in zip(made, heddle.unpack_weights(two_levels(), packed), strict=True):
        np.testing.assert_array_equal(one, other)
    made.scales[3, 2] = 0
    with pytest.raises(heddle.UsageError, match="row 3, group 2: the scale is 0"):
        heddle.pack_weights(two_levels(), *made)
    with pytest.raises(heddle.UsageError, match="channel_scales"):
        heddle.pack_weights(two_levels(), *made[:4])


CODES = np.zeros((256, 512), np.uint8)
SCALES = np.zeros((256, 4), np.float16)


@pytest.mark.parametrize(("arguments", "code", "words"), [
    ((CODES.astype(np.int32), SCALES), "weights.dtype", "elements of another type, got int32"),
    ((CODES[:, :256], SCALES), "weights.shape",
     "codes has another shape, got [256, 256]; allowed: [256, "),
    ((CODES.T.copy().T, SCALES), "weights.layout", "codes is not contiguous"),
    ((CODES, SCALES.astype(np.float32)), "weights.dtype", "scales has elements"),
    ((CODES, SCALES.T.copy()), "weights.shape", "scales has another shape, got [4, 256]"),
    ((CODES, None), "weights.argument", "scales is a NoneType"),
    ((CODES, SCALES, CODES[:, :4].copy()), "weights.unexpected", "zeros is given"),
    ((CODES, SCALES, None, 0.5), "weights.unexpected", "tensor_scale is given"),
    ((CODES, SCALES, None, 1.0, SCALES), "weights.unexpected", "channel_scales is given"),
    (("codes", SCALES), "weights.argument", "codes is a str"),
])
def test_wrong_arrays_are_refused_by_name(heddle, arguments, code, words):
    with pytest.raises(heddle.UsageError) as caught:
        heddle.pack_weights(gemm(), *arguments)
    assert caught.value.code == code
    assert words in str(caught.value)


def test_read_only_arrays_are_read(heddle):
    codes = CODES + np.uint8(9)
    expected = heddle.pack_weights(gemm(), codes, SCALES)
    codes.flags.writeable = False
    np.testing.assert_array_equal(heddle.pack_weights(gemm(), codes, SCALES), expected)


def test_other_operations_are_refused(heddle):
    rows = {"heddle": 1, "op": "row_transform", "shape": {"columns": 256},
            "input": {"dtype": "fp16"}, "norm": {"type": "rms", "epsilon": 1e-6}}
    for call in (lambda: heddle.pack_weights(rows, CODES, SCALES),
                 lambda: heddle.quantize(rows, CODES), lambda: heddle.weight_layout(rows),
                 lambda: heddle.layout_version(rows)):
        with pytest.raises(heddle.UsageError) as caught:
            call()
        assert caught.value.code == "weights.operation"


def test_stored_weights_are_checked(heddle):
    version = heddle.layout_version(gemm())
    assert version == heddle.LAYOUT_VERSION
    heddle.check_packed_weights(gemm(epilogue={"bias": True}), gemm(), version)
    with pytest.raises(heddle.UsageError) as caught:
        heddle.check_packed_weights(gemm(), gemm(n=264), version)
    assert caught.value.code == "weights.mismatch"
    with pytest.raises(heddle.UsageError) as caught:
        heddle.check_packed_weights(gemm(), gemm(), 99)
    assert caught.value.code == "weights.layout_version"


def test_bytes_that_are_no_codes_are_refused(heddle):
    for kind, wrong in (("uint", (16, 255)), ("int", (16, 247))):
        spec = gemm(64, 128, weight={"bits": 4, "type": kind, "group_size": 128})
        codes = np.zeros((64, 128), np.uint8)
        scales = np.ones((64, 1), np.float16)
        codes[0, 0] = 15 if kind == "uint" else 0xff
        heddle.pack_weights(spec, codes, scales)
        for code in wrong:
            codes[63, 127] = code
            with pytest.raises(heddle.UsageError) as caught:
                heddle.pack_weights(spec, codes, scales)
            assert caught.value.code == "weights.range", (kind, code)
            assert "codes" in str(caught.value)
