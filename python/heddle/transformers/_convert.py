"""A model in memory with its linear layers quantised where they are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from .. import Model
from .._errors import UnsupportedError
from ..torch import Linear, changed, pack
from ..torch._specs import NAMES
from ._load import install, prepare_modules
from ._model import config_of


def convert(
    model: Any, weights: dict[str, dict[str, Any]] | dict[str, Any], lm_head: int = 0
) -> Any:
    """Puts Heddle's layers in the places of the linear layers of every decoder layer; returns it.

    weights: a `weight` of a gemm's spec for each fused layer ("qkv_proj", "gate_up_proj" ...), or
    one for all. Weights are rounded to the nearest codes, one layer at a time. lm_head: 8 or 4
    bits for lm_head; 0: it stays.
    """
    described = Model.from_config(
        config_of(model), plain_too=True, gated=True, dense=True, lm_head_bits=lm_head,
        activation_bits=16
    )
    base = model.base_model_prefix
    for layer in described.layers:
        if layer.name == "lm_head" and not lm_head:
            continue
        if layer.kernel < 0 or layer.kind != "linear":
            reason = layer.reason or f"it is {layer.kind}; linear layers are converted"
            raise UnsupportedError(f"{layer.name}: {reason}", "transformers.unserved")
        weight = weights.get(layer.name, weights) if _is_by_name(weights) else weights
        spec = described.kernels[layer.kernel].spec
        if layer.name == "lm_head":
            _replace(model, layer, spec, ["lm_head"], spec.to_dict()["weight"])
        for index in layer.layers:
            paths = [f"{base}.layers.{index}.{part.path}" for part in layer.parts]
            _replace(model, layer, spec, paths, weight)
    prepare_modules(model)
    return model


def _is_by_name(weights: dict[str, Any]) -> bool:
    return all(isinstance(value, dict) for value in weights.values())


@torch.no_grad()
def _replace(model: Any, layer: Any, spec: Any, paths: list[str], weight: dict[str, Any]) -> None:
    modules = [model.get_submodule(path) for path in paths]
    w = torch.cat([module.weight for module in modules])
    biases = [module.bias for module in modules if module.bias is not None]
    line = changed(spec, weight=weight, activation={"dtype": NAMES[w.dtype]})
    split = [len(module.weight) for module in modules]
    fused = len(split) > 1 and not spec.to_dict()["epilogue"].get("gated")
    made = Linear(
        line,
        pack(line, w),
        bias=torch.cat(biases) if biases else None,
        split=split if fused else None,
    )
    parts = [SimpleNamespace(name=path) for path in paths]
    name = ".".join([*paths[0].split(".")[:-1], layer.name])
    install(model, SimpleNamespace(name=name, spec=spec, parts=parts), made)
