"""heddle.torch.Linear on the host: what it packs, what it refuses, its state."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: tools/test --torch")

N, K = 256, 512


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_plain_weights_are_quantised_as_the_library_does(heddle, ht, dtype):
    w = torch.randn(N, K).to(dtype)
    layer = ht.Linear.quantized(w, {"bits": 4, "zero_point": "int", "group_size": 64})
    plain = w.numpy() if dtype == torch.float16 else w.view(torch.uint16).numpy()
    expected = heddle.pack_weights(layer.spec, *heddle.quantize(layer.spec, plain))
    np.testing.assert_array_equal(layer.weights.numpy(), expected)
    assert (layer.in_features, layer.out_features, layer.dtype) == (K, N, dtype)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_weights_of_16_bits_stay_as_they_are(heddle, ht, dtype):
    w = torch.randn(N, K).to(dtype)
    name = "fp16" if dtype == torch.float16 else "bf16"
    layer = ht.Linear.quantized(w, {"type": name}, epilogue={"residual": True},
                                output={"dtype": "fp32"})
    codes = heddle.unpack_weights(layer.spec, layer.weights.numpy()).codes
    assert torch.equal(torch.from_numpy(codes).view(dtype), w)
    assert layer.dtype == torch.float32


def test_fused_layers(heddle, ht):
    parts = [torch.randn(n, K).half() for n in (128, 64, 64)]
    bias = torch.zeros(256).half()
    fused = ht.Linear.quantized(parts, bias=bias)
    whole = ht.Linear.quantized(torch.cat(parts), bias=bias)
    assert torch.equal(fused.weights, whole.weights)
    assert (fused.split, whole.split) == ((128, 64, 64), None)
    gated = ht.Linear.quantized(parts[1:], epilogue={"gated": True, "activation": "silu"})
    assert (gated.split, gated.out_features) == (None, 64)
    assert "split=[128, 64, 64]" in repr(fused)


def test_a_layer_refuses_by_name(heddle, ht):
    layer = ht.Linear.quantized(torch.randn(N, K).half())
    for given, words in (
            ({"weights": layer.weights[1:]}, "weights has the dtype torch.uint8 and the shape"),
            ({"bias": torch.zeros(N)}, "bias is given, and the spec has not one"),
            ({"split": [1, 2]}, r"split is \[1, 2\], in all 3 columns; the layer has 256")):
        with pytest.raises(heddle.UsageError, match=words):
            ht.Linear(layer.spec, **{"weights": layer.weights, **given})
    with pytest.raises(heddle.UsageError, match=r"w has the dtype torch.float32; allowed: fp16"):
        ht.Linear.quantized(torch.randn(N, K))
    with pytest.raises(heddle.SpecError):
        ht.Linear.quantized(torch.randn(N, K).half(), {"bits": 40})


def test_a_state_knows_how_it_was_packed(heddle, ht):
    layer = ht.Linear.quantized(torch.randn(N, K).half())
    other = ht.Linear(layer.spec, torch.zeros_like(layer.weights))
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other.weights, layer.weights)
    zeros = ht.Linear.quantized(torch.randn(N, K).half(),
                                {"bits": 4, "interleave": "linear"})
    assert zeros.weights.shape == layer.weights.shape
    with pytest.raises(heddle.UsageError, match="interleave"):
        zeros.load_state_dict(layer.state_dict())
    assert not torch.equal(zeros.weights, layer.weights)  # nothing was overwritten
    state = dict(layer.state_dict())
    del state["_extra_state"]
    for strict in (True, False):
        with pytest.raises(heddle.UsageError, match="has weights and no _extra_state"):
            zeros.load_state_dict(state, strict=strict)
    other.load_state_dict({}, strict=False)
    whole = torch.nn.Sequential(other)
    whole.load_state_dict(torch.nn.Sequential(layer).state_dict())
    with pytest.raises(heddle.UsageError, match=r"has 0.weights and no 0._extra_state"):
        whole.load_state_dict({"0.weights": layer.weights}, strict=False)


def test_layers_of_a_checkpoint(heddle, ht, root):
    reader = heddle.CheckpointReader(root / "tests/golden/gptq4_k128_n32_g32")
    for layer in reader.layers:
        made = ht.Linear.from_checkpoint(reader, layer, shape={"m": [1, 64]})
        np.testing.assert_array_equal(made.weights.numpy(), reader.pack(layer))
        assert json.loads(made.spec)["shape"]["m"] == [1, 64]
        assert made.in_features == layer.spec.weight_shape[1]
        weight = {**layer.spec.to_dict()["weight"], "interleave": "linear"}
        with pytest.raises(heddle.UsageError, match="interleave"):
            ht.Linear.from_checkpoint(reader, layer, weight=weight)
