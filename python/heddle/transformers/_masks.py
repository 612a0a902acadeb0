"""Attention masks as a HeddleCache takes them: a prompt's padding on the left, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from .._errors import UsageError

if TYPE_CHECKING:
    from ._cache import HeddleCache


def count_prompt(mask: torch.Tensor | None, tokens: int, cache: HeddleCache) -> bool:
    """Lengths of the sequences of a prompt. Returns whether it is padded, on the left alone."""
    if mask is None:
        cache.lengths.fill_(tokens)
        return False
    _check_shape(mask, tokens, cache)
    counts = mask.to(torch.int32)
    if bool((counts[:, 1:] < counts[:, :-1]).any()) or not bool(counts[:, -1].all()):
        raise UsageError(
            "attention_mask hides tokens behind visible ones; with a HeddleCache prompts are"
            " padded on the left",
            "transformers.mask",
        )
    cache.lengths.copy_(counts.sum(-1))
    return not bool(counts[:, 0].all())


def check_mask(mask: torch.Tensor | None, tokens: int, cache: HeddleCache) -> None:
    """Refuses a mask behind the prompt that hides anything but the prompt's padding.

    Waits for the GPU, so a capture has to leave the mask out.
    """
    if mask is None:
        return
    columns = cache.seen + tokens
    _check_shape(mask, columns, cache)
    if mask.is_cuda and torch.cuda.is_current_stream_capturing():
        raise UsageError(
            "attention_mask is given while a CUDA graph is captured, where it cannot be read;"
            " allowed: None",
            "transformers.mask",
        )
    first = columns - tokens - cache.lengths[:, None]
    visible = torch.arange(columns, device=mask.device) >= first.to(mask.device)
    if bool((mask.bool() != visible).any()):
        raise UsageError(
            "attention_mask differs from the one that the prompt had, or hides new tokens; with a"
            " HeddleCache only the prompt's padding on the left is hidden",
            "transformers.mask",
        )


def _check_shape(mask: Any, columns: int, cache: HeddleCache) -> None:
    wanted = [cache.batch, columns]
    if not isinstance(mask, torch.Tensor) or list(mask.shape) != wanted:
        found = list(mask.shape) if isinstance(mask, torch.Tensor) else type(mask).__name__
        raise UsageError(
            f"attention_mask has the shape {found}; wanted: {wanted}", "transformers.mask"
        )
