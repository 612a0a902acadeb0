"""Layers of experts in the places of a model's own: `experts` of Mixtral, Qwen 3 MoE, gpt-oss ...

Transformers calls experts with the router's choice, so routers and shared experts stay its own
modules. Where a HeddleCache's decoder knows a router, its logits alone are computed by PyTorch, and
the kernel of the experts chooses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from .. import check_packed_weights, layout_version, moe_gemms, weight_layout
from .._errors import UnsupportedError
from ..torch import canonical, changed, moe
from ..torch._checks import check_tensor
from ..torch._specs import DTYPES, NAMES, fields
from ._modules import watchers

if TYPE_CHECKING:
    from collections.abc import Sequence


class ExpertsPlace(NamedTuple):
    """The experts of a decoder layer, and the module whose place they take."""

    name: str
    """Of the module."""
    spec: str
    """A moe whose launches take ids and weights."""
    gate_up: Any
    """The source's layer of the first product."""
    down: Any
    """Of the second."""


class Experts(torch.nn.Module):
    """Experts on packed weights, called as Transformers calls its own.

    spec: a moe without routing. gate_up, down: [experts, bytes] uint8. Where the spec has them:
    biases [experts, N] of activation.dtype, and permutation [experts, hidden] int32.
    """

    gate_up: torch.Tensor
    down: torch.Tensor
    gate_up_bias: torch.Tensor | None
    down_bias: torch.Tensor | None
    permutation: torch.Tensor | None

    def __init__(
        self,
        spec: str,
        gate_up: torch.Tensor,
        down: torch.Tensor,
        gate_up_bias: torch.Tensor | None = None,
        down_bias: torch.Tensor | None = None,
        permutation: torch.Tensor | None = None,
    ) -> None:
        super().__init__()
        self.spec = canonical(spec)
        given = fields(self.spec, "moe")
        self.hidden: int = given["shape"]["hidden"]
        self.top_k: int = given["shape"]["top_k"]
        self.num_experts: int = given["shape"]["experts"]
        dtype = DTYPES[given["activation"]["dtype"]]
        for name, gemm, packed, bias in zip(
            ("gate_up", "down"), moe_gemms(self.spec), (gate_up, down), (gate_up_bias, down_bias),
            strict=True,
        ):  # fmt: skip
            shape = [self.num_experts, weight_layout(gemm).total_bytes]
            check_tensor(name, packed, torch.uint8, shape)
            self.register_buffer(name, packed)
            if bias is not None or given["epilogue"]["bias"]:
                rows = [self.num_experts, gemm.to_dict()["shape"]["n"]]
                check_tensor(name + "_bias", bias, dtype, rows)
            self.register_buffer(name + "_bias", bias)
        if permutation is not None or given["activation"].get("act_order"):
            check_tensor("permutation", permutation, torch.int32, [self.num_experts, self.hidden])
        self.register_buffer("permutation", permutation)

    def forward(
        self, hidden_states: torch.Tensor, top_k_index: torch.Tensor, top_k_weights: torch.Tensor
    ) -> torch.Tensor:
        """hidden_states: [..., hidden]; index and weights: [tokens, top_k]."""
        made: torch.Tensor = moe(
            hidden_states.reshape(-1, self.hidden), self.gate_up, self.down,
            top_k_index.to(torch.int32), top_k_weights.float(), self.spec, self.gate_up_bias,
            self.down_bias, permutation=self.permutation,
        )  # fmt: skip
        return made.view(hidden_states.shape)

    def route(self, x: torch.Tensor, logits: torch.Tensor, spec: str) -> torch.Tensor:
        """x: [tokens, hidden]; the kernel chooses by logits [tokens, experts].

        spec: what routed_spec() tells.
        """
        made: torch.Tensor = moe(
            x, self.gate_up, self.down, None, None, spec, self.gate_up_bias, self.down_bias, None,
            logits, permutation=self.permutation,
        )  # fmt: skip
        return made

    def extra_repr(self) -> str:
        """What print() shows."""
        bits = fields(self.spec, "moe")["weight"]["gate_up"]["bits"]
        return f"{self.num_experts} of which {self.top_k} are taken, {self.hidden}, {bits} bits"


_BLOCKS = {
    "MixtralSparseMoeBlock": ("gate", "MixtralTopKRouter"),
    "Qwen3MoeSparseMoeBlock": ("gate", "Qwen3MoeTopKRouter"),
    "GptOssMLP": ("router", "GptOssTopKRouter"),
}
"""Blocks that do nothing but give tokens to the experts that a router chooses by a softmax."""

_routed: dict[tuple[str, bool, torch.dtype], str] = {}


def routed_spec(block: Any) -> tuple[Any, str] | None:
    """A block's router and the spec of its experts' kernel, where that can choose in its place.

    None: the block's own forward() has to run, also because one of its modules was replaced, has
    another forward(), or a hook, which has to see calls.
    """
    name, kind = _BLOCKS.get(type(block).__name__, ("", ""))
    router: Any = getattr(block, name, None)
    experts: Any = getattr(block, "experts", None)
    if type(router).__name__ != kind or not isinstance(experts, Experts):
        return None
    for module in (block, router, experts):
        if watchers(module):
            return None
    if router.top_k != experts.top_k:
        return None
    # Only Qwen's has a choice.
    key = (experts.spec, bool(getattr(router, "norm_topk_prob", True)), router.weight.dtype)
    if key not in _routed:
        routing = {"scores": "softmax", "renormalize": key[1], "logits_dtype": NAMES[key[2]]}
        _routed[key] = changed(experts.spec, routing=routing)
    return router, _routed[key]


