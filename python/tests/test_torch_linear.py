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
    biased = ht.changed(layer.spec, epilogue={"bias": True})
    for spec, given, words in (
            (layer.spec, {"weights": layer.weights[1:]}, "weights is of the dtype torch.uint8"),
            (layer.spec, {"weights": None}, "weights is NoneType; wanted: a tensor of torch.uint8"),
            (layer.spec, {"bias": torch.zeros(N)}, "bias is given, and the spec has not one"),
            (biased, {}, "bias is missing, and the spec has one"),
            (biased, {"bias": torch.zeros(N)}, "bias is of the dtype torch.float32"),
            (biased, {"bias": torch.zeros(3).half()}, r"the shape \[3\]; wanted: .*\[256\]"),
            (layer.spec, {"split": [1, 2]}, r"split is \[1, 2\], in all 3 columns; .* has 256")):
        with pytest.raises(heddle.UsageError, match=words):
            ht.Linear(spec, **{"weights": layer.weights, **given})
    for x in (torch.zeros(4, K // 2).half(), torch.zeros(1, 2, K + 8).half()):
        with pytest.raises(heddle.UsageError, match=r"x has \d+ columns; the layer has 512"):
            layer(x)


def test_plain_weights_are_refused_by_name(heddle, ht):
    w = torch.randn(N, K).half()
    gated = {"gated": True, "activation": "silu"}
    for given, epilogue, words in (
            (w.float(), None, "w is of the dtype torch.float32 and the shape"),
            (w[0], None, r"the shape \[512\]; allowed: \[N, K\] of fp16, bf16"),
            (w.numpy(), None, "w is ndarray"), ([], None, "or are none"),
            ([w, w.bfloat16()], None, "differ in dtype or columns"),
            ([w, w[:, :256]], None, "differ in dtype or columns"),
            # Gate and up would be cut where none of them ends.
            ([w, w[:128]], gated, r"parts of \[256, 128\] rows; a gated layer has two"),
            ([w, w, w], gated, "a gated layer has two")):
        with pytest.raises(heddle.UsageError, match=words):
            ht.Linear.quantized(given, epilogue=epilogue)
    with pytest.raises(heddle.SpecError):
        ht.Linear.quantized(w, {"bits": 40})


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
    with pytest.raises(heddle.UsageError, match="not what a layer of Heddle has saved"):
        other.load_state_dict({**layer.state_dict(), "_extra_state": torch.zeros(3).byte()})
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
