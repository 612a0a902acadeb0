"""Launches of operations on weights and rows on the fake driver: what theirs alone take."""

import pytest
from conftest import moe
from fake_arrays import DlpackArray


def weight_spec(op, **fields):
    spec = {"heddle": 1, "op": op, "shape": {"n": 64, "k": 256}, "weight": {"bits": 4}}
    return {**spec, **fields}


def test_weight_operations_launch(heddle, driver, runtime):
    packed = DlpackArray((heddle.weight_layout(weight_spec(
        "repack", source={"format": "gptq"})).total_bytes,), "uint8")
    w = DlpackArray((64, 256))
    runtime.kernel(weight_spec("dequantize", source={"format": "heddle"},
                               output={"dtype": "fp16"})).launch(weights=packed, w=w)
    runtime.kernel(weight_spec("quantize_weight", input={"dtype": "fp16"})).launch(
        w=w, packed=packed)
    scales = DlpackArray((2, 64))
    gptq = DlpackArray((32, 64), "int32")
    runtime.kernel(weight_spec("repack", source={"format": "gptq"})).launch(
        weights=gptq, packed=packed, scales=scales)
    spec = weight_spec("dequantize", source={"format": "awq"}, output={"dtype": "fp16"})
    spec["weight"]["zero_point"] = "int"
    awq = runtime.kernel(spec)
    zeros = DlpackArray((2, 8), "int32")
    awq.launch(weights=DlpackArray((256, 8), "int32"), w=w, scales=scales, zeros=zeros)
    assert len(driver.launches()) == 4
    for changes, code in (({"zeros": None}, "launch.missing"),
                          ({"zeros": DlpackArray((2, 64), "int32")}, "launch.shape"),
                          ({"weights": gptq}, "launch.shape"),
                          ({"scales": DlpackArray((64, 2))}, "launch.shape"),
                          ({"group_index": DlpackArray((256,), "int32")}, "launch.unexpected")):
        given = {"weights": DlpackArray((256, 8), "int32"), "w": w, "scales": scales,
                 "zeros": zeros}
        with pytest.raises(heddle.UsageError) as caught:
            awq.launch(**{**given, **changes})
        assert caught.value.code == code, changes


def test_rows_may_be_parts_of_wider_ones(heddle, driver, runtime):
    spec = {"heddle": 1, "op": "row_transform", "shape": {"columns": 256},
            "input": {"dtype": "fp16"}, "residual": True, "norm": {"type": "rms", "epsilon": 1e-6}}
    kernel = runtime.kernel(spec)
    given = {"x": DlpackArray((4, 256), strides=(1024, 1)),
             "y": DlpackArray((4, 256), pointer=0x100000),
             "residual": DlpackArray((4, 256), pointer=0x200000),
             "weight": DlpackArray((256,), pointer=0x300000)}
    empty = {name: DlpackArray((0, 256), pointer=0) for name in ("x", "y", "residual")}
    kernel.launch(**{**given, **empty})
    assert driver.launches() == []
    kernel.launch(**given)
    raw = heddle.DeviceMemory(0x10000, 3 * 2048 + 512)
    kernel.launch(**{**given, "x": raw, "m": 4, "x_stride": 1024})
    assert len(driver.launches()) == 2
    for changes, code in (
            ({"x": DlpackArray((4, 256), strides=(1024, 2))}, "launch.layout"),
            ({"x": DlpackArray((4, 256), strides=(128, 1))}, "launch.layout"),
            ({"x_stride": 1024}, "launch.unexpected"),
            ({"residual": DlpackArray((4, 256), strides=(512, 1))}, "launch.layout"),
            ({"bias": DlpackArray((256,))}, "launch.unexpected"),
            ({"x": DlpackArray((4, 256), strides=(1028, 1))}, "launch.size"),
            ({"x": raw, "m": 4, "x_stride": 2048}, "launch.too_small"),
            ({"y": given["residual"]}, "launch.overlap")):
        with pytest.raises(heddle.UsageError) as caught:
            kernel.launch(**{**given, **changes})
        assert caught.value.code == code, changes
    assert len(driver.launches()) == 2


