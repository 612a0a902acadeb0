"""heddle.transformers on the host, with the operators of reference_ops.py: whole small models
against Transformers' own, in FP32, on the weights that a checkpoint stands for."""

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: tools/test --torch")
transformers = pytest.importorskip("transformers", reason="needs Transformers: tools/test --torch")

import small_models  # noqa: E402
from small_models import close, pair, tokens  # noqa: E402

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


def test_a_compiled_model_generates_as_transformers_does(hx, tmp_path):
    model, ours = pair(tmp_path, "llama", "gptq")
    hx.compile(ours, kv="fp16")
    ids = tokens(2)
    given = {"max_new_tokens": 8, "do_sample": False, "repetition_penalty": 1.3,
             "pad_token_id": 0}
    assert torch.equal(ours.generate(ids, **given), model.generate(ids, **given))
    steps = ours.__dict__["_heddle_steps"]
    cache = steps[2].cache
    ours.generate(ids[:1], **given)
    assert torch.equal(ours.generate(ids, **given), model.generate(ids, **given))
    assert steps[2].cache is cache
    made = ours.generate(ids, **given, return_dict_in_generate=True)
    assert torch.equal(made.sequences, model.generate(ids, **given))
    sampled = ours.generate(ids, max_new_tokens=8, do_sample=True, top_k=4, pad_token_id=0)
    assert sampled.shape == (2, PROMPT + 8)
    assert torch.equal(ours.generate(ids[:, :1], **given), model.generate(ids[:, :1], **given))
    embeddings = ours.get_input_embeddings()(ids)
    made = ours.generate(inputs_embeds=embeddings, **given)
    wanted = model.generate(inputs_embeds=embeddings.float(), **given)
    assert torch.equal(made, wanted)
    put = []

    class Streamer:
        def put(self, value):
            put.append(value.tolist())

        def end(self):
            put.append("end")

    made = ours.generate(ids[:1], **given, streamer=Streamer())
    assert put == [ids[:1].tolist(), *([int(token)] for token in made[0, PROMPT:]), "end"]


@pytest.mark.parametrize(("more", "words"), [
    ({"num_beams": 2}, "beam_search"), ({"max_time": 9.0}, "MaxTimeCriteria"),
    ({"cache_implementation": "static"}, "cache_implementation is static"),
    ({"prefill_chunk_size": 4}, "prefill_chunk_size is 4"),
    ({"use_cache": False}, "use_cache is False"), ({"assistant_model": 1}, "assistant_model"),
    ({"output_scores": True, "return_dict_in_generate": True}, "output_scores")])
def test_a_compiled_model_refuses_by_name(heddle, hx, tmp_path, more, words):
    _, ours = pair(tmp_path, "llama", "awq")
    hx.compile(ours)
    with pytest.raises(heddle.UnsupportedError, match=words):
        ours.generate(tokens(1), max_new_tokens=2, do_sample=False, **more)
    with pytest.raises(heddle.UsageError, match="brings its own cache"):
        ours.generate(tokens(1), max_new_tokens=2,
                      past_key_values=hx.HeddleCache(ours, 1, 64, "fp16"))


def test_where_a_compiled_model_stops(heddle, hx, tmp_path):
    from transformers import MaxLengthCriteria, StoppingCriteriaList

    model, ours = pair(tmp_path, "llama", "awq")
    hx.compile(ours, kv="fp16")
    ids = tokens(1)
    given = {"do_sample": False, "pad_token_id": 0}
    expected = model.generate(ids, max_new_tokens=8, **given)
    made = ours.generate(ids, max_new_tokens=8, **given, stopping_criteria=StoppingCriteriaList(
        [MaxLengthCriteria(PROMPT + 3)]))
    assert torch.equal(made, expected[:, :PROMPT + 3])
    put = []

    class Streamer:
        def put(self, value):
            put.extend(value.flatten().tolist())

        def end(self):
            put.append("end")

    eos = int(expected[0, PROMPT + 2])
    made = ours.generate(ids, None, eos_token_id=eos, max_new_tokens=8, streamer=Streamer(),
                         **given)
    wanted = model.generate(ids, eos_token_id=eos, max_new_tokens=8, **given)
    assert torch.equal(made, wanted)
    assert put == [*wanted[0].tolist(), "end"]

    class Nested(Streamer):
        def put(self, value):
            ours.generate(ids, max_new_tokens=1, **given)

    with pytest.raises(heddle.UsageError, match="inside generate"):
        ours.generate(ids, max_new_tokens=2, streamer=Nested(), **given)
    assert torch.equal(ours.generate(ids, max_new_tokens=8, **given), expected)


