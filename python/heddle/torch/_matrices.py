"""The operators gemm, dequantize, repack and quantize_weight."""

from __future__ import annotations

from typing import Any

import torch

from ._kernels import launch, parts
from ._library import arguments_of, operator
from ._specs import DTYPES, fields, gemm_output, most_rows, packed_bytes


def _gemm_fake(x: torch.Tensor, weights: torch.Tensor, spec: str, *_: Any) -> torch.Tensor:
    columns, dtype = gemm_output(spec)
    return x.new_empty((x.shape[0], columns), dtype=dtype)


@operator(
    "gemm(Tensor x, Tensor weights, str spec, Tensor? bias=None, Tensor? residual=None,"
    " Tensor? pre_scale=None, Tensor? permutation=None) -> Tensor",
    _gemm_fake,
)
def _gemm(x: torch.Tensor, weights: torch.Tensor, spec: str, *rest: Any) -> torch.Tensor:
    y = _gemm_fake(x, weights, spec)
    given = arguments_of(rest, "bias", "residual", "pre_scale", "permutation")
    if given["residual"] is not None:
        given["residual"] = given["residual"].contiguous()
    x = x.contiguous()
    rows, most = x.shape[0], most_rows(spec)
    if 0 < rows <= most:
        launch(spec, x, rows, workspace=True, x=x, weights=weights, y=y, **given)
        return y
    residual = given.pop("residual")
    for begin, size in parts(rows, most):
        launch(
            spec, x, size, workspace=True, x=x.narrow(0, begin, size), weights=weights,
            y=y.narrow(0, begin, size),
            residual=None if residual is None else residual.narrow(0, begin, size), **given,
        )  # fmt: skip
    return y


def _dequantize_fake(weights: torch.Tensor, spec: str, *_: Any) -> torch.Tensor:
    given = fields(spec, "dequantize")
    shape = (given["shape"]["n"], given["shape"]["k"])
    return weights.new_empty(shape, dtype=DTYPES[given["output"]["dtype"]])


@operator(
    "dequantize(Tensor weights, str spec, Tensor? scales=None, Tensor? zeros=None,"
    " Tensor? group_index=None, Tensor? permutation=None) -> Tensor",
    _dequantize_fake,
)
def _dequantize(weights: torch.Tensor, spec: str, *rest: Any) -> torch.Tensor:
    w = _dequantize_fake(weights, spec)
    given = arguments_of(rest, "scales", "zeros", "group_index", "permutation")
    launch(spec, weights, weights=weights, w=w, **given)
    return w


def _repack_fake(weights: torch.Tensor, spec: str, *_: Any) -> torch.Tensor:
    fields(spec, "repack")
    return weights.new_empty((packed_bytes(spec),), dtype=torch.uint8)


@operator(
    "repack(Tensor weights, str spec, Tensor? scales=None, Tensor? zeros=None,"
    " Tensor? permutation=None) -> Tensor",
    _repack_fake,
)
def _repack(weights: torch.Tensor, spec: str, *rest: Any) -> torch.Tensor:
    packed = _repack_fake(weights, spec)
    given = arguments_of(rest, "scales", "zeros", "permutation")
    launch(spec, weights, weights=weights, packed=packed, **given)
    return packed


def _quantize_weight_fake(w: torch.Tensor, spec: str) -> torch.Tensor:
    fields(spec, "quantize_weight")
    return w.new_empty((packed_bytes(spec),), dtype=torch.uint8)


@operator("quantize_weight(Tensor w, str spec) -> Tensor", _quantize_weight_fake)
def _quantize_weight(w: torch.Tensor, spec: str) -> torch.Tensor:
    packed = _quantize_weight_fake(w, spec)
    launch(spec, w, w=w.contiguous(), packed=packed)
    return packed


gemm = torch.ops.heddle.gemm.default
"""Y[M, N] = X[M, K] * W[N, K]^T: gemm(x, weights, spec, bias, residual, pre_scale, permutation)."""
dequantize = torch.ops.heddle.dequantize.default
"""W[N, K]: dequantize(weights, spec, scales, zeros, group_index, permutation)."""
repack = torch.ops.heddle.repack.default
"""Packed weights [bytes]: repack(weights, spec, scales, zeros, permutation)."""
quantize_weight = torch.ops.heddle.quantize_weight.default
"""Packed weights [bytes] of w [N, K]: quantize_weight(w, spec)."""
