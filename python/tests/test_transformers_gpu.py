"""heddle.transformers on a real GPU: small models in every format against Transformers in FP32.

Skipped where PyTorch, Transformers or a GPU is not there.
"""

import gc
import sys

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")
transformers = pytest.importorskip("transformers", reason="needs Transformers")

FORMATS = ("awq", "gptq", "gptq-act-order", "compressed-tensors", "fp8", "mxfp4", "nvfp4")
MODELS = ("llama", "qwen2", "qwen3", "mistral", "gemma2", "phi3")
PROMPT, NEW = 41, 32


@pytest.fixture
def hx(heddle, monkeypatch, tmp_path_factory):
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU, and a PyTorch with CUDA")
    if "fake_driver" in sys.modules:
        pytest.skip("needs a process of its own: another test has loaded the fake driver")
    import heddle.torch
    import heddle.transformers as package

    torch.backends.cuda.matmul.allow_tf32 = False
    # Most models have the same kernels.
    cache = tmp_path_factory.getbasetemp() / "kernels"
    heddle.torch.set_runtime(heddle.Runtime(cache_dir=cache))
    with torch.no_grad():
        yield package
    gc.collect()
    torch.cuda.empty_cache()


def pair(tmp_path, model_type, name, dtype=torch.float16, **loading):
    import small_models

    model = small_models.plain(model_type)
    folder = small_models.write(model, tmp_path / "model", name, dtype)
    ours = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=dtype, device_map="cuda", **loading)
    return model.cuda(), ours


def tokens(sequences, columns):
    made = torch.Generator().manual_seed(1)
    return torch.randint(2, 320, (sequences, columns), generator=made).cuda()


def error_of(found, expected):
    """Relative to the largest logit."""
    assert torch.isfinite(found).all()
    return float((found.float() - expected).abs().max() / expected.abs().max())


def teacher_forced(ours, cache, ids, prompt, mask=None):
    """Logits of a prompt, then of single tokens."""
    made = [ours(ids[:, :prompt], attention_mask=None if mask is None else mask[:, :prompt],
                 past_key_values=cache).logits]
    made += [ours(ids[:, i:i + 1], past_key_values=cache).logits
             for i in range(prompt, ids.shape[1])]
    return torch.cat(made, 1)


@pytest.mark.parametrize("model_type", MODELS)
@pytest.mark.parametrize("name", FORMATS)
def test_logits_and_greedy_tokens(hx, tmp_path, model_type, name):
    model, ours = pair(tmp_path, model_type, name)
    ids = tokens(2, PROMPT + NEW)
    expected = model(ids).logits
    plain = error_of(ours(ids).logits, expected)
    cache = hx.HeddleCache(ours, 2, PROMPT + NEW, "fp16")
    own = error_of(teacher_forced(ours, cache, ids, PROMPT), expected)
    print(f"{model_type} {name}: {plain:.1e}, with a HeddleCache {own:.1e}")
    assert max(plain, own) < 5e-3
    given = {"max_new_tokens": NEW, "do_sample": False, "pad_token_id": 0}
    wanted = model.generate(ids[:, :PROMPT], **given)
    hx.compile(ours, kv="fp16")
    greedy = ours.generate(ids[:, :PROMPT], **given)
    assert same_or_close(model, greedy, wanted)


@pytest.mark.parametrize(("model_type", "name"), [
    ("mixtral", "awq"), ("mixtral", "fp8"), ("mixtral", "nvfp4"), ("qwen3_moe", "gptq"),
    ("qwen3_moe", "compressed-tensors"), ("gpt_oss", "mxfp4")])
def test_experts(hx, tmp_path, model_type, name):
    """Tokens whose routers' choices are not those of rounding."""
    import small_experts

    model, ours = small_experts.pair(tmp_path, model_type, name, device_map="cuda")
    model.cuda()
    ids = small_experts.tokens(model, 2, 30)
    expected = model(ids).logits
    plain = error_of(ours(ids).logits, expected)
    cache = hx.HeddleCache(ours, 2, 64, "fp16")
    own = error_of(teacher_forced(ours, cache, ids, 20), expected)
    print(f"{model_type} {name}: {plain:.1e}, with a HeddleCache {own:.1e}")
    assert max(plain, own) < 1e-2
    given = {"max_new_tokens": 12, "do_sample": False, "pad_token_id": 0}
    for columns in range(8, 30):
        wanted = model.generate(ids[:, :columns], **given)
        if small_experts.gap(model, wanted) > 0.01:
            break
    hx.compile(ours, kv="fp16")
    assert same_or_close(model, ours.generate(ids[:, :columns], **given), wanted)


