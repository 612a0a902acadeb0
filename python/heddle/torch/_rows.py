"""The operators on rows: row_transform, and row_quantize for a Y of 8 bits."""

from __future__ import annotations

from typing import Any

import torch

from .._errors import UsageError
from ._kernels import launch
from ._library import arguments_of, operator
from ._specs import fields, row_output

_GROUP = 128
"""Columns that share a scale with granularity group."""


def _row_transform_fake(x: torch.Tensor, spec: str, *_: Any) -> torch.Tensor:
    columns, dtype, granularity = row_output(spec)
    if granularity != "none":
        raise UsageError(
            "the spec makes 8 bits, whose scales heddle.torch.row_quantize returns, too",
            "torch.operation",
        )
    return x.new_empty((x.shape[0], columns), dtype=dtype)


@operator(
    "row_transform(Tensor x, str spec, Tensor(a!)? residual=None, Tensor? weight=None,"
    " Tensor? bias=None) -> Tensor",
    _row_transform_fake,
)
def _row_transform(x: torch.Tensor, spec: str, *rest: Any) -> torch.Tensor:
    y = _row_transform_fake(x, spec)
    launch(spec, x, x=x, y=y, **arguments_of(rest, "residual", "weight", "bias"))
    return y


def _row_quantize_fake(x: torch.Tensor, spec: str, *_: Any) -> list[torch.Tensor]:
    columns, dtype, granularity = row_output(spec)
    rows = x.shape[0]
    made = [x.new_empty((rows, columns), dtype=dtype)]
    output = fields(spec, "row_transform")["output"]
    if granularity == "token":
        made.append(x.new_empty((rows,), dtype=torch.float32))
        if not output.get("symmetric", True):
            made.append(x.new_empty((rows,), dtype=torch.int32))
    elif granularity == "group":
        made.append(_group_scales(x, output, -(-columns // _GROUP)))
    elif granularity == "none":
        raise UsageError("the spec makes 16 bits: heddle.torch.row_transform", "torch.operation")
    return made


def _group_scales(x: torch.Tensor, output: dict[str, str], groups: int) -> torch.Tensor:
    rows = x.shape[0]
    powers = output.get("scale_dtype") == "e8m0"
    if output.get("scale_layout") != "column_major":
        dtype = torch.float8_e8m0fnu if powers else torch.float32
        return x.new_empty((rows, groups), dtype=dtype)
    stride = (rows + 3) // 4 * 4
    if powers:
        return x.new_empty(((groups + 3) // 4, stride), dtype=torch.int32)
    return x.new_empty((groups, stride), dtype=torch.float32)


@operator(
    "row_quantize(Tensor x, str spec, Tensor(a!)? residual=None, Tensor? weight=None,"
    " Tensor? bias=None, Tensor? pre_scale=None, Tensor? tensor_scale=None) -> Tensor[]",
    _row_quantize_fake,
)
def _row_quantize(x: torch.Tensor, spec: str, *rest: Any) -> list[torch.Tensor]:
    made = _row_quantize_fake(x, spec)
    y, scales, zero_points = (*map(_bits, made), None, None)[:3]
    given = arguments_of(rest, "residual", "weight", "bias", "pre_scale", "tensor_scale")
    launch(spec, x, x=x, y=y, scales=scales, zero_points=zero_points, **given)
    return made


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.view(torch.uint8) if tensor.dtype.itemsize == 1 else tensor


row_transform = torch.ops.heddle.row_transform.default
"""Y[M, columns] of 16 bits: row_transform(x, spec, residual, weight, bias). The residual is read
and replaced by X + residual."""
row_quantize = torch.ops.heddle.row_quantize.default
"""Y of 8 bits, then its scales and zero points as far as the spec has them:
row_quantize(x, spec, residual, weight, bias, pre_scale, tensor_scale)."""
