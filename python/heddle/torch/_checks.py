"""Checks of the tensors that a layer is made of. Raise UsageError."""

from __future__ import annotations

from typing import Any

import torch

from .._errors import UsageError
from ._specs import NAMES

NAMES_OF_16 = {name: dtype for dtype, name in NAMES.items() if dtype.itemsize == 2}


def check_tensor(name: str, tensor: Any, dtype: torch.dtype, shape: list[int]) -> None:
    """A tensor of exactly this dtype and shape."""
    found = type(tensor).__name__
    if isinstance(tensor, torch.Tensor):
        if tensor.dtype == dtype and list(tensor.shape) == shape:
            return
        found = f"of the dtype {tensor.dtype} and the shape {list(tensor.shape)}"
    raise UsageError(f"{name} is {found}; wanted: a tensor of {dtype}, {shape}", "torch." + name)


def check_parts(parts: list[Any], pair: bool) -> None:
    """Matrices of 16 bits with the same columns; pair: gate and up of the same size."""
    for part in parts:
        found = type(part).__name__
        if isinstance(part, torch.Tensor):
            found = f"of the dtype {part.dtype} and the shape {list(part.shape)}"
            if NAMES.get(part.dtype) in NAMES_OF_16 and part.dim() == 2:
                continue
        raise UsageError(
            f"w is {found}; allowed: [N, K] of {', '.join(NAMES_OF_16)}", "torch.weights"
        )
    kinds = {(part.dtype, part.shape[1]) for part in parts}
    if len(kinds) != 1:
        raise UsageError("the parts of w differ in dtype or columns, or are none", "torch.weights")
    if pair and [len(part) for part in parts] != [len(parts[0])] * 2:
        raise UsageError(
            f"w has parts of {[len(part) for part in parts]} rows; a gated layer has two of the"
            " same size: gate and up",
            "torch.weights",
        )
