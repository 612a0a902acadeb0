"""generate() with one CUDA graph for each token."""

from __future__ import annotations

from types import MethodType
from typing import TYPE_CHECKING, Any

import torch
from transformers.generation.configuration_utils import GenerationMode
from transformers.generation.stopping_criteria import EosTokenCriteria, MaxLengthCriteria
from transformers.generation.utils import GenerateDecoderOnlyOutput

from .._errors import UnsupportedError, UsageError
from ..torch._specs import NAMES
from ._cache import HeddleCache
from ._decoder import decoder_of
from ._step import Step

if TYPE_CHECKING:
    from collections.abc import Callable

_GRAIN = 256
"""A cache has room for a multiple of so many tokens: a longer prompt seldom needs another."""


def compile(model: Any, kv: str | dict[str, Any] | None = None) -> Any:
    """generate() of the model replays one CUDA graph for each token from here on; returns it.

    The graph has everything from the embeddings to the next token, so nothing in the loop waits for
    the GPU, which tells some steps later that all sequences have ended. Greedy search and sampling
    are served, with any logits processors, which run between graphs; everything else is refused by
    name. The first generate() of a batch size captures a graph, and allocates its cache, which
    later ones use again. kv: None: that of the model's HeddleConfig, else 16 bits.

    Raises UnsupportedError where no HeddleCache serves the model.
    """
    config = getattr(model.config, "quantization_config", None)
    kv = kv or getattr(config, "kv", None) or NAMES[model.dtype]
    decoder_of(model, kv)
    model.__dict__["_heddle_steps"] = {}

    def generate(self: Any, *args: Any, **kwargs: Any) -> Any:
        # Transformers gives a streamer to its own loops alone.
        kwargs.setdefault("custom_generate", _loop(kv, kwargs.get("streamer")))
        return type(self).generate(self, *args, **kwargs)

    def prepare_no_cache(
        self: Any, generation_config: Any, model_kwargs: dict[str, Any], *_: Any
    ) -> None:
        if model_kwargs.get("past_key_values") is not None:
            raise UsageError(
                "past_key_values is given; a model that heddle.transformers.compile() has"
                " compiled brings its own cache",
                "transformers.cache",
            )

    model.generate = MethodType(generate, model)
    model._prepare_cache_for_generation = MethodType(prepare_no_cache, model)
    return model


def _loop(kv: str | dict[str, Any], streamer: Any) -> Callable[..., Any]:
    def decode(
        model: Any,
        input_ids: torch.Tensor,
        logits_processor: Any,
        stopping_criteria: Any,
        generation_config: Any,
        **model_kwargs: Any,
    ) -> Any:
        _check(generation_config, stopping_criteria)
        batch, columns = input_ids.shape
        steps = generation_config.max_length - columns
        embeddings = model_kwargs.get("inputs_embeds")
        # Its columns are no part of max_length.
        before = 0 if embeddings is None else embeddings.shape[1] - columns
        step = _step(model, kv, batch, before + generation_config.max_length)
        step.begin(
            input_ids,
            model_kwargs.get("attention_mask"),
            embeddings,
            logits_processor,
            sample=generation_config.do_sample,
            eos=_eos(stopping_criteria),
            pad=_pad(generation_config),
        )
        if streamer is not None:
            streamer.put(step.last().cpu())
        for _ in range(steps - 1):
            if step.has_ended():
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


def _step(model: Any, kv: str | dict[str, Any], batch: int, length: int) -> Step:
    steps: dict[int, Step] = model.__dict__["_heddle_steps"]
    found = steps.get(batch)
    if found is None or found.cache.capacity < length:
        steps.pop(batch, None)  # its memory first
        capacity = -(-length // _GRAIN) * _GRAIN
        steps[batch] = found = Step(model, HeddleCache(model, batch, capacity, kv))
    return found


def _check(config: Any, stopping_criteria: Any) -> None:
    mode = config.get_generation_mode()
    if mode not in {GenerationMode.GREEDY_SEARCH, GenerationMode.SAMPLE}:
        raise UnsupportedError(
            f"generate() in the mode {mode.value}; a compiled model serves greedy_search, sample",
            "transformers.mode",
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
    for criterion in stopping_criteria:
        if isinstance(criterion, EosTokenCriteria):
            eos: torch.Tensor = criterion.eos_token_id
            return eos
    return None


def _pad(config: Any) -> int:
    pad = config._pad_token_tensor
    return 0 if pad is None else int(pad)
