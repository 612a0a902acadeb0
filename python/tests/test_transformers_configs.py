"""Configs of models on a HeddleCache, against Transformers' own forward() of the same weights: what
a config says must be what the model computes, or be refused by name."""

import pytest
from small_models import MODELS, close, plain, tokens, torch

pytestmark = pytest.mark.usefixtures("on_the_host", "hx")

PROMPT, COLUMNS = 60, 70


def rope(**fields):
    return {"rope_parameters": {"rope_theta": 10000.0, **fields}}


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}
SLIDING = {"sliding_window": 20, "layer_types": ["sliding_attention", "full_attention"]}


def model_of(model_type, monkeypatch, **changes):
    monkeypatch.setitem(MODELS, model_type, MODELS.get(model_type, {}))
    return plain(model_type, **changes)


@pytest.mark.parametrize(("model_type", "changes"), [
    ("llama", {"attention_bias": True, "mlp_bias": True}),
    ("llama", {"rms_norm_eps": 0.1, "hidden_act": "gelu_pytorch_tanh"}),
    ("llama", rope(rope_type="linear", factor=4.0)),
    ("llama", rope(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                   original_max_position_embeddings=32)),
    ("llama", rope(**YARN)), ("llama", rope(**YARN, mscale=0.8, mscale_all_dim=0.5)),
    ("llama", rope(**YARN, attention_factor=0.7, truncate=False)),
    ("llama", {"rope_theta": 5000.0, "rope_scaling": {"type": "linear", "factor": 2.0}}),
    ("phi3", {**rope(rope_type="default", partial_rotary_factor=0.5), "sliding_window": 20}),
    ("glm", {}), ("seed_oss", {"attention_out_bias": True}), ("ernie4_5", {}),
    ("smollm3", {"no_rope_layers": [1, 0]}), ("smollm3", {"use_sliding_window": True, **SLIDING}),
    ("qwen2", {"use_sliding_window": True, **SLIDING}),
    ("qwen2", {"use_sliding_window": False, "sliding_window": 20}),
    ("gemma2", {**SLIDING, "attn_logit_softcapping": 5.0}),
    ("gemma3_text", {**SLIDING, "rope_parameters": {
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}})])
def test_a_config_is_read_as_transformers_reads_it(hx, monkeypatch, model_type, changes):
    model = model_of(model_type, monkeypatch, **changes)
    ids = tokens(2, COLUMNS)
    expected = model(ids).logits
    cache = hx.HeddleCache(model.half(), 2, 128, "fp16")
    found = [model(ids[:, begin:end], past_key_values=cache).logits
             for begin, end in ((0, PROMPT), (PROMPT, PROMPT + 1), (PROMPT + 1, COLUMNS))]
    close(torch.cat(found, 1), expected, 6e-3)


@pytest.mark.parametrize(("model_type", "changes", "words"), [
    ("llama", rope(rope_type="dynamic", factor=4.0), "its rotations are a table"),
    # Which Llama's own rotations do not read.
    ("llama", rope(rope_type="default", partial_rotary_factor=0.5), "rotates 64 elements.* 32"),
    ("gemma3_text", {"use_bidirectional_attention": True}, "tokens also see those behind"),
    ("granite", {"embedding_multiplier": 3.0}, "it multiplies"),
    ("ministral3", rope(**YARN, llama_4_scaling_beta=0.1), "positions from 32 on"),
    ("olmo2", {}, "its norms stand after"),
    ("gemma4_text", {}, "its norms have no kernels")])
def test_a_config_that_is_refused(heddle, hx, monkeypatch, model_type, changes, words):
    model = model_of(model_type, monkeypatch, **changes).half()
    with pytest.raises(heddle.UnsupportedError, match=words):
        hx.HeddleCache(model, 2, 128, "fp16")


def test_a_model_of_32_bits(heddle, hx):
    with pytest.raises(heddle.Error, match="activations of 16 bits"):
        hx.HeddleCache(plain("llama"), 2, 16, "fp16")


def test_a_config_that_changed_is_read_again(hx):
    model = plain("llama").half()
    ids = tokens(2)
    hx.HeddleCache(model, 2, 16, "fp16")
    model.config.rope_parameters["rope_theta"] = 100.0
    model.model.rotary_emb = type(model.model.rotary_emb)(model.config)
    cache = hx.HeddleCache(model, 2, 16, "fp16")
    close(model(ids, past_key_values=cache).logits, model(ids).logits.float(), 6e-3)


@pytest.mark.parametrize(("change", "words"), [
    (lambda model: model.model.layers.pop(1), "it has 1 layers, and its config 2"),
    (lambda model: setattr(model.model.layers[0].self_attn, "gate_proj", torch.nn.Linear(2, 2)),
     "its layers have gate_proj"),
    (lambda model: setattr(model.model, "embed_positions", torch.nn.Embedding(2, 2)),
     "its LlamaModel has embed_positions"),
    (lambda model: setattr(model.model.layers[1].input_layernorm, "variance_epsilon", 0.5),
     "an epsilon of input_layernorm, 0.5"),
    (lambda model: setattr(model.model.layers[1].self_attn, "scaling", 0.5), "a scale of 0.5"),
    (lambda model: model.model.rotary_emb.inv_freq.mul_(2), "not those of the base 10000")])
def test_modules_that_differ_from_the_config(heddle, hx, change, words):
    model = plain("llama").half()
    change(model)
    with pytest.raises(heddle.UnsupportedError, match=f"no HeddleCache for this model: .*{words}"):
        hx.HeddleCache(model, 2, 16, "fp16")