def test_replaced_modules_and_copies_count(heddle, hx, tmp_path):
    import copy

    model, ours = pair(tmp_path, "llama", "awq")
    ids = tokens(2)
    given = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
    hx.compile(ours, kv="fp16")
    before = ours.generate(ids, **given)
    graphs = ours.__dict__["_heddle_steps"][2].graphs
    captured = next(iter(graphs.values()))
    twin = copy.deepcopy(ours)
    other = small_models.plain("llama", seed=7)
    for each in (model, twin):  # whole MLPs, and the last norm
        for layer, new in zip(each.model.layers, other.model.layers, strict=True):
            layer.mlp = copy.deepcopy(new.mlp).to(layer.input_layernorm.weight.dtype)
        each.model.norm = copy.deepcopy(other.model.norm).to(each.dtype)
    expected = model(ids).logits
    for cache in (None, hx.HeddleCache(twin, 2, 16, "fp16")):
        close(twin(ids, past_key_values=cache).logits, expected)
    assert torch.equal(twin.generate(ids, **given), model.generate(ids, **given))
    assert torch.equal(ours.generate(ids, **given), before)
    assert next(iter(graphs.values())) is captured
    with pytest.raises(heddle.UsageError, match="made for another model"):
        twin(ids, past_key_values=hx.HeddleCache(ours, 2, 16, "fp16"))
    ours.model.norm = twin.model.norm
    ours.generate(ids, **given)
    assert next(iter(graphs.values())) is not captured


def test_a_cache_is_freed_at_once(hx, tmp_path):
    import gc
    import weakref

    _, ours = pair(tmp_path, "llama", "awq")
    cache = hx.HeddleCache(ours, 1, 16, "fp16")
    gone = weakref.ref(cache)
    gc.disable()
    try:
        del cache
        assert gone() is None
    finally:
        gc.enable()


