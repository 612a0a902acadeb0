"""Layers that `heddle repack` has packed: their bytes are mapped and copied to their device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from safetensors import safe_open

from .. import Spec, check_packed_weights
from .._errors import UnsupportedError
from ..torch import Linear, changed
from ..torch._specs import NAMES

_SUFFIX = ".heddle"
_FUSED = {"qkv_proj": ("q_proj", "k_proj", "v_proj"), "gate_up_proj": ("gate_proj", "up_proj")}


@dataclass(frozen=True)
class Part:
    """A module whose rows a layer has."""

    name: str
    rows: int


@dataclass(frozen=True)
class PackedLayer:
    """One tensor of packed weights, and the modules whose place it takes."""

    name: str
    spec: Spec
    parts: tuple[Part, ...]
    file: str


class PackedSource:
    """The packed layers of .safetensors files, in the places of a model's linear layers.

    Raises UnsupportedError for a layer that the model does not have, and UsageError for bytes of
    another layout than this Heddle reads.
    """

    def __init__(self, model: torch.nn.Module, files: list[str], dtype: torch.dtype) -> None:
        self.activation = {"dtype": NAMES[dtype]}
        self.layers = []
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
                self.layers.append(PackedLayer(name, Spec(text), _parts(model, name), path))

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

    def finish(self) -> None:
        """Copies have ended when they return."""


def is_packed(files: list[str]) -> bool:
    """Whether `heddle repack` has written these files."""
    with safe_open(files[0], "pt") as file:
        return "heddle.layout" in (file.metadata() or {})


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
