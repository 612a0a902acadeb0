"""Modules that take the place of a model's own linear layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..torch import Linear


def hooks_of(module: torch.nn.Module) -> list[Any]:
    """Who watches a module's calls.

    Hooks that Transformers leaves behind, once it has returned hidden states or logits of routers,
    do nothing.
    """
    hooks = (*module._forward_hooks.values(), *module._forward_pre_hooks.values())
    return [
        hook
        for hook in hooks
        if not str(getattr(hook, "__module__", "")).startswith("transformers.")
    ]


def watchers(module: torch.nn.Module) -> list[Any]:
    """Its hooks, and a forward() that it was given in the place of its class's."""
    own = vars(module).get("forward")
    return hooks_of(module) + ([] if own is None else [own])


class Pending(torch.nn.Module):
    """The place of a layer while the rest of the model is loaded: it has no tensors."""


class Fused(torch.nn.Module):
    """q, k and v as one layer, of which a model's attention asks for the parts one by one.

    The parts of the last input are kept until each was taken once. Any thread may ask: it takes
    parts of its own input alone.
    """

    def __init__(self, linear: Linear) -> None:
        super().__init__()
        self.linear = linear
        self._held: tuple[torch.Tensor, dict[int, torch.Tensor]] | None = None

    def forward(self, x: torch.Tensor) -> Any:
        """All parts."""
        return self.linear(x)

    def part(self, x: torch.Tensor, index: int) -> torch.Tensor:
        """One part."""
        held = self._held
        # Input and parts are read together, because another thread may put its own there.
        part = held[1].pop(index, None) if held is not None and held[0] is x else None
        if part is None:
            held = (x, dict(enumerate(self.linear(x))))
            part = held[1].pop(index)
            self._held = held
        elif held is not None and not held[1] and self._held is held:
            self._held = None
        return part

    def has(self, modules: Sequence[Any]) -> bool:
        """Whether these are all of its parts, and nobody watches or replaces what one does."""
        return all(
            isinstance(module, Part)
            and module.fused is self
            and module.index == index
            and not watchers(module)
            for index, module in enumerate(modules)
        )


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