def test_threads_take_turns(hx, tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    _, ours = pair(tmp_path, "llama", "awq")
    hx.compile(ours, kv="fp16")
    prompts = [tokens(1, seed=seed) for seed in range(4)]

    def run(ids):
        with torch.no_grad():
            return ours.generate(ids, max_new_tokens=12, do_sample=False, pad_token_id=0)

    expected = [run(ids) for ids in prompts]
    with ThreadPoolExecutor(4) as pool:
        for made, wanted in zip(pool.map(run, prompts), expected, strict=True):
            assert torch.equal(made, wanted)


def test_a_quantised_cache(hx, tmp_path):
    import rounded_cache

    model, ours = pair(tmp_path, "qwen2", "awq")
    ids = tokens(2, 80)
    expected = model(ids).logits
    cache = hx.HeddleCache(ours, 2, 90, "int8:head")
    # The prompt's attention is of keys and values as they are.
    close(ours(ids[:, :-1], past_key_values=cache).logits, expected[:, :-1])
    rounded = rounded_cache.cache(2, "int8", "head")
    model(ids[:, :-1], past_key_values=rounded)
    expected = model(ids[:, -1:], past_key_values=rounded).logits
    close(ours(ids[:, -1:], past_key_values=cache).logits, expected, 1e-2)
    codes = 2 * 2 * 2 * 2 * 128 * 64
    assert cache.nbytes == codes + codes // 64 * 2


def test_what_a_cache_refuses(heddle, hx, tmp_path):
    _, ours = pair(tmp_path, "llama", "awq")
    ids = tokens(2)
    cache = hx.HeddleCache(ours, 2, 10, "fp16")
    with pytest.raises(heddle.UsageError, match="1 sequences are given; the cache was made for 2"):
        ours(ids[:1], past_key_values=cache)
    right = torch.ones_like(ids)
    right[0, -2:] = 0
    with pytest.raises(heddle.UsageError, match="padded on the left"):
        ours(ids, attention_mask=right, past_key_values=cache)
    cache.reset()
    with pytest.raises(heddle.UsageError, match="output_hidden_states"):
        ours(ids, past_key_values=cache, output_hidden_states=True)
    ours.config.output_hidden_states = True
    with pytest.raises(heddle.UsageError, match="output_hidden_states"):
        ours(ids, past_key_values=cache)
    ours.config.output_hidden_states = False
    ours(ids, past_key_values=cache)
    with pytest.raises(heddle.UsageError, match="memory for 10 tokens of a sequence; 11"):
        ours(ids[:, :2], past_key_values=cache)
    with pytest.raises(heddle.UnsupportedError, match="beam search"):
        cache.reorder_cache(torch.tensor([0, 1]))
    with pytest.raises(heddle.UnsupportedError, match="brings its own"):
        cache.update(None, None, 0)
    with pytest.raises(heddle.UnsupportedError, match="fp8_e4m3:head"):
        hx.HeddleCache(ours, 2, 10, "fp8_e4m3")


def test_a_cache_is_cut_back(heddle, hx, tmp_path):
    model, ours = pair(tmp_path, "llama", "awq")
    ids = tokens(2, 20)
    cache = hx.HeddleCache(ours, 2, 64, "fp16")
    ours(ids, past_key_values=cache)
    cache.crop(-5)
    close(ours(ids[:, 15:], past_key_values=cache).logits, model(ids).logits[:, 15:])
    cache.crop(15)  # columns that stay
    assert (cache.seen, cache.lengths.tolist()) == (15, [15, 15])
    cache.crop(16)
    cache.crop(0)
    assert cache.seen == 15
    with pytest.raises(heddle.UsageError, match=r"crop\(-16\) removes 16 tokens; the cache has 15"):
        cache.crop(-16)
    close(ours(ids[:, 15:], past_key_values=cache).logits, model(ids).logits[:, 15:])


def test_later_masks_and_refused_calls(heddle, hx, tmp_path):
    model, ours = pair(tmp_path, "llama", "awq")
    ids = tokens(2, 12)
    mask = torch.ones_like(ids)
    mask[0, :3] = 0
    cache = hx.HeddleCache(ours, 2, 14, "fp16")
    wrong = mask.clone()
    wrong[0, -1] = 0
    with pytest.raises(heddle.UsageError, match="padded on the left"):
        ours(ids, attention_mask=wrong, past_key_values=cache)
    assert cache.seen == 0
    ours(ids[:, :10], attention_mask=mask[:, :10], past_key_values=cache)
    moved = torch.ones_like(mask)
    for bad, words in ((wrong, "hides new tokens"), (moved, "differs"),
                       (mask[:, 10:], r"shape \[2, 2\]; wanted: \[2, 12\]")):
        with pytest.raises(heddle.UsageError, match=words):
            ours(ids[:, 10:], attention_mask=bad, past_key_values=cache)
    with pytest.raises(heddle.UsageError, match="memory for 14"):
        ours(ids[:, :5], past_key_values=cache)
    assert (cache.seen, cache.lengths.tolist()) == (10, [7, 10])
    found = ours(ids[:, 10:], attention_mask=mask, past_key_values=cache).logits
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    expected = model(ids, attention_mask=mask, position_ids=positions).logits[:, 10:]
    close(found, expected)


def test_chunks_are_appended_just_before_their_attention(hx, tmp_path):
    """Scales per channel need it: later tokens overwrite rows of the residual window."""
    from torch.utils._python_dispatch import TorchDispatchMode

    calls = []

    class Calls(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            name = func._schema.name.removeprefix("heddle::")
            if name in {"kv_append_query", "decode_attention"}:
                at = 3 if name == "kv_append_query" else 1  # lengths
                calls.append((name, args[0].numel() // 256, args[at].tolist()))
            return func(*args, **(kwargs or {}))

    _, ours = pair(tmp_path, "llama", "awq")
    cache = hx.HeddleCache(ours, 1, 64, "fp16")
    ids = tokens(1, 20)
    ours(ids[:, :5], past_key_values=cache)
    with Calls():
        ours(ids[:, 5:], past_key_values=cache)
    layer = [("kv_append_query", 8, [13]), ("decode_attention", 8, [13]),
             ("kv_append_query", 7, [20]), ("decode_attention", 7, [20])]
    assert calls == layer * 2


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
