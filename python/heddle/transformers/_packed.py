"""Layers that `heddle repack` has packed: their bytes are mapped and copied to their device."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from safetensors import safe_open

from .. import CheckpointReader, Spec, check_packed_weights
from .._errors import UnsupportedError
from ..torch import Linear, changed
from ..torch._specs import DTYPES, NAMES, fields
from ._checkpoint import Part
from ._experts import Experts, ExpertsPlace, check_packed, experts_spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .. import CheckpointExperts
    from ._names import Names

_SUFFIX = ".heddle"
_FUSED = {"qkv_proj": ("q_proj", "k_proj", "v_proj"), "gate_up_proj": ("gate_proj", "up_proj")}


@dataclass(frozen=True)
class PackedLayer:
    """One tensor of packed weights, and the modules whose place it takes."""

    name: str
    spec: Spec
    parts: tuple[Part, ...]
    file: str


class PackedSource:
    """The packed layers of .safetensors files, for a model's linear layers and experts.

    Raises UnsupportedError for a layer that the model does not have, and UsageError for bytes of
    another layout than this Heddle reads.
    """

    def __init__(
        self, model: torch.nn.Module, files: list[str], dtype: torch.dtype, names: Names
    ) -> None:
        self.activation = {"dtype": NAMES[dtype]}
        self.layers = []
        # Which layers are products of experts; one expert alone is no stack.
        known = CheckpointReader(os.path.dirname(os.path.abspath(files[0]))).experts
        of_experts = {name for experts in known for name in (experts.gate_up, experts.down)}
        products = {}
        for path in files:
            with safe_open(path, "pt") as file:
                metadata = file.metadata() or {}
            for key, text in sorted(metadata.items()):
                if not key.endswith(_SUFFIX):
                    continue
                check_packed_weights(text, text, int(metadata["heddle.layout"]))
                name = key.removesuffix(_SUFFIX)
                if Spec(text).to_dict()["activation"]["dtype"] not in {"fp16", "bf16"}:
                    raise UnsupportedError(
                        f"{path} is packed for activations of 8 bits, which Linear does not make;"
                        " pack it with heddle repack --activations 16",
                        "transformers.packed",
                    )
                if name in of_experts:
                    products[name] = PackedLayer(name, Spec(text), (), path)
                elif _is_stack(path, key):
                    raise UnsupportedError(
                        f"{name}: packed experts of no known layer", "transformers.packed"
                    )
                else:
                    place = names.of_module(name)
                    parts = _parts(model, place)
                    self.layers.append(PackedLayer(name, Spec(text), parts, path))
        self.experts = _experts(known, products, files, dtype, names)

    def make(self, layer: PackedLayer, device: torch.device) -> Linear:
        """Copies one layer."""
        spec = changed(layer.spec, activation=self.activation)
        with safe_open(layer.file, "pt", device=str(device)) as file:
            names = set(file.keys())

            def read(suffix: str) -> torch.Tensor | None:
                key = layer.name + suffix
                return file.get_tensor(key) if key in names else None

            given = layer.spec.to_dict()
            dtype = torch.float16 if self.activation["dtype"] == "fp16" else torch.bfloat16
            bias = read(".bias") if given["epilogue"]["bias"] else None
            pre_scale = read(".pre_quant_scale") if given["activation"]["pre_scale"] else None
            fused = len(layer.parts) > 1 and not given["epilogue"].get("gated")
            weights = read(_SUFFIX)
            assert weights is not None
            return Linear(
                spec,
                weights,
                bias=None if bias is None else bias.to(dtype),
                pre_scale=None if pre_scale is None else pre_scale.to(dtype),
                permutation=read(".heddle_perm"),
                split=[part.rows for part in layer.parts] if fused else None,
            )

    def make_experts(self, place: ExpertsPlace, device: torch.device) -> Experts:
        """Copies the experts of one layer."""
        made = {}
        experts = fields(place.spec, "moe")["shape"]["experts"]
        for name, layer in (("gate_up", place.gate_up), ("down", place.down)):
            with safe_open(layer.file, "pt", device=str(device)) as file:
                made[name] = file.get_tensor(layer.name + _SUFFIX).view(experts, -1)
                if layer.spec.to_dict()["epilogue"]["bias"]:
                    bias = file.get_tensor(layer.name + ".bias").view(experts, -1)
                    made[name + "_bias"] = bias.to(DTYPES[self.activation["dtype"]])
                if layer.spec.to_dict()["activation"]["act_order"]:
                    order = file.get_tensor(layer.name + ".heddle_perm")
                    made["permutation"] = order.view(experts, -1)
        return Experts(place.spec, **made)

    def finish(self) -> None:
        """Copies have ended when they return."""


def is_packed(files: list[str]) -> bool:
    """Whether `heddle repack` has written these files."""
    with safe_open(files[0], "pt") as file:
        return "heddle.layout" in (file.metadata() or {})


def _is_stack(path: str, key: str) -> bool:
    """Whether these are the weights of several experts."""
    with safe_open(path, "pt") as file:
        return len(file.get_slice(key).get_shape()) > 1


def _experts(
    known: Sequence[CheckpointExperts],
    products: dict[str, PackedLayer],
    files: list[str],
    dtype: torch.dtype,
    names: Names,
) -> list[ExpertsPlace]:
    """The layers of experts that the folder has, of which the files have the products."""
    made = []
    for experts in known:
        missing = [name for name in (experts.gate_up, experts.down) if name not in products]
        if missing:
            raise UnsupportedError(
                f"{experts.name}: {', '.join(missing)} is in none of {', '.join(files)};"
                " allowed: all files of a folder that heddle repack has written",
                "transformers.packed",
            )
        gate_up, down = products[experts.gate_up], products[experts.down]
        spec = experts_spec(experts.spec, dtype, None)
        check_packed(spec, gate_up.spec, down.spec)
        made.append(ExpertsPlace(names.of_module(experts.name), spec, gate_up, down))
    return made


def _parts(model: torch.nn.Module, name: str) -> tuple[Part, ...]:
    parent, _, leaf = name.rpartition(".")
    modules: Any = dict(model.named_modules())
    names = [name] if name in modules else [f"{parent}.{part}" for part in _FUSED.get(leaf, ())]
    missing = [each for each in names or [name] if each not in modules]
    if missing or not names:
        raise UnsupportedError(
            f"the model has no module {', '.join(missing or [name])} for the packed layer {name}",
            "transformers.packed",
        )
    return tuple(Part(each, getattr(modules[each], "out_features", 0)) for each in names)
