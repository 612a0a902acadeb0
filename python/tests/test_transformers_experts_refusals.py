"""Models of experts on the host that are refused by name, before anything is packed."""

import pytest
import small_experts
import small_models
from small_experts import load, pair

pytestmark = pytest.mark.usefixtures("on_the_host", "hx")


@pytest.mark.parametrize("model_type", ["mixtral", "qwen3_moe", "gpt_oss"])
def test_experts_that_no_cache_serves(heddle, hx, model_type):
    model = small_models.plain(model_type).half()
    with pytest.raises(heddle.UnsupportedError, match=r"its \w+Experts are not Heddle's"):
        hx.HeddleCache(model, 1, 16, "fp16")


def test_gates_and_ups_in_other_orders_are_refused(heddle, monkeypatch, tmp_path):
    monkeypatch.setattr(small_experts, "shared", lambda path: path)
    with pytest.raises(heddle.UnsupportedError, match=r"experts\.0\.\S+: .*act-order"):
        pair(tmp_path, "mixtral", "gptq-act-order")


def test_experts_that_are_refused(heddle, hx, tmp_path, monkeypatch):
    """By name, before anything is packed."""
    monkeypatch.setattr(hx._quantizer, "fill", None)
    monkeypatch.setitem(small_models.MODELS, "llama4_text", {})
    given = {"quantization_config": hx.HeddleConfig(bits=4, group_size=64)}
    model = small_models.plain("llama4_text", num_local_experts=4, num_experts_per_tok=1,
                               interleave_moe_layer_step=1).half()
    model.save_pretrained(tmp_path / "llama4")
    with pytest.raises(heddle.UnsupportedError, match=r"experts, a Llama4TextExperts: .*ids"):
        load(tmp_path / "llama4", **given)

    def refused(words):
        with pytest.raises(heddle.UnsupportedError, match=words):
            load(tmp_path / "mixtral")

    experts = type(small_models.plain("mixtral").model.layers[0].mlp.experts)
    small_experts.write(small_models.plain("mixtral"), tmp_path / "mixtral", "awq")
    with monkeypatch.context() as patch:
        patch.setattr(experts, "_apply_gate", lambda _self, x: x[:, :1] * x[:, 1:])
        refused("MixtralExperts: its activation is not silu")
    with monkeypatch.context() as patch:
        biased = small_models.plain("gpt_oss")
        small_experts.write(biased, tmp_path / "gpt_oss", "mxfp4")
        none = property(lambda _self: False, lambda _self, _value: None)
        patch.setattr(type(biased.model.layers[0].mlp.experts), "has_bias", none, raising=False)
        with pytest.raises(heddle.UnsupportedError, match="GptOssExperts: it has biases False, and"
                           " the checkpoint was read as True"):
            load(tmp_path / "gpt_oss")
    tensors = small_models.safetensors.torch.load_file(tmp_path / "mixtral/model.safetensors")
    path = tmp_path / "mixtral/model.safetensors"

    def save(more, less):
        kept = {key: value for key, value in tensors.items() if less not in key}
        small_models.safetensors.torch.save_file({**kept, **more}, path, {"format": "pt"})

    router = "model.layers.1.block_sparse_moe.gate"
    made, _ = small_models.awq(tensors[router + ".weight"].float())
    save({f"{router}.{part}": tensor.contiguous() for part, tensor in made.items()}, router)
    refused("layers.1.mlp.gate: this MixtralTopKRouter is quantised or packed")
    save({}, router)
    refused("does not have model.layers.1.mlp.gate.weight")
    save({}, "layers.1.block_sparse_moe.experts")
    refused(r"layers\.1\.\S*experts")
