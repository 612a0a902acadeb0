"""Operators of the namespace `heddle`: torch.ops.heddle.gemm and so on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import torch

from .._errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar("Function", bound="Callable[..., Any]")

_library = torch.library.Library("heddle", "DEF")


def operator(schema: str, fake: Callable[..., Any]) -> Callable[[Function], Function]:
    """Defines an operator whose kernel for CUDA is the decorated function.

    `fake` tells shapes and dtypes of what the operator returns, so that torch.compile and
    torch.export go through it.
    """

    name = schema[: schema.index("(")]

    def refuse(*_: object) -> None:
        raise UsageError(
            f"heddle::{name} is given tensors in host memory; allowed: those of a CUDA device",
            "torch.device",
        )

    def differentiate(keys: torch._C.DispatchKeySet, *arguments: Any) -> Any:
        """Refuses what a gradient is wanted of: none would come, and no error either.

        It runs above CUDA's kernel and the fake one, so in torch.compile, too.
        """
        if torch.is_grad_enabled() and any(
            isinstance(value, torch.Tensor) and value.requires_grad for value in arguments
        ):
            raise UsageError(
                f"heddle::{name} is given a tensor that requires gradients: Heddle's operators"
                " have none, so call them under torch.no_grad()",
                "torch.gradient",
            )
        with torch._C._AutoDispatchBelowAutograd():
            called = getattr(torch.ops.heddle, name).default
            return called.redispatch(keys & torch._C._after_autograd_keyset, *arguments)

    def define(function: Function) -> Function:
        _library.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
        _library.impl(name, function, "CUDA")
        _library.impl(name, refuse, "CPU")
        _library.impl(name, differentiate, "Autograd", with_keyset=True)
        torch.library.register_fake(f"heddle::{name}", fake, lib=_library)
        return function

    return define


def arguments_of(given: tuple[Any, ...], *names: str) -> dict[str, Any]:
    """Optional arguments by name; the dispatcher leaves out the last ones that are None."""
    return dict(zip(names, given + (None,) * (len(names) - len(given)), strict=True))
