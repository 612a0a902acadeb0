"""generate() with one CUDA graph for each token."""

from __future__ import annotations

from contextlib import contextmanager
from inspect import signature
from threading import Lock, get_ident
from typing import TYPE_CHECKING, Any

import torch
from transformers.generation.configuration_utils import GenerationMode
from transformers.generation.stopping_criteria import EosTokenCriteria, MaxLengthCriteria
from transformers.generation.utils import GenerateDecoderOnlyOutput, GenerationMixin

from .._errors import UnsupportedError, UsageError
from ..torch._specs import NAMES
from ._cache import HeddleCache
from ._decoder import CACHE, decoder_of
from ._step import Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_GRAIN = 256
"""A cache has room for a multiple of so many tokens: a longer prompt seldom needs another."""


def compile(model: Any, kv: str | dict[str, Any] | None = None) -> Any:
    """generate() of the model replays one CUDA graph for each token from here on; returns it.

    The graph has everything from the embeddings to the next token, so nothing in the loop waits for
    the GPU, which tells some steps later that all sequences have ended. Greedy search and sampling
    are served, with any logits processors, which run between graphs; everything else is refused by
    name. The first generate() of a batch size captures a graph, and allocates its cache, which
    later ones use again. Threads take turns: one generate() of a model runs at a time.

    kv: None: that of the model's HeddleConfig, else 16 bits.

    Raises UnsupportedError where no HeddleCache serves the model.
    """
    if not isinstance(model, GenerationMixin):
        raise UsageError(
            f"compile() is given a {type(model).__name__}; allowed: a model of Transformers that"
            " has generate(), such as AutoModelForCausalLM loads",
            "transformers.model",
        )
    config = getattr(model.config, "quantization_config", None)
    kv = kv or getattr(config, "kv", None)
    decoder_of(model, kv or _plain(model))
    model.__dict__["_heddle_steps"] = _Steps()
    model.generate = _Generate(model, kv)
    model._prepare_cache_for_generation = _prepare_no_cache
    return model


class _Generate:
    """generate() of one model. A copy of the model, or one that was pickled, has its own."""

    def __init__(self, model: Any, kv: str | dict[str, Any] | None) -> None:
        self.model = model
        self.kv = kv

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        plain = type(self.model).generate
        # Transformers gives a streamer to its own loops alone.
        given = signature(plain).bind_partial(self.model, *args, **kwargs).arguments
        for name, why in _NOT_SERVED.items():
            if given.get(name):
                raise UnsupportedError(
                    f"{name} is given; a compiled model {why}", "transformers.mode"
                )
        kwargs.setdefault("custom_generate", _loop(self.kv, given.get("streamer")))
        return plain(self.model, *args, **kwargs)


def _prepare_no_cache(generation_config: Any, model_kwargs: dict[str, Any], *_: Any) -> None:
    if model_kwargs.get(CACHE) is not None:
        raise UsageError(
            f"{CACHE} is given; a model that heddle.transformers.compile() has"
            " compiled brings its own cache",
            "transformers.cache",
        )


_NOT_SERVED = {
    "assistant_model": "has no assisted generation",
    "synced_gpus": "does not wait for other processes",
}
"""Arguments of generate() that Transformers keeps from a loop."""

_SERVED = {
    "attention_mask", "inputs_embeds", CACHE, "position_ids", "use_cache", "logits_to_keep",
}  # fmt: skip
"""Inputs of the model that a loop reads: the user's, and those that Transformers makes."""


