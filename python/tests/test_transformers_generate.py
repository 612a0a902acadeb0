"""Models that heddle.transformers.compile() has compiled, on the host."""

import pytest
import small_models
from small_models import close, pair, tokens, torch

pytestmark = pytest.mark.usefixtures("on_the_host", "hx")

PROMPT = 9


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


class Flat(torch.nn.Module):
    """An MLP whose output has one dimension for all tokens."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x).flatten(0, -2)


def test_a_block_may_return_tokens_alone(hx, tmp_path):
    model, ours = pair(tmp_path, "llama", "gptq")
    ids = tokens(1)
    ours.model.layers[0].mlp = Flat(ours.model.layers[0].mlp)
    cache = hx.HeddleCache(ours, 1, 16, "fp16")
    close(ours(ids, past_key_values=cache).logits, model(ids).logits)


@pytest.mark.parametrize(("more", "words"), [
    ({"num_beams": 2}, "beam_search"), ({"max_time": 9.0}, "MaxTimeCriteria"),
    ({"cache_implementation": "static"}, "cache_implementation is static"),
    ({"prefill_chunk_size": 4}, "prefill_chunk_size is 4"),
    ({"use_cache": False}, "use_cache is False"), ({"assistant_model": 1}, "assistant_model"),
    ({"output_scores": True, "return_dict_in_generate": True}, "output_scores"),
    ({"synced_gpus": True}, "synced_gpus is given"),
    ({"labels": torch.zeros(1, 9).long()}, "labels is given")])
def test_a_compiled_model_refuses_by_name(heddle, hx, tmp_path, more, words):
    _, ours = pair(tmp_path, "llama", "awq")
    hx.compile(ours)
    with pytest.raises(heddle.UnsupportedError, match=words):
        ours.generate(tokens(1), max_new_tokens=2, do_sample=False, **more)
    for given, wrong in (
            ({"past_key_values": hx.HeddleCache(ours, 1, 64, "fp16")}, "brings its own cache"),
            ({"position_ids": torch.arange(9)[None] * 2}, "position_ids differ")):
        with pytest.raises(heddle.UsageError, match=wrong):
            ours.generate(tokens(1), max_new_tokens=2, **given)


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


def test_several_sequences_of_a_prompt(hx, tmp_path):
    model, ours = pair(tmp_path, "llama", "awq")
    hx.compile(ours, kv="fp16")
    ids = tokens(2)
    given = {"max_new_tokens": 8, "do_sample": True, "top_k": 1, "num_return_sequences": 3,
             "pad_token_id": 0}
    assert torch.equal(ours.generate(ids, **given), model.generate(ids, **given))


def test_a_model_that_was_converted(hx):
    model = small_models.plain("llama").half()
    ids = tokens(2)
    given = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
    hx.compile(model)
    model.generate(ids, **given)
    old = model.__dict__["_heddle_steps"][2].cache
    model.bfloat16()
    made = model.generate(ids, **given)
    cache = model.__dict__["_heddle_steps"][2].cache
    assert cache is not old
    assert cache.layers[0].kv.k.codes.dtype == torch.bfloat16
    assert torch.equal(made, type(model).generate(small_models.plain("llama").bfloat16(), ids,
                                                  **given))


@pytest.mark.parametrize("make", [lambda model: model.model, lambda model: torch.nn.Linear(2, 2)])
def test_only_models_that_generate_are_compiled(heddle, hx, make):
    with pytest.raises(heddle.UsageError, match=r"compile\(\) is given a \w+; allowed"):
        hx.compile(make(small_models.plain("llama")))


@pytest.mark.parametrize("make", ["deepcopy", "pickle"])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_copy_generates(hx, tmp_path, make, compiled):
    """A pickled model, too: it has its own cache, and none of the graphs."""
    import copy
    import pickle

    model, ours = pair(tmp_path, "llama", "awq", quantization_config=hx.HeddleConfig(kv="fp16"))
    if compiled:
        hx.compile(ours)
    ids = tokens(2)
    given = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
    expected = model.generate(ids, **given)
    assert torch.equal(ours.generate(ids, **given), expected)
    twin = copy.deepcopy(ours) if make == "deepcopy" else pickle.loads(pickle.dumps(ours))
    assert twin.generate.__self__ is twin if not compiled else twin.generate.model is twin
    made = twin.generate(ids, **given, return_dict_in_generate=True)
    assert torch.equal(made.sequences, expected)
    cache = hx.HeddleCache(twin, 2, 16, "fp16")
    assert cache.decoder.base is twin.model
    close(twin(ids, past_key_values=cache).logits, model(ids).logits)
    assert compiled or made.past_key_values.decoder.base is twin.model