def feed(block: Any, x: torch.Tensor) -> torch.Tensor:
    """An MLP's or a block's output for x [tokens, width]."""
    found = routed_spec(block)
    if found is not None:
        router, spec = found
        logits = torch.nn.functional.linear(x, router.weight, getattr(router, "bias", None))
        routed: torch.Tensor = block.experts.route(x, logits, spec)
        return routed
    made = block(x[None])
    # gpt-oss also returns the weights of its choice.
    y: torch.Tensor = made[0] if isinstance(made, tuple) else made
    return y.reshape(x.shape)  # blocks may return [tokens, width] as well as [1, tokens, width]


def experts_spec(spec: Any, dtype: torch.dtype, weight: dict[str, Any] | None) -> str:
    """A checkpoint's moe with the model's dtype, and another weight where there is one.

    What shared experts make is added by the model.
    """
    changes: dict[str, Any] = {"activation": {"dtype": NAMES[dtype]}}
    if weight is not None:
        changes["weight"] = {"gate_up": weight, "down": weight}
    return changed(spec, epilogue={"residual": False}, **changes)


def check_packed(spec: str, gate_up: Any, down: Any) -> None:
    """Whether bytes packed for two gemms are what a moe reads. Raises UsageError."""
    for gemm, packed in zip(moe_gemms(spec), (gate_up, down), strict=True):
        check_packed_weights(gemm, packed, layout_version(packed))


def check_experts(
    model: torch.nn.Module, layers: Sequence[Any], places: Sequence[ExpertsPlace]
) -> None:
    """Refuses experts of a model that Heddle's cannot stand for, before anything is read."""
    modules = dict(model.named_modules())
    blocks = {place.name.rpartition(".")[0] for place in places}
    for part in (part for layer in layers for part in layer.parts):
        module = modules.get(part.name)
        beside = part.name.rpartition(".")[0] in blocks
        if beside and module is not None and not isinstance(module, torch.nn.Linear):
            raise UnsupportedError(
                f"{part.name}: this {type(module).__name__} is quantised or packed; allowed: plain"
                " routers of 16 bits",
                "transformers.experts",
            )
    known = {place.name for place in places}
    for name, module in modules.items():
        if name.rpartition(".")[2] == "experts" and name not in known:
            raise UnsupportedError(
                f"{name}: of the checkpoint Heddle has no layer of experts for this"
                f" {type(module).__name__}; `heddle build FOLDER --list` tells what it has",
                "transformers.experts",
            )
    for place in places:
        if place.name not in modules:
            raise UnsupportedError(
                f"the checkpoint has experts at {place.name}, and {type(model).__name__} none",
                "transformers.experts",
            )
        _check(modules[place.name], place)


def _check(module: Any, place: ExpertsPlace) -> None:
    """Compares shapes, biases and activation with what the spec says of them."""
    where = f"{place.name}, a {type(module).__name__}"
    # What Transformers gives to experts that are called with a choice of theirs.
    if not hasattr(module, "has_bias") or not hasattr(module, "is_transposed"):
        raise UnsupportedError(
            f"{where}: Transformers calls them without ids and weights; allowed: experts that it"
            " calls as those of Mixtral, Qwen 3 MoE and gpt-oss",
            "transformers.experts",
        )
    given = fields(place.spec, "moe")
    shape, epilogue = given["shape"], given["epilogue"]
    gated = bool(epilogue.get("gated"))
    first = getattr(module, "gate_up_proj" if gated else "up_proj", None)
    size = [shape["experts"], shape["intermediate"] * (2 if gated else 1), shape["hidden"]]
    if module.is_transposed:
        size[1:] = size[:0:-1]
    for what, found, wanted in (
        ("gates", bool(getattr(module, "has_gate", True)), gated),
        ("first matrices", None if first is None else list(first.shape), size),
        # A checkpoint's biases of zeros are none.
        ("biases", bool(module.has_bias), bool(module.has_bias) or epilogue["bias"]),
        ("routing weights that multiply", "output", given["routing"]["weight"]),
    ):
        if found != wanted:
            raise UnsupportedError(
                f"{where}: it has {what} {found}, and the checkpoint was read as {wanted}",
                "transformers.experts",
            )
    _check_activation(where, module, epilogue, gated=gated)


def _check_activation(where: str, module: Any, epilogue: dict[str, Any], *, gated: bool) -> None:
    values = torch.tensor([-9.0, -7.5, -2, -0.5, 0, 0.25, 1, 3, 6.5, 8], device="cpu")
    gate, up = (t.flatten() for t in torch.meshgrid(values, values, indexing="ij"))
    with torch.no_grad():
        if gated:
            # Two columns: gates and ups, whether those of a layer are interleaved or not.
            found = module._apply_gate(torch.stack([gate, up], 1))[:, 0]
        else:
            found = module.act_fn(gate)
    if limit := epilogue.get("limit", 0):
        gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
    wanted = _activate(epilogue["activation"], gate)
    if epilogue["activation"] == "clamped_swiglu":
        up = up + 1
    wanted = wanted * up if gated else wanted
    if not torch.allclose(found.cpu(), wanted, rtol=1e-3, atol=1e-4):
        raise UnsupportedError(
            f"{where}: its activation is not {epilogue['activation']}, as the checkpoint's config"
            " was read",
            "transformers.experts",
        )


def _activate(name: str, x: torch.Tensor) -> torch.Tensor:
    functional = torch.nn.functional
    if name == "clamped_swiglu":
        return x * torch.sigmoid(1.702 * x)
    made: torch.Tensor = {
        "none": lambda: x,
        "relu": lambda: torch.relu(x),
        "relu2": lambda: torch.relu(x).square(),
        "gelu": lambda: functional.gelu(x),
        "gelu_tanh": lambda: functional.gelu(x, approximate="tanh"),
        "silu": lambda: functional.silu(x),
    }[name]()
    return made