@pytest.mark.parametrize("model_type", ["mixtral", "qwen3_moe", "gpt_oss"])
def test_experts_of_bf16_that_are_quantised_at_load(heddle, hx, tmp_path, model_type):
    """With the bits that the host makes."""
    import small_models

    model = small_models.plain(model_type)
    model.bfloat16().save_pretrained(tmp_path)
    given = {"dtype": torch.bfloat16,
             "quantization_config": hx.HeddleConfig(bits=8, group_size=64, kv="bf16")}
    load = transformers.AutoModelForCausalLM.from_pretrained
    ours, host = (load(tmp_path, device_map=device, **given) for device in ("cuda", "cpu"))
    for layer, on_host in zip(ours.model.layers, host.model.layers, strict=True):
        experts = layer.mlp.experts.state_dict()
        for name, wanted in on_host.mlp.experts.state_dict().items():
            assert torch.equal(experts[name].cpu(), wanted), name
    ids = tokens(2, PROMPT)
    far = (ours(ids).logits.float() - model.cuda()(ids).logits.float()).abs().amax(-1)
    assert far.median() < 5e-2 * model(ids).logits.abs().max()
    assert ours.generate(ids, max_new_tokens=4, do_sample=False).shape == (2, PROMPT + 4)
    block = ours.model.layers[0].mlp
    x = torch.randn(2, 3, 256, device="cuda").bfloat16()
    y, wanted = (each[0] if isinstance(each, tuple) else each
                 for each in (torch.compile(block, fullgraph=True)(x), block(x)))
    assert error_of(y, wanted.float()) < 2e-2


def same_or_close(model, found, wanted):
    """The same tokens, or, where the first other one is, logits that 16 bits cannot tell apart."""
    for row, expected in zip(found, wanted, strict=True):
        differs = (row != expected).nonzero()
        if len(differs):
            at = int(differs[0])
            logits = model(expected[None, :at]).logits[0, -1]
            gap = float((logits.max() - logits[row[at]]) / logits.abs().max())
            print(f"token {at - len(row)} of {len(row)} differs, by {gap:.1e} of the logits")
            if gap > 5e-3:
                return False
    return True


@pytest.mark.parametrize("dtype", [torch.bfloat16])
@pytest.mark.parametrize("model_type", ["llama", "gemma2"])
def test_bf16(hx, tmp_path, model_type, dtype):
    model, ours = pair(tmp_path, model_type, "compressed-tensors", dtype)
    ids = tokens(2, PROMPT + NEW)
    cache = hx.HeddleCache(ours, 2, PROMPT + NEW, "bf16")
    assert error_of(teacher_forced(ours, cache, ids, PROMPT), model(ids).logits) < 4e-2


@pytest.mark.parametrize(("kv", "rounding", "tolerance"), [
    ("int8:head", ("int8", "head"), 2e-2), ("int8:token", ("int8", "token"), 2e-2),
    ("fp8_e4m3:head", ("fp8_e4m3", "head"), 3e-2), ("int4:head", ("int4", "head"), 1e-1),
    ("int4:group:32", ("int4", "group", 32), 1e-1)])
def test_quantised_caches(hx, tmp_path, kv, rounding, tolerance):
    """Against keys and values that are rounded as documented. A code may be the neighbour of
    the FP32 model's, whose size the tolerance allows for."""
    import rounded_cache

    model, ours = pair(tmp_path, "llama", "awq")
    ids = tokens(2, 200)
    expected = teacher_forced(model, rounded_cache.cache(2, *rounding), ids, 150)
    found = teacher_forced(ours, hx.HeddleCache(ours, 2, 256, kv), ids, 150)
    error, whole = error_of(found, expected), error_of(found, model(ids).logits)
    print(f"{kv}: {error:.1e}, of the rounding itself {whole:.1e}")
    assert error < tolerance
    assert error < 0.75 * whole


def test_scales_per_channel(hx, tmp_path):
    model, ours = pair(tmp_path, "llama", "awq")
    ids = tokens(2, 300)
    cache = hx.HeddleCache(ours, 2, 384, "int4:channel:128,int4:head")
    error = error_of(teacher_forced(ours, cache, ids, 250), model(ids).logits)
    print(f"int4:channel:128,int4:head: {error:.1e}")
    assert error < 0.3


def test_several_tokens_behind_others_with_scales_per_channel(hx, tmp_path):
    """They overwrite the residual window of a block that earlier ones of them still read."""
    _, ours = pair(tmp_path, "llama", "awq")
    ids = tokens(2, 300)
    kv = "int4:channel:128,int4:head"
    single = teacher_forced(ours, hx.HeddleCache(ours, 2, 384, kv), ids, 100)[:, 100:]
    cache = hx.HeddleCache(ours, 2, 384, kv)
    ours(ids[:, :100], past_key_values=cache)
    found = ours(ids[:, 100:], past_key_values=cache).logits
    far = (found.float() - single.float()).abs().amax((0, 2)) > 2e-2 * single.abs().max()
    print(f"{int(far.sum())} of 200 tokens differ")
    assert int(far.sum()) <= 16


def test_a_gpu_that_is_not_the_current_one(hx, tmp_path):
    import small_models

    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    model = small_models.plain("llama")
    folder = small_models.write(model, tmp_path / "model", "awq")
    ids = tokens(2, PROMPT)
    given = {"max_new_tokens": NEW, "do_sample": False, "pad_token_id": 0, "eos_token_id": 1}
    wanted = model.cuda().generate(ids, **given)
    for device in ("cuda:0", "cuda:1"):
        ours = transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float16, device_map=device)
        hx.compile(ours, kv="fp16")
        found = ours.generate(ids.to(device), **given)
        assert torch.cuda.current_device() == 0
        assert same_or_close(model, found.to(ids.device), wanted)