def test_rows_of_eight_bits_have_their_scales(heddle, driver, runtime):
    def kernel_of(**output):
        return runtime.kernel({"heddle": 1, "op": "row_transform", "shape": {"columns": 256},
                               "input": {"dtype": "fp16"}, "output": output})

    x = DlpackArray((4, 256))
    integers = DlpackArray((4, 256), "int8", pointer=0x100000)
    floats = DlpackArray((4, 256), "uint8", pointer=0x100000)
    by_token = DlpackArray((4,), "float32", pointer=0x200000)
    zeros = DlpackArray((4,), "int32", pointer=0x300000)
    one = DlpackArray((1,), "float32", pointer=0x400000)
    with_zeros = kernel_of(dtype="int8", granularity="token", symmetric=False)
    with_zeros.launch(x=x, y=integers, scales=by_token, zero_points=zeros)
    given = kernel_of(dtype="fp8_e5m2", granularity="tensor", pre_scale=True)
    given.launch(x=x, y=floats, tensor_scale=one, pre_scale=DlpackArray((256,), pointer=0x500000))
    given.launch(x=x, y=floats, tensor_scale=DlpackArray((), "float32", pointer=0x400000),
                 pre_scale=DlpackArray((256,), pointer=0x500000))
    groups = kernel_of(dtype="fp8_e4m3", granularity="group")
    of_groups = DlpackArray((4, 2), "float32", pointer=0x200000)
    groups.launch(x=x, y=floats, scales=of_groups)
    wider = DlpackArray((4, 8), "float32", pointer=0x200000)
    groups.launch(x=x, y=floats, scales=wider, scale_stride=8)
    assert len(driver.launches()) == 5
    for kernel, arguments_of, code in (
            (with_zeros, {"y": integers, "scales": by_token}, "launch.missing"),
            (with_zeros, {"y": integers, "scales": of_groups, "zero_points": zeros},
             "launch.shape"),
            (with_zeros, {"y": integers, "scales": zeros, "zero_points": zeros}, "launch.dtype"),
            (with_zeros, {"y": x, "scales": by_token, "zero_points": zeros}, "launch.dtype"),
            (given, {"y": floats, "tensor_scale": one}, "launch.missing"),
            (with_zeros, {"y": integers, "scales": DlpackArray((), "float32"),
                          "zero_points": zeros}, "launch.shape"),
            (groups, {"y": floats}, "launch.missing"),
            (groups, {"y": floats, "scales": zeros}, "launch.dtype"),
            (groups, {"y": floats, "scales": of_groups, "scale_stride": 8}, "launch.too_small"),
            (groups, {"y": floats, "scales": of_groups, "tensor_scale": one},
             "launch.unexpected")):
        with pytest.raises(heddle.UsageError) as caught:
            kernel.launch(x=x, **arguments_of)
        assert caught.value.code == code, arguments_of
    assert len(driver.launches()) == 5


def memory_of_experts(heddle, kernel, spec, experts):
    """What every launch with three tokens takes; the bytes of an expert's first product."""
    gate_up, down = (heddle.weight_layout(each).total_bytes for each in heddle.moe_gemms(spec))
    return {
        "x": DlpackArray((3, 256)), "y": DlpackArray((3, 256), pointer=0x20000),
        "gate_up": DlpackArray((experts, gate_up), "uint8", pointer=0x100000),
        "down": DlpackArray((experts, down), "uint8", pointer=0x200000),
        "workspace": DlpackArray((kernel.workspace_bytes(3),), "uint8", pointer=0x300000),
    }, gate_up


