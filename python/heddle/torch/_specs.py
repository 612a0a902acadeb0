"""Specs as the operators take them, and what they say of tensors. Needs no GPU."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch

from .. import Spec, weight_layout
from .._errors import UsageError

if TYPE_CHECKING:
    from typing import TypeAlias

SpecLike: TypeAlias = "Spec | dict[str, Any] | str"

DTYPES = {
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp32": torch.float32,
    "int8": torch.int8,
    "fp8_e4m3": torch.float8_e4m3fn,
    "fp8_e5m2": torch.float8_e5m2,
}
"""The dtypes of tensors by their names in specs."""

NAMES = {dtype: name for name, dtype in DTYPES.items()}
"""The names in specs of dtypes."""


def canonical(spec: SpecLike) -> str:
    """A spec as the operators take it: one line of JSON, with every default and no name.

    Call it outside of functions that are compiled. Raises SpecError.
    """
    return (spec if isinstance(spec, Spec) else Spec(spec)).canonical_json()


@functools.cache
def fields(spec: str, op: str) -> dict[str, Any]:
    """The fields of a spec, which is one of the operation `op`. Raises UsageError otherwise."""
    found: dict[str, Any] = Spec(spec).to_dict()
    if found["op"] != op:
        raise UsageError(
            f'the spec is of the operation "{found["op"]}"; allowed: "{op}"', "torch.operation"
        )
    return found


@functools.cache
def gemm_output(spec: str) -> tuple[int, torch.dtype]:
    """Columns and dtype of a gemm's Y. Raises UsageError where X or Y has 8 bits.

    They come with scales, for which the operator has no argument.
    """
    given = fields(spec, "gemm")
    activation = given["activation"]["dtype"]
    if activation not in {"fp16", "bf16"}:
        raise UsageError(
            f"the spec has activations of {activation}; heddle.torch takes those of 16 bits: fp16,"
            " bf16",
            "torch.activation",
        )
    n = given["shape"]["n"]
    output = given.get("output", {}).get("dtype", given["activation"]["dtype"])
    if output not in {"fp16", "bf16", "fp32"}:
        raise UsageError(
            f"the spec has an output of {output}; heddle.torch takes those of 16 and 32 bits:"
            " fp16, bf16, fp32",
            "torch.output",
        )
    return n // 2 if given["epilogue"].get("gated") else n, DTYPES[output]


@functools.cache
def most_rows(spec: str) -> int:
    """The most rows of X in one launch."""
    return int(Spec(spec).m_range[1])


@functools.cache
def row_output(spec: str) -> tuple[int, torch.dtype, str]:
    """Columns, dtype and granularity of a row_transform's Y."""
    given = fields(spec, "row_transform")
    output = given["output"]
    return given["shape"]["columns"], DTYPES[output["dtype"]], output.get("granularity", "none")


@functools.cache
def packed_bytes(spec: str) -> int:
    """Bytes of the packed weights that a spec of an operation on weights tells of."""
    return weight_layout(spec).total_bytes
