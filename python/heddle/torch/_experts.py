"""The operator moe: a layer of experts."""

from __future__ import annotations

from typing import Any

import torch

from ._kernels import launch, parts
from ._library import arguments_of, operator
from ._specs import DTYPES, fields, most_rows

_OF_EXPERTS = (
    "gate_up", "down", "gate_up_bias", "down_bias", "correction_bias", "expert_scales",
    "permutation",
)
_OF_TOKENS = ("ids", "weights", "residual", "logits", "shared_gates")


def _arguments(rest: tuple[Any, ...]) -> dict[str, Any]:
    return arguments_of(
        rest, "gate_up", "down", "ids", "weights", "spec", "gate_up_bias", "down_bias", "residual",
        "logits", "correction_bias", "expert_scales", "shared_gates", "permutation",
    )


def _moe_fake(x: torch.Tensor, *rest: Any) -> torch.Tensor:
    spec = fields(_arguments(rest)["spec"], "moe")
    dtype = DTYPES[spec["activation"]["dtype"]]
    return x.new_empty((x.shape[0], spec["shape"]["hidden"]), dtype=dtype)


@operator(
    "moe(Tensor x, Tensor gate_up, Tensor down, Tensor? ids, Tensor? weights, str spec,"
    " Tensor? gate_up_bias=None, Tensor? down_bias=None, Tensor? residual=None,"
    " Tensor? logits=None, Tensor? correction_bias=None, Tensor? expert_scales=None,"
    " Tensor? shared_gates=None, Tensor? permutation=None) -> Tensor",
    _moe_fake,
)
def _moe(x: torch.Tensor, *rest: Any) -> torch.Tensor:
    y = _moe_fake(x, *rest)
    given = _arguments(rest)
    spec = given["spec"]
    experts = {name: given[name] for name in _OF_EXPERTS}
    tokens = {name: given[name].contiguous() for name in _OF_TOKENS if given[name] is not None}
    tokens |= {"x": x.contiguous(), "y": y}
    rows, most = x.shape[0], most_rows(spec)
    if 0 < rows <= most:
        launch(spec, x, rows, workspace=True, **experts, **tokens)
        return y
    for begin, size in parts(rows, most):
        part = {name: each.narrow(0, begin, size) for name, each in tokens.items()}
        launch(spec, x, size, workspace=True, **experts, **part)
    return y


moe = torch.ops.heddle.moe.default
"""Y[T, hidden] of a layer of experts: moe(x, gate_up, down, ids, weights, spec, gate_up_bias,
down_bias, residual, logits, correction_bias, expert_scales, shared_gates, permutation). ids and
weights: [T, top_k], int32 and float32; None where the spec chooses by logits [T, experts].
shared_gates: [T], float32, with routing.shared_gate. permutation: [experts, hidden], int32, with
activation.act_order."""