def test_layers_on_two_gpus(hx, tmp_path):
    import small_models

    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    model = small_models.plain("llama")
    folder = small_models.write(model, tmp_path / "model", "awq")
    places = {"model.embed_tokens": 0, "model.rotary_emb": 0, "model.layers.0": 0,
              "model.layers.1": 1, "model.norm": 1, "lm_head": 1}
    ours = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float16, device_map=places)
    ids = tokens(2, PROMPT)
    assert error_of(ours(ids).logits.to(ids.device), model.cuda()(ids).logits) < 5e-3


@pytest.mark.parametrize("batch", [1, 3, 16, 64])
def test_ragged_batches_across_pages(hx, tmp_path, batch):
    model, ours = pair(tmp_path, "mistral", "gptq")
    ids = tokens(batch, 126)
    mask = torch.ones_like(ids)
    for i in range(batch):
        mask[i, :(i * 37) % 125] = 0
    ids[mask == 0] = 0
    given = {"attention_mask": mask, "max_new_tokens": 12, "do_sample": False, "pad_token_id": 0}
    wanted = model.generate(ids, **given)
    hx.compile(ours, kv="fp16")
    found = ours.generate(ids, **given)
    assert found.shape == wanted.shape
    for row, expected, visible in zip(found, wanted, mask, strict=True):
        first = int((visible == 0).sum())
        assert same_or_close(model, row[None, first:], expected[None, first:]), first
    assert torch.equal(found, ours.generate(ids, **given))


def test_sequences_that_end(hx, tmp_path):
    model, ours = pair(tmp_path, "llama", "awq")
    hx.compile(ours, kv="fp16")
    ids = tokens(2, 20)
    given = {"max_new_tokens": 24, "do_sample": False, "pad_token_id": 0}
    free = model.generate(ids, **given)
    eos = [int(free[0, 24]), int(free[1, 28])]
    wanted = model.generate(ids, eos_token_id=eos, **given)
    assert torch.equal(ours.generate(ids, eos_token_id=eos, **given), wanted)


def test_the_loop_does_not_wait_for_the_gpu(hx, tmp_path):
    _, ours = pair(tmp_path, "llama", "awq")
    hx.compile(ours, kv="int8:head")
    ids = tokens(4, 20)
    given = {"max_new_tokens": 16, "pad_token_id": 0, "eos_token_id": 1}
    for more in ({"do_sample": False}, {"do_sample": True, "top_k": 20}):
        first = ours.generate(ids, **given, **more)
        step = ours.__dict__["_heddle_steps"][4]
        advance = step.advance

        def checked(advance=advance):
            torch.cuda.set_sync_debug_mode("error")
            try:
                advance()
            finally:
                torch.cuda.set_sync_debug_mode("default")

        step.advance = checked
        again = ours.generate(ids, **given, **more)
        del step.advance
        assert more["do_sample"] or torch.equal(first, again)


def test_quantising_a_model_at_load(hx, tmp_path):
    model, ours = pair(tmp_path, "qwen2", "plain",
                       quantization_config=hx.HeddleConfig(bits=8, kv="int8:head"))
    ids = tokens(2, PROMPT)
    assert error_of(ours(ids).logits, model(ids).logits) < 0.05
    assert ours.generate(ids, max_new_tokens=4, do_sample=False).shape == (2, PROMPT + 4)


@pytest.mark.parametrize("name", ["awq", "plain"])
def test_the_most_memory_is_the_model_and_a_layer(hx, tmp_path, name):
    import small_models

    sizes = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 6}
    folder = small_models.write(small_models.plain("llama", **sizes), tmp_path, name)
    loading = {"quantization_config": hx.HeddleConfig(bits=4)} if name == "plain" else {}
    load = transformers.AutoModelForCausalLM.from_pretrained
    for measured in (False, True):  # the first time makes kernels and workspaces
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        model = load(folder, dtype=torch.float16, device_map="cuda", **loading)
        if measured:
            peak = torch.cuda.max_memory_allocated() - before
            kept = torch.cuda.memory_allocated() - before
            # Gate and up, in 16 bits where they are quantised here.
            layer = 2 * 4096 * 1024 * (2 if name == "plain" else 0.6)
            print(f"{name}: {peak / 2**20:.1f} MiB at most, {kept / 2**20:.1f} MiB kept")
            assert peak <= kept + 2 * layer
        del model


def test_torch_compile_of_a_whole_model(hx, tmp_path):
    _, ours = pair(tmp_path, "llama", "awq")
    ids = tokens(2, PROMPT)
    expected = ours(ids).logits
    compiled = torch.compile(ours.model.layers[0].mlp, fullgraph=True)
    x = torch.randn(2, 3, 256, device="cuda").half()
    wanted = ours.model.layers[0].mlp(x)
    assert error_of(compiled(x), wanted.float()) < 2e-3
    assert torch.equal(ours(ids).logits, expected)
