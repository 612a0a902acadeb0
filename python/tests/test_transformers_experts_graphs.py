"""Models of experts on the host: prompts, captured steps and copies of a model."""

import pytest
from small_experts import close, pair, tokens
from small_models import torch

pytestmark = pytest.mark.usefixtures("on_the_host", "hx")

PROMPT = 9


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.enable_grad])
def test_prompts_in_another_mode_than_the_first(hx, tmp_path, mode):
    """Memory that stays is made for all of them, and wants no gradients."""
    model, ours = pair(tmp_path, "gpt_oss", "mxfp4")
    hx.compile(ours, kv="fp16")
    for name, parameter in ours.named_parameters():
        parameter.requires_grad_(name.endswith("sinks"))  # only read, into memory of Heddle's own
    ids = tokens(model, 2, PROMPT)
    expected = model(ids).logits
    given = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
    wanted = model.generate(ids, **given)
    with mode():
        cache = hx.HeddleCache(ours, 2, 16, "fp16")
        close(ours(ids, past_key_values=cache).logits, expected)
        assert torch.equal(ours.generate(ids, **given), wanted)
    for grad in (torch.no_grad, torch.enable_grad):
        cache.reset()
        with grad():
            close(ours(ids, past_key_values=cache).logits, expected)
            assert torch.equal(ours.generate(ids, **given), wanted)
    assert not any(layer.sinks.requires_grad for layer in cache.decoder.layers)


@pytest.mark.parametrize("window", [0, 5])
@pytest.mark.parametrize("padded", [False, True])
def test_prompts_with_sinks(padded, window):
    from heddle.transformers._prefill import attend_prompt

    torch.manual_seed(3)
    tokens, heads, group, dim = 12, 6, 3, 40
    q, k, v = (torch.randn(2, tokens, n, dim).half() for n in (heads, heads // group,
                                                              heads // group))
    sinks = torch.randn(heads) * 3
    lengths = torch.tensor([7, tokens])
    spec = {"scale_dim": dim, "window": window, "softcap": 0}
    found = attend_prompt(q, k, v, lengths if padded else None, spec, sinks)
    q, k, v = (t.float().transpose(1, 2) for t in (q, k, v))
    k, v = (t.repeat_interleave(group, 1) for t in (k, v))
    distance = torch.arange(tokens)[:, None] - torch.arange(tokens)
    hidden = (distance < 0) | (distance >= (window or tokens))
    hidden = hidden.expand(2, 1, -1, -1).clone()
    if padded:
        hidden[0, :, :, :5] = True
    logits = (q @ k.mT / dim ** 0.5).masked_fill(hidden, float("-inf"))
    logits = torch.cat([logits, sinks[None, :, None, None].expand(2, -1, tokens, -1)], -1)
    wanted = (logits.softmax(-1)[..., :tokens] @ v).transpose(1, 2)
    close(found[1], wanted[1], 1e-3)
    close(found[0, 5:], wanted[0, 5:], 1e-3)


def test_torch_compile_of_experts(tmp_path):
    _, ours = pair(tmp_path, "qwen3_moe", "awq")
    block = ours.model.layers[0].mlp
    x = torch.randn(2, 3, 256).half()
    compiled = torch.compile(block, fullgraph=True, backend="eager")
    assert torch.equal(compiled(x), block(x))


def change_choice(block):
    block.gate.norm_topk_prob = not block.gate.norm_topk_prob


def hook(name):
    def change(block):
        module = block.get_submodule(name)
        module.register_forward_hook(lambda _module, _given, made: made)
    return change


def own_forward(name):
    def change(block):
        module = block.get_submodule(name)
        module.forward = type(module).forward.__get__(module)
    return change


@pytest.mark.parametrize("change", [
    change_choice, *(make(name) for make in (hook, own_forward) for name in ("", "gate", "experts"))
])
def test_steps_are_captured_anew_for_other_launches(hx, tmp_path, change):
    model, ours = pair(tmp_path, "qwen3_moe", "awq")
    hx.compile(ours, kv="fp16")
    ids = tokens(model, 2, PROMPT)
    given = {"max_new_tokens": 2, "do_sample": False, "pad_token_id": 0}

    def captured():
        ours.generate(ids, **given)
        return next(iter(ours.__dict__["_heddle_steps"][2].graphs.values()))

    first = captured()
    assert captured() is first
    change(ours.model.layers[1].mlp)
    second = captured()
    assert second is not first
    assert captured() is second


@pytest.mark.parametrize("make", ["deepcopy", "pickle"])
def test_a_copy_of_a_model_of_experts_generates(hx, tmp_path, make):
    import copy
    import pickle

    model, ours = pair(tmp_path, "gpt_oss", "mxfp4")
    hx.compile(ours, kv="fp16")
    ids = tokens(model, 2, PROMPT)
    given = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
    expected = ours.generate(ids, **given)
    twin = copy.deepcopy(ours) if make == "deepcopy" else pickle.loads(pickle.dumps(ours))
    assert torch.equal(twin.generate(ids, **given), expected)