class _Steps(dict[int, Step]):
    """What a model has made for each batch size. Its copy starts with nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = Lock()
        self.owner: int | None = None
        """The thread that has the lock."""
        self.done: torch.cuda.Event | None = None
        """Behind the work of the last generate(), which may have been on another stream."""

    def __reduce__(self) -> tuple[type[_Steps], tuple[()]]:
        return _Steps, ()


def _plain(model: Any) -> str:
    return NAMES[model.dtype]


def _loop(kv: str | dict[str, Any] | None, streamer: Any) -> Callable[..., Any]:
    def decode(
        model: Any,
        input_ids: torch.Tensor,
        logits_processor: Any,
        stopping_criteria: Any,
        generation_config: Any,
        **model_kwargs: Any,
    ) -> Any:
        _check(generation_config, stopping_criteria)
        unknown = {name for name, value in model_kwargs.items() if value is not None} - _SERVED
        if unknown:
            raise UnsupportedError(
                f"{', '.join(sorted(unknown))} is given; a compiled model takes"
                f" {', '.join(sorted(_SERVED - {CACHE}))}",
                "transformers.inputs",
            )
        limits = [c.max_length for c in stopping_criteria if isinstance(c, MaxLengthCriteria)]
        longest = min([generation_config.max_length, *limits])
        batch, columns = input_ids.shape
        embeddings = model_kwargs.get("inputs_embeds")
        # Its columns are no part of max_length.
        before = 0 if embeddings is None else embeddings.shape[1] - columns
        # One token is made in any case.
        length = before + max(longest, columns + 1)
        with _taken(model, kv or _plain(model), batch, length) as step:
            step.begin(
                input_ids,
                model_kwargs.get("attention_mask"),
                model_kwargs.get("position_ids"),
                embeddings,
                logits_processor,
                sample=generation_config.do_sample,
                eos=_eos(stopping_criteria),
                pad=_pad(generation_config),
            )
            if streamer is not None:
                streamer.put(step.last().cpu())
            for _ in range(longest - columns - 1):
                # A streamer has waited for the token, and must not be given pad behind the last.
                if step.has_ended() if streamer is None else bool(step.ended.all()):
                    break
                step.advance()
                if streamer is not None:
                    streamer.put(step.last().cpu())
            if streamer is not None:
                streamer.end()
            sequences = step.sequences()
        if generation_config.return_dict_in_generate:
            return GenerateDecoderOnlyOutput(sequences=sequences)
        return sequences

    return decode


@contextmanager
def _taken(model: Any, kv: str | dict[str, Any], batch: int, length: int) -> Iterator[Step]:
    """The step of a batch size, for this thread alone, on its device.

    Its memory serves later calls, too, so none of it is made in PyTorch's inference mode, outside
    of which it could not be written.
    """
    steps: _Steps = model.__dict__["_heddle_steps"]
    if steps.owner == get_ident():
        raise UsageError(
            "generate() of a compiled model is called inside generate() of the same model, by a"
            " streamer or a logits processor",
            "transformers.nested",
        )
    with steps.lock, torch.inference_mode(False), torch.no_grad():
        steps.owner = get_ident()
        try:
            step = _step(steps, model, kv, batch, length)
            with step.on_device():
                if steps.done is not None:
                    steps.done.wait()
                try:
                    yield step
                finally:
                    if step.cache.lengths.is_cuda:
                        steps.done = torch.cuda.Event()
                        steps.done.record()
        finally:
            steps.owner = None


def _step(steps: _Steps, model: Any, kv: str | dict[str, Any], batch: int, length: int) -> Step:
    decoder = decoder_of(model, kv)
    if batch in steps:
        cache = steps[batch].cache
        # The model may have been moved, or converted to another dtype.
        moved = cache.decoder is not decoder or cache.lengths.device != decoder.device
        if moved or cache.capacity < length:
            del steps[batch], cache  # its memory first
    if batch not in steps:
        capacity = -(-length // _GRAIN) * _GRAIN
        steps[batch] = Step(model, HeddleCache(model, batch, capacity, kv))
    return steps[batch]


def _check(config: Any, stopping_criteria: Any) -> None:
    mode = config.get_generation_mode()
    if mode not in {GenerationMode.GREEDY_SEARCH, GenerationMode.SAMPLE}:
        raise UnsupportedError(
            f"generate() in the mode {mode.value}; a compiled model serves greedy_search, sample",
            "transformers.mode",
        )
    for name in ("cache_implementation", "prefill_chunk_size"):
        if getattr(config, name, None) is not None:
            raise UnsupportedError(
                f"{name} is {getattr(config, name)}; a compiled model brings its own cache and"
                " reads a prompt at once",
                "transformers.cache",
            )
    if config.use_cache is False:
        raise UnsupportedError(
            "use_cache is False; a compiled model has a cache", "transformers.cache"
        )
    for criterion in stopping_criteria:
        if not isinstance(criterion, (EosTokenCriteria, MaxLengthCriteria)):
            raise UnsupportedError(
                f"{type(criterion).__name__} has to see every token on the host; a compiled model"
                " stops at eos_token_id and max_length",
                "transformers.stopping",
            )
    for name in ("output_scores", "output_logits", "output_attentions", "output_hidden_states"):
        if getattr(config, name, False):
            raise UnsupportedError(f"{name}, by a compiled model", "transformers.outputs")


def _eos(stopping_criteria: Any) -> torch.Tensor | None:
    found = [c.eos_token_id for c in stopping_criteria if isinstance(c, EosTokenCriteria)]
    return torch.cat([eos.flatten() for eos in found]) if found else None


def _pad(config: Any) -> int:
    pad = config._pad_token_tensor
    return 0 if pad is None else int(pad)
