"""heddle.transformers on the host, with the operators of reference_ops.py: whole small models
against Transformers' own, in FP32, on the weights that a checkpoint stands for."""

import sys

import pytest
import small_models
from small_models import close, pair, tokens, torch, transformers

pytestmark = pytest.mark.usefixtures("on_the_host", "hx")

EVERY = [("llama", name) for name in ("awq", "gptq", "gptq-act-order", "compressed-tensors", "fp8",
                                      "mxfp4", "nvfp4")]
EVERY += [("qwen2", "awq"), ("qwen3", "gptq-act-order"), ("mistral", "fp8"),
          ("gemma2", "compressed-tensors"), ("phi3", "gptq")]
PROMPT, NEW = 9, 6


@pytest.mark.parametrize(("model_type", "name"), EVERY)
def test_a_checkpoint_gives_the_logits_of_its_weights(hx, tmp_path, model_type, name):
    model, ours = pair(tmp_path, model_type, name)
    ids = tokens(2, PROMPT + NEW)
    expected = model(ids).logits
    assert not any(isinstance(m, torch.nn.Linear) for m in ours.model.modules())
    close(ours(ids).logits, expected)
    # Its own cache: a prompt, single tokens, then several tokens at once.
    cache = hx.HeddleCache(ours, 2, 128, "fp16")
    close(ours(ids[:, :PROMPT], past_key_values=cache).logits, expected[:, :PROMPT])
    for i in range(PROMPT, PROMPT + 3):
        logits = ours(ids[:, i:i + 1], past_key_values=cache).logits
        close(logits[:, 0], expected[:, i])
    close(ours(ids[:, PROMPT + 3:], past_key_values=cache).logits, expected[:, PROMPT + 3:])
    assert cache.get_seq_length() == PROMPT + NEW
    assert cache.lengths.tolist() == [PROMPT + NEW] * 2


@pytest.mark.parametrize("model_type", ["llama", "gemma2", "mistral"])
def test_ragged_prompts_and_greedy_tokens(hx, tmp_path, model_type):
    """Contexts that cross a page's border, and the window of those that have one."""
    model, ours = pair(tmp_path, model_type, "awq",
                       quantization_config=hx.HeddleConfig(kv="fp16"))
    ids = tokens(3, 118)
    mask = torch.ones_like(ids)
    mask[0, :60] = mask[2, :117] = 0
    ids[mask == 0] = 0
    given = {"attention_mask": mask, "max_new_tokens": 12, "do_sample": False, "pad_token_id": 0}
    expected = model.generate(ids, **given)
    plain = ours.generate(ids, **given)
    assert torch.equal(plain, expected)
    hx.compile(ours)
    assert torch.equal(ours.generate(ids, **given), expected)
    # Sequences that end: pad from there on, and no column behind the last one that has ended.
    eos = sorted({int(row[118 + i]) for i, row in enumerate(expected)})
    ending = model.generate(ids, eos_token_id=eos, **given)
    assert torch.equal(ours.generate(ids, eos_token_id=eos, **given), ending)
    assert ending.shape[1] < expected.shape[1]


def test_models_that_the_decoder_does_not_serve(heddle, hx):
    config = transformers.AutoConfig.for_model(
        "gpt2", n_layer=1, n_embd=64, n_head=2, vocab_size=320, eos_token_id=None)
    model = transformers.AutoModelForCausalLM.from_config(config).half()
    with pytest.raises(heddle.UnsupportedError, match="its norms are layer"):
        hx.HeddleCache(model, 1, 64, "fp16")
    model = small_models.plain("llama").half()
    model.model.layers[1].to("meta")
    with pytest.raises(heddle.UnsupportedError, match="its layers are on cpu, meta"):
        hx.HeddleCache(model, 1, 64, "fp16")
    model = small_models.plain("llama").half()
    ids = tokens(1)
    cache = hx.HeddleCache(model, 1, 64, "fp16")  # linear layers may be anybody's
    close(model(ids, past_key_values=cache).logits, small_models.plain("llama")(ids).logits)


def test_a_part_that_was_replaced_counts(hx, tmp_path):
    """As adapters do it: the attention's q_proj is another module, behind the fused layer."""
    _, ours = pair(tmp_path, "llama", "awq")
    ids = tokens(2)
    before = ours(ids).logits
    attention = ours.model.layers[0].self_attn

    class Adapter(torch.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x) * 0.5

    attention.q_proj = Adapter(attention.q_proj)
    expected = ours(ids).logits
    assert not torch.equal(expected, before)
    found = ours(ids, past_key_values=hx.HeddleCache(ours, 2, 16, "fp16")).logits
    close(found, expected.float())


def test_hooks_run_or_are_refused(heddle, hx, tmp_path):
    _, ours = pair(tmp_path, "llama", "awq")
    ids = tokens(2)
    layer = ours.model.layers[1]
    ours(ids, output_hidden_states=True)  # leaves hooks of Transformers
    for module in (layer.self_attn.q_proj, layer.self_attn.o_proj, layer.mlp):
        hook = module.register_forward_hook(lambda _module, _given, y: y * 0.5)
        expected = ours(ids).logits
        found = ours(ids, past_key_values=hx.HeddleCache(ours, 2, 16, "fp16")).logits
        close(found, expected.float())
        hook.remove()
    part = layer.self_attn.k_proj
    part.forward = lambda x: type(part).forward(part, x) * 0.5
    expected = ours(ids).logits
    found = ours(ids, past_key_values=hx.HeddleCache(ours, 2, 16, "fp16")).logits
    close(found, expected.float())
    del part.forward
    for module, name in ((layer, "DecoderLayer"), (layer.self_attn, "Attention"),
                         (layer.input_layernorm, "RMSNorm"), (ours.model.norm, "RMSNorm")):
        hook = module.register_forward_pre_hook(lambda _module, _given: None)
        with pytest.raises(heddle.UnsupportedError, match=f"a Llama{name} has a hook"):
            ours(ids, past_key_values=hx.HeddleCache(ours, 2, 16, "fp16"))
        hook.remove()


def test_threads_share_a_fused_layer(hx):
    """It keeps the parts of one input, and another thread may bring another at any moment."""
    from concurrent.futures import ThreadPoolExecutor

    from heddle.transformers._modules import Fused

    class Same(torch.nn.Module):
        def forward(self, x):
            return x, x, x

    fused = Fused(Same())

    def wrong(seed):
        x = torch.full((1,), float(seed))
        return sum(fused.part(x, i % 3) is not x for i in range(9000))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(wrong, range(4))) == 0
    finally:
        sys.setswitchinterval(before)