def test_a_layer_of_experts(heddle, driver, runtime):
    """With biases and a residual, of which this device has five of eight experts."""
    spec = moe(epilogue={"activation": "silu", "gated": True, "bias": True, "residual": True})
    spec["shape"]["first_expert"] = 3
    kernel = runtime.kernel(spec)
    memory, gate_up_bytes = memory_of_experts(heddle, kernel, spec, 5)
    given = {
        **memory,
        "ids": DlpackArray((3, 2), "int32", pointer=0x30004),
        "weights": DlpackArray((3, 2), "float32", pointer=0x40004),
        "gate_up_bias": DlpackArray((5, 256), pointer=0x50000),
        "down_bias": DlpackArray((5, 256), pointer=0x60000),
        "residual": DlpackArray((3, 256), pointer=0x70000),
    }
    assert isinstance(kernel, heddle.MoeKernel)
    kernel.launch(**given)
    phases = kernel.plan.kernels[0].phases
    assert [name for name, _ in driver.launches()] == [kernel.plan.kernels[0].name] * phases
    kernel.bind(**{**given, "y": given["residual"]})()
    raw = heddle.DeviceMemory(0x10000, 3 * 512)
    kernel.launch(**{**given, "x": raw, "tokens": 3})
    empty = {name: DlpackArray((0, 256), pointer=0) for name in ("x", "y", "residual")}
    none_chosen = {"ids": DlpackArray((0, 2), "int32"), "weights": DlpackArray((0, 2), "float32")}
    kernel.launch(**{**given, **empty, **none_chosen})
    launched = 3 * phases
    assert len(driver.launches()) == launched
    for changes, code in (
            ({"ids": None}, "launch.missing"),
            ({"residual": None}, "launch.missing"),
            ({"down_bias": None}, "launch.missing"),
            ({"ids": DlpackArray((3, 2), "int64")}, "launch.dtype"),
            ({"weights": DlpackArray((3, 2))}, "launch.dtype"),
            ({"ids": DlpackArray((3, 4), "int32")}, "launch.shape"),
            ({"ids": DlpackArray((3, 2), "int32", pointer=0x30002)}, "launch.misaligned"),
            ({"gate_up": DlpackArray((8, gate_up_bytes), "uint8")}, "launch.shape"),
            ({"down": DlpackArray((5, gate_up_bytes), "uint8")}, "launch.shape"),
            ({"x": DlpackArray((3, 256), strides=(512, 1))}, "launch.layout"),
            ({"x": raw}, "launch.missing"),
            ({"x": raw, "tokens": 4}, "launch.too_small"),
            ({"workspace": DlpackArray((16,), "uint8")}, "launch.workspace"),
            ({"y": DlpackArray((3, 256), pointer=0x20000, read_only=True, versioned=True)},
             "launch.read_only")):
        with pytest.raises(heddle.UsageError) as caught:
            kernel.launch(**{**given, **changes})
        assert caught.value.code == code, changes
    with pytest.raises(heddle.UsageError) as caught:
        kernel.launch(**given, logits=DlpackArray((3, 8), "float32"))
    assert caught.value.code == "launch.unexpected"
    plain = runtime.kernel(moe())
    with pytest.raises(heddle.UsageError) as caught:
        plain.launch(**given)
    assert caught.value.code in {"launch.shape", "launch.unexpected"}
    with pytest.raises(heddle.UsageError) as caught:
        kernel.workspace_bytes(9)
    assert caught.value.code == "launch.m"
    assert len(driver.launches()) == launched


def test_a_layer_that_chooses_experts(heddle, driver, runtime):
    spec = moe(routing={"scores": "sigmoid", "logits_dtype": "bf16", "correction_bias": True,
                        "expert_scales": True, "shared_gate": True},
               shape={**moe()["shape"], "shared_experts": 1})
    kernel = runtime.kernel(spec)
    given = {
        **memory_of_experts(heddle, kernel, spec, 9)[0],
        "shared_gates": DlpackArray((3,), "float32", pointer=0x58004),
        "logits": DlpackArray((3, 8), "bfloat16", pointer=0x30002),
        "correction_bias": DlpackArray((8,), "float32", pointer=0x40004),
        "expert_scales": DlpackArray((8,), "float32", pointer=0x50004),
    }
    phases = kernel.plan.kernels[0].phases
    kernel.launch(**given)
    chosen = {"chosen_ids": DlpackArray((3, 2), "int32", pointer=0x60004),
              "chosen_weights": DlpackArray((3, 2), "float32", pointer=0x70004)}
    kernel.bind(**given, **chosen)()
    assert len(driver.launches()) == 2 * phases
    for changes, code in (
            ({"logits": None}, "launch.missing"),
            ({"correction_bias": None}, "launch.missing"),
            ({"expert_scales": None}, "launch.missing"),
            ({"shared_gates": None}, "launch.missing"),
            ({"shared_gates": DlpackArray((2,), "float32")}, "launch.shape"),
            ({"logits": DlpackArray((3, 8), "float32")}, "launch.dtype"),
            ({"logits": DlpackArray((3, 2), "bfloat16")}, "launch.shape"),
            ({"logits": DlpackArray((3, 8), "bfloat16", pointer=0x30001)}, "launch.misaligned"),
            ({"correction_bias": DlpackArray((2,), "float32")}, "launch.shape"),
            ({"chosen_ids": DlpackArray((3, 2), "int64")}, "launch.dtype"),
            ({"chosen_weights": DlpackArray((3, 8), "float32")}, "launch.shape"),
            ({"chosen_ids": DlpackArray((3, 2), "int32", pointer=0x20000)}, "launch.overlap"),
            ({"ids": DlpackArray((3, 2), "int32")}, "launch.unexpected")):
        with pytest.raises(heddle.UsageError) as caught:
            kernel.launch(**{**given, **chosen, **changes})
        assert caught.value.code == code, changes
    assert len(driver.launches()) == 2 * phases
