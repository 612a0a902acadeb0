"""Launches of GEMMs with activations of eight bits on the fake driver."""

import pytest
from fake_arrays import DlpackArray

N, K = 64, 256


def byte_spec(dtype, granularity="token", **activation):
    return {"heddle": 1, "op": "gemm", "shape": {"n": N, "k": K, "m": [1, 8]},
            "weight": {"bits": 8, "type": "int" if dtype == "int8" else "e4m3", "group_size": -1},
            "activation": {"dtype": dtype, "granularity": granularity, **activation},
            "output": {"dtype": "bf16"}, "epilogue": {"bias": True}}


def arguments_of(heddle, kernel, spec, **more):
    x = "int8" if spec["activation"]["dtype"] == "int8" else "uint8"
    return {"x": DlpackArray((4, K), x),
            "weights": DlpackArray((heddle.weight_layout(spec).total_bytes,), "uint8"),
            "y": DlpackArray((4, N), "bfloat16"), "bias": DlpackArray((N,), "bfloat16"),
            "workspace": DlpackArray((max(kernel.max_workspace_bytes, 16),), "uint8"), **more}


def test_scales_and_zero_points_are_arguments(heddle, driver, runtime):
    of_tokens = DlpackArray((4,), "float32", pointer=0x200004)
    of_tensor = DlpackArray((), "float32", pointer=0x200000)
    zeros = DlpackArray((4,), "int32", pointer=0x300000)
    cases = [(byte_spec("int8"), {"x_scales": of_tokens}),
             (byte_spec("int8", symmetric=False), {"x_scales": of_tokens, "x_zero_points": zeros}),
             (byte_spec("fp8_e4m3"), {"x_scales": of_tokens}),
             (byte_spec("fp8_e4m3", "tensor"), {"x_scales": of_tensor})]
    for spec, scales in cases:
        kernel = runtime.kernel(spec)
        given = arguments_of(heddle, kernel, spec, **scales)
        before = len(driver.launches())
        kernel.launch(**given)
        assert len(driver.launches()) == before + 1
        for name in scales:
            with pytest.raises(heddle.UsageError, match=f"^{name} ") as caught:
                kernel.launch(**{**given, name: None})
            assert caught.value.code == "launch.missing", name
        for name, value, code in (
                ("x", DlpackArray((4, K)), "launch.dtype"),
                ("bias", DlpackArray((N,), "float16"), "launch.dtype"),
                ("x_scales", zeros, "launch.dtype"),
                ("x_scales", DlpackArray((3,), "float32"), "launch.shape")):
            with pytest.raises(heddle.UsageError) as caught:
                kernel.launch(**{**given, name: value})
            assert caught.value.code == code, (spec, name)
    with pytest.raises(heddle.UsageError) as caught:
        kernel.launch(**given, x_zero_points=zeros)
    assert caught.value.code == "launch.unexpected"


def block_spec(scale_dtype):
    spec = byte_spec("fp8_e4m3", "group", scale_dtype=scale_dtype)
    spec["weight"].update(group_size=128, group_rows=128)
    return spec


def test_scales_of_groups_have_lines(heddle, driver, runtime):
    for scale_dtype, dtype, shape in (("fp32", "float32", (2, 4)), ("e8m0", "uint32", (1, 4))):
        spec = block_spec(scale_dtype)
        kernel = runtime.kernel(spec)
        given = arguments_of(heddle, kernel, spec, x_scales=DlpackArray(shape, dtype))
        before = len(driver.launches())
        kernel.launch(**given)
        wide = DlpackArray((shape[0], 8), dtype)
        kernel.launch(**{**given, "x_scales": wide, "x_scale_stride": 8})
        assert len(driver.launches()) == before + 2
        for changed, code in (
                ({"x_scales": DlpackArray((1, 3), dtype)}, "launch.too_small"),
                ({"x_scales": wide, "x_scale_stride": 6}, "launch.size"),
                ({"x_scales": None}, "launch.missing")):
            with pytest.raises(heddle.UsageError) as caught:
                kernel.launch(**{**given, **changed})
            assert caught.value.code == code, changed


def test_weights_in_blocks_come_back(heddle):
    np = pytest.importorskip("numpy")
    spec = block_spec("fp32")
    codes = (np.arange(N * K) % 97).astype(np.uint8).reshape(N, K)
    scales = np.arange(1, 3, dtype=np.float32).reshape(1, 2)
    packed = heddle.pack_weights(spec, codes, scales)
    back = heddle.unpack_weights(spec, packed)
    assert (np.asarray(back.codes) == codes).all()
    assert (np.asarray(back.scales) == scales).all()
    with pytest.raises(heddle.UsageError):
        heddle.pack_weights(spec, codes, np.ones((N, 2), np.float32))


