"""Specs as dicts, as texts and as objects."""

import json
import pickle

import numpy as np
import pytest
from conftest import dequantize, gemm, moe


def test_a_dict_and_its_text_are_the_same_spec(heddle):
    spec = heddle.Spec(gemm(name="qkv_proj"))
    assert spec == heddle.Spec(json.dumps(gemm()))
    assert hash(spec) == hash(heddle.Spec(gemm()))
    assert heddle.Spec(spec) == spec
    assert spec != heddle.Spec(gemm(n=264))
    assert spec != "gemm"
    assert (spec.op, spec.name, spec.weight_shape, spec.m_range) == (
        "gemm", "qkv_proj", (256, 512), (1, 8))


def test_a_spec_survives_its_dict_its_repr_and_pickle(heddle):
    spec = heddle.Spec(gemm(name="o_proj"))
    for copy in (heddle.Spec(spec.to_dict()), eval(repr(spec), {"Spec": heddle.Spec}),
                 pickle.loads(pickle.dumps(spec))):
        assert copy == spec
        assert copy.name == "o_proj"


def test_canonical_json_has_every_default_and_no_name(heddle):
    written = json.loads(heddle.Spec(gemm(name="x")).canonical_json())
    assert written["weight"]["scale_dtype"] == "fp16"
    assert "name" not in written


def test_what_an_operation_lacks_is_an_attribute_error(heddle):
    assert not hasattr(heddle.Spec(dequantize()), "m_range")
    rows = heddle.Spec({"heddle": 1, "op": "row_transform", "shape": {"columns": 256},
                        "input": {"dtype": "fp16"}, "norm": {"type": "rms", "epsilon": 1e-6}})
    assert not hasattr(rows, "weight_shape")
    assert rows.m_range[0] == 1
    experts = heddle.Spec(moe())
    assert not hasattr(experts, "weight_shape")
    assert experts.m_range == (1, 8)


def test_an_expert_of_a_moe_is_two_gemms(heddle):
    gate_up, down = heddle.moe_gemms(moe())
    assert (gate_up.op, gate_up.weight_shape, down.weight_shape) == ("gemm", (256, 256), (256, 128))
    assert gate_up.to_dict()["epilogue"]["gated"]
    w = np.zeros((256, 256), np.float16)
    packed = heddle.pack_weights(gate_up, *heddle.quantize(gate_up, w))
    assert packed.nbytes == heddle.weight_layout(gate_up).total_bytes
    with pytest.raises(heddle.UsageError, match="moe_gemms"):
        heddle.weight_layout(moe())
    with pytest.raises(heddle.UsageError) as caught:
        heddle.moe_gemms(gemm())
    assert caught.value.code == "spec.operation"


def test_every_problem_has_its_pointer(heddle):
    with pytest.raises(heddle.SpecError) as caught:
        heddle.Spec({"heddle": 1, "op": "gemm", "shape": {"n": 7, "k": 512},
                     "weight": {"bits": 99, "grup_size": 4}, "activation": {"dtype": "fp16"}})
    error = caught.value
    assert isinstance(error, (heddle.Error, ValueError))
    assert {problem.pointer for problem in error.problems} >= {"/weight/bits", "/weight/grup_size"}
    assert error.pointer == error.problems[0].pointer
    bits = next(one for one in error.problems if one.pointer == "/weight/bits")
    assert (bits.value, "1 to 8" in bits.allowed or "1" in bits.allowed) == ("99", True)
    assert any("group_size" in one.hint for one in error.problems)


@pytest.mark.parametrize("value", [3, [], b"{}"])
def test_other_types_are_refused(heddle, value):
    with pytest.raises(TypeError, match="a spec is"):
        heddle.Spec(value)


def test_numbers_of_numpy_are_numbers(heddle):
    plain = heddle.Spec(gemm())
    for kind in (np.int64, np.int32, np.uint16, np.array):
        spec = gemm()
        spec["shape"] = {"n": kind(256), "k": kind(512), "m": [kind(1), kind(8)]}
        assert heddle.Spec(spec) == plain
        assert heddle.resolve(spec, "h200").describe() == heddle.resolve(plain, "h200").describe()
    rows = {"heddle": 1, "op": "row_transform", "shape": {"columns": np.int64(256)},
            "input": {"dtype": "fp16"}, "norm": {"type": "rms", "epsilon": np.float32(1e-6)},
            "residual": np.bool_(True)}
    assert heddle.Spec(rows) == heddle.Spec({**rows, "shape": {"columns": 256}, "residual": True,
                                             "norm": {"type": "rms", "epsilon": 1e-6}})
    with pytest.raises(TypeError, match="no value of JSON"):
        heddle.Spec(gemm(n=np.array([256])))


def test_where_the_schema_is_says_nothing_of_the_kernel(heddle):
    assert heddle.Spec({"$schema": "./heddle.schema.json", **gemm()}) == heddle.Spec(gemm())


def test_a_dict_that_is_no_json_is_refused(heddle):
    with pytest.raises(TypeError):
        heddle.Spec({"heddle": {1, 2}})
    with pytest.raises(heddle.SpecError):
        heddle.Spec("{")


def test_the_schema_accepts_what_the_spec_accepts(heddle):
    schema = heddle.spec_schema()
    assert "draft/2020-12" in schema["$schema"]
