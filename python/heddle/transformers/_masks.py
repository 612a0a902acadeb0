"""Masks and positions as a HeddleCache takes them: a prompt's padding on the left, nothing else."""

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
    counts = mask.bool().to(torch.int32)
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
    _refuse_in_capture("attention_mask", mask)
    first = columns - tokens - cache.lengths[:, None]
    visible = torch.arange(columns, device=mask.device) >= first.to(mask.device)
    if bool((mask.bool() != visible).any()):
        raise UsageError(
            "attention_mask differs from the one that the prompt had, or hides new tokens; with a"
            " HeddleCache only the prompt's padding on the left is hidden",
            "transformers.mask",
        )


def check_positions(positions: torch.Tensor | None, tokens: int, cache: HeddleCache) -> None:
    """Refuses positions of new tokens other than those that follow from the lengths.

    To be called between count_prompt() or check_mask() and the new lengths. Waits for the GPU.
    """
    if positions is None:
        return
    wanted = [[cache.batch, tokens], [1, tokens]]
    if not isinstance(positions, torch.Tensor) or list(positions.shape) not in wanted:
        found = _found(positions)
        raise UsageError(
            f"position_ids has the shape {found}; wanted: {wanted[0]}", "transformers.positions"
        )
    _refuse_in_capture("position_ids", positions)
    # A prompt's lengths count its own tokens already.
    first = cache.lengths - tokens if cache.seen == 0 else cache.lengths
    expected = first[:, None] + torch.arange(tokens, device=first.device)
    # Padding has no position.
    if bool(((positions.to(first.device) != expected) & (expected >= 0)).any()):
        raise UsageError(
            "position_ids differ from the numbers of the tokens in their sequences, without"
            " padding; with a HeddleCache they follow from attention_mask",
            "transformers.positions",
        )


def _refuse_in_capture(name: str, tensor: torch.Tensor) -> None:
    if tensor.is_cuda and torch.cuda.is_current_stream_capturing():
        raise UsageError(
            f"{name} is given while a CUDA graph is captured, where it cannot be read;"
            " allowed: None",
            "transformers.mask",
        )


def _found(tensor: Any) -> Any:
    return list(tensor.shape) if isinstance(tensor, torch.Tensor) else type(tensor).__name__


def _check_shape(mask: Any, columns: int, cache: HeddleCache) -> None:
    wanted = [cache.batch, columns]
    if not isinstance(mask, torch.Tensor) or list(mask.shape) != wanted:
        raise UsageError(
            f"attention_mask has the shape {_found(mask)}; wanted: {wanted}", "transformers.mask"
        )
