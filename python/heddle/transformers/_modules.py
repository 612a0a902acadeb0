"""Modules that take the place of a model's own linear layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from ..torch import Linear


class Pending(torch.nn.Module):
    """The place of a layer while the rest of the model is loaded: it has no tensors."""


class Fused(torch.nn.Module):
    """q, k and v as one layer, of which a model's attention asks for the parts one by one.

    The parts of the last input are kept until each was taken once.
    """

    def __init__(self, linear: Linear) -> None:
        super().__init__()
        self.linear = linear
        self._input: torch.Tensor | None = None
        self._parts: dict[int, torch.Tensor] = {}

    def forward(self, x: torch.Tensor) -> Any:
        """All parts."""
        return self.linear(x)

    def part(self, x: torch.Tensor, index: int) -> torch.Tensor:
        """One part."""
        if self._input is not x or index not in self._parts:
            self._parts = dict(enumerate(self.linear(x)))
            self._input = x
        part = self._parts.pop(index)
        if not self._parts:
            self._input = None
        return part


class Part(torch.nn.Module):
    """One of the parts of a Fused layer, under its own name."""

    def __init__(self, fused: Fused, index: int) -> None:
        super().__init__()
        # Not a submodule: the attention has it already.
        self._fused = (fused,)
        self.index = index

    @property
    def fused(self) -> Fused:
        """The layer that has it."""
        return self._fused[0]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """As the model's own linear layer."""
        return self.fused.part(x, self.index)

    def extra_repr(self) -> str:
        """What print() shows."""
        return f"part {self.index} of the fused layer"


class GatedMlp(torch.nn.Module):
    """down(activation(gate) * up), whose first kernel also does the activation and the product."""

    def __init__(self, gate_up: Linear, down: torch.nn.Module) -> None:
        super().__init__()
        self.gate_up_proj = gate_up
        self.down_proj = down

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """As the model's own MLP."""
        made: torch.Tensor = self.down_proj(self.gate_up_proj(x))
        return made