def test_quantized_weights_are_packed_for_a_gemm(heddle):
    np = pytest.importorskip("numpy")
    for gemm in (byte_spec("int8"), block_spec("fp32")):
        weight = {**gemm["weight"], "scale_dtype": "fp32", "interleave": "swizzle_128b"}
        op = {"heddle": 1, "op": "quantize_weight", "shape": {"n": N, "k": K}, "weight": weight,
              "input": {"dtype": "fp16"}}
        w = np.linspace(-1, 1, N * K, dtype=np.float16).reshape(N, K)
        weights = heddle.quantize(op, w)
        packed = heddle.pack_weights(gemm, weights.codes, weights.scales)
        assert packed.size == heddle.weight_layout(op).total_bytes
        heddle.check_packed_weights(gemm, op, heddle.LAYOUT_VERSION)


def test_weights_of_a_gemm_are_quantized_from_their_own_type(heddle):
    np = pytest.importorskip("numpy")
    w = np.linspace(-1, 1, N * K, dtype=np.float16).reshape(N, K)
    int8 = byte_spec("int8")
    four_bits = {**int8, "weight": {"bits": 4, "group_size": 32}}
    two_levels = {**int8, "weight": {"bits": 4, "group_size": 32, "channel_scale": "fp16"}}
    for gemm in (int8, byte_spec("fp8_e4m3"), block_spec("fp32"), four_bits, two_levels):
        made = heddle.quantize(gemm, w)
        packed = heddle.pack_weights(gemm, *made)
        assert packed.size == heddle.weight_layout(gemm).total_bytes
        halves = w.astype(np.float32).view(np.uint32) >> 16  # W in bfloat16, cut off
        heddle.pack_weights(gemm, *heddle.quantize(gemm, halves.astype(np.uint16)))
    scales = np.asarray(heddle.quantize(int8, w).scales)
    assert np.allclose(scales[:, 0], np.abs(w.astype(np.float32)).max(1) / 127)
    with pytest.raises(heddle.UsageError) as caught:
        heddle.quantize(int8, w.astype(np.float32))
    assert caught.value.code == "weights.dtype"


def test_a_scale_of_codes_is_an_argument(heddle, driver, runtime):
    codes = {"dtype": "int8", "granularity": "tensor"}
    halves = {**byte_spec("int8"), "weight": {"bits": 4}, "activation": {"dtype": "fp16"}}
    scale = DlpackArray((1,), "float32", pointer=0x200004)
    for gemm, x, bias in ((byte_spec("int8"), "int8", "float32"), (halves, "float16", "float16")):
        spec = {**gemm, "output": codes}
        kernel = runtime.kernel(spec)
        more = {"x_scales": DlpackArray((4,), "float32")} if x == "int8" else {}
        given = arguments_of(heddle, kernel, spec, x=DlpackArray((4, K), x),
                             y=DlpackArray((4, N), "int8"), bias=DlpackArray((N,), bias),
                             y_scales=scale, **more)
        before = len(driver.launches())
        kernel.launch(**given)
        assert len(driver.launches()) == before + 1
        for name, value, code in (
                ("y_scales", None, "launch.missing"),
                ("y_scales", DlpackArray((4,), "float32"), "launch.shape"),
                ("y", DlpackArray((4, N), "float16"), "launch.dtype"),
                ("bias", DlpackArray((N,), "bfloat16"), "launch.dtype")):
            with pytest.raises(heddle.UsageError) as caught:
                kernel.launch(**{**given, name: value})
            assert caught.value.code == code, name
    plain = byte_spec("fp8_e4m3")
    kernel = runtime.kernel(plain)
    with pytest.raises(heddle.UsageError) as caught:
        kernel.launch(**arguments_of(heddle, kernel, plain, x_scales=DlpackArray((4,), "float32"),
                                     y_scales=scale))
    assert caught.value.code == "launch.unexpected"


def test_scales_of_groups_of_codes_are_written(heddle, driver, runtime):
    for scale_dtype, dtype in (("fp32", "float32"), ("e8m0", "uint32")):
        output = {"dtype": "fp8_e4m3", "granularity": "group", "scale_dtype": scale_dtype}
        spec = {**byte_spec("fp8_e4m3"), "output": output}
        kernel = runtime.kernel(spec)
        given = arguments_of(heddle, kernel, spec, y=DlpackArray((4, N), "uint8"),
                             bias=DlpackArray((N,), "float32"),
                             x_scales=DlpackArray((4,), "float32"),
                             y_scales=DlpackArray((1, 4), dtype))
        before = len(driver.launches())
        kernel.launch(**given)
        assert len(driver.launches()) == before + 1
        for value, code in ((None, "launch.missing"),
                            (DlpackArray((1, 3), dtype), "launch.too_small")):
            with pytest.raises(heddle.UsageError) as caught:
                kernel.launch(**{**given, "y_scales": value})
            assert caught.value.code == code
