"""HeddleCache on the host: codes, masks, crops, chunks, and what it refuses."""

import pytest
from small_models import close, pair, plain, tokens, torch

pytestmark = pytest.mark.usefixtures("on_the_host", "hx")


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


def test_a_cache_by_both_names(hx, tmp_path):
    """Later versions of Transformers call past_key_values cache, and give it by that name."""
    _, ours = pair(tmp_path, "llama", "awq")
    ids = tokens(2)
    made = [ours.model(ids, **{name: hx.HeddleCache(ours, 2, 16, "fp16")}).last_hidden_state
            for name in ("past_key_values", "cache")]
    assert torch.equal(*made)


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


def test_positions_are_the_numbers_of_the_tokens(heddle, hx, tmp_path):
    model, ours = pair(tmp_path, "llama", "awq")
    ids = tokens(2, 12)
    mask = torch.ones_like(ids)
    mask[0, :3] = 0
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    cache = hx.HeddleCache(ours, 2, 32, "fp16")
    prompt = {"attention_mask": mask[:, :10], "past_key_values": cache}
    for wrong, words in ((positions[:, :10] + 1, "differ"), (torch.arange(10)[None] % 4, "differ"),
                         (positions[None, :, :10], r"shape \[1, 2, 10\]; wanted: \[2, 10\]")):
        with pytest.raises(heddle.UsageError, match=words):
            ours(ids[:, :10], position_ids=wrong, **prompt)
    assert cache.seen == 0
    found = [ours(ids[:, :10], position_ids=positions[:, :10], **prompt).logits]
    with pytest.raises(heddle.UsageError, match="differ"):
        ours(ids[:, 10:], position_ids=positions[:, 9:11], past_key_values=cache)
    assert (cache.seen, cache.lengths.tolist()) == (10, [7, 10])
    found += [ours(ids[:, i:i + 1], position_ids=positions[:, i:i + 1],
                   past_key_values=cache).logits for i in (10, 11)]
    expected = model(ids, attention_mask=mask, position_ids=positions).logits
    close(torch.cat(found, 1)[mask.bool()], expected[mask.bool()])


def test_what_a_call_refuses(heddle, hx, tmp_path):
    _, ours = pair(tmp_path, "llama", "awq")
    ids = tokens(2)
    cache = hx.HeddleCache(ours, 2, 16, "fp16")
    embeddings = ours.get_input_embeddings()(ids)
    for given in ({"input_ids": ids, "inputs_embeds": embeddings}, {}):
        with pytest.raises(heddle.UsageError, match="both given, or neither"):
            ours(**given, past_key_values=cache)
    ours.train()
    with pytest.raises(heddle.UsageError, match=r"training mode.*call eval\(\)"):
        ours(ids, past_key_values=cache)
    ours.eval()
    for batch, capacity, words in ((0, 16, "batch is 0"), (2, 0, "capacity is 0"),
                                   (2, 16.0, "capacity is 16.0")):
        with pytest.raises(heddle.UsageError, match=words):
            hx.HeddleCache(ours, batch, capacity, "fp16")


def test_a_model_of_another_dtype_has_another_cache(heddle, hx):
    model = plain("llama").half()
    ids = tokens(2)
    old = hx.HeddleCache(model, 2, 16, "fp16")
    model.bfloat16()
    with pytest.raises(heddle.UsageError, match=r"had the dtype torch.float16; it has torch.bf"):
        model(ids, past_key_values=old)
    found = model(ids, past_key_values=hx.HeddleCache(model, 2, 16, "bf16")).logits
    assert found.dtype == torch.bfloat16
    close(found, model(ids).logits.float(), 5e-2)
