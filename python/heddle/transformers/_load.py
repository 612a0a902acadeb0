"""Layers of a checkpoint in the places of a model's linear layers and experts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol

import torch
from safetensors import safe_open
from transformers.utils import logging

from .._errors import UnsupportedError
from ..torch import Linear, prepare
from ._experts import Experts
from ._model import NORMS
from ._modules import Fused, GatedMlp, Part, Pending

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._experts import ExpertsPlace
    from ._names import Names


class Source(Protocol):
    """Where layers come from: a checkpoint that is packed now, or one that was."""

    @property
    def layers(self) -> Sequence[Any]:
        """Each with a name, a spec and parts: the modules whose place it takes."""

    @property
    def experts(self) -> Sequence[ExpertsPlace]:
        """Layers of experts, which are none of the others."""

    def make(self, layer: Any, device: torch.device) -> Linear:
        """One of the layers on a device."""

    def make_experts(self, place: ExpertsPlace, device: torch.device) -> Experts:
        """One of the layers of experts on a device."""

    def finish(self) -> None:
        """Waits until all are there."""


def clear(
    model: torch.nn.Module, layers: Sequence[Any], experts: Sequence[ExpertsPlace]
) -> list[str]:
    """Takes the modules of layers out of a model; returns patterns of their tensors' names."""
    patterns = []
    for place in experts:
        parent, name = _place(model, place.name)
        parent.add_module(name, Pending())
        patterns.append("^" + re.escape(place.name + "."))
    for layer in layers:
        patterns.append("^" + re.escape(layer.name + "."))
        for part in layer.parts:
            parent, name = _place(model, part.name)
            if isinstance(getattr(parent, name, None), torch.nn.Linear):
                _untie(model, part.name)
            parent.add_module(name, Pending())
            patterns.append("^" + re.escape(part.name + "."))
    return patterns


def _untie(model: Any, name: str) -> None:
    """Lets an lm_head of its own take the place of one that shares the embeddings' weights."""
    if model.all_tied_weights_keys.pop(f"{name}.weight", None) is not None:
        model.config.tie_word_embeddings = False


def tensors_of(checkpoint_files: Sequence[str]) -> list[str]:
    """The names of all tensors."""
    found = []
    for path in checkpoint_files:
        with safe_open(path, "pt") as file:
            found += file.keys()
    return found


def dtypes_to_have(
    model: Any, checkpoint_files: Sequence[str], names: Names
) -> dict[str, torch.dtype]:
    """The dtypes of a model's parameters that Transformers would load with others.

    What it renames keeps the checkpoint's dtype, and some models' norms become FP32, which kernels
    do not take.
    """
    renamed = {new for old in tensors_of(checkpoint_files) if (new := names.of_tensor(old)) != old}
    norms = {f"{name}.weight" for around in NORMS.values() for name in around}
    paths = {id(module): name for name, module in model.named_modules()}
    last = paths[id(model.base_model)] + ".norm.weight"
    fp32 = model._keep_in_fp32_modules_strict or ()
    return {
        name: parameter.dtype
        for name, parameter in model.named_parameters()
        if (name in renamed and not any(part in name for part in fp32))
        or ".".join(name.split(".")[-2:]) in norms
        or name == last
    }


def restore_dtypes(model: torch.nn.Module, dtypes: dict[str, torch.dtype]) -> None:
    """Converts what was loaded otherwise."""
    for name, parameter in model.named_parameters():
        wanted = dtypes.get(name, parameter.dtype)
        if parameter.dtype != wanted:
            parameter.data = parameter.data.to(wanted)


def refuse_missing(
    model: Any, layers: Sequence[Any], checkpoint_files: Sequence[str], names: Names
) -> None:
    """Refuses a checkpoint that lacks tensors of the decoder, or its lm_head.

    Transformers would give them random weights and a line in its log. Where the embeddings are not
    found only linear layers are looked for, at the places where other decoder layers have theirs.
    """
    there = {key for name in tensors_of(checkpoint_files) for key in (name, names.of_tensor(name))}
    paths = {id(module): name for name, module in model.named_modules()}
    as_they_are = f"{paths[id(model.get_input_embeddings())]}.weight" in there
    of_model = (paths[id(model.base_model)] + ".", "lm_head.")
    places = {_without_numbers(part.name) for layer in layers for part in layer.parts}
    ignored = [*model.all_tied_weights_keys, *(model._keys_to_ignore_on_load_missing or ())]
    missing = [
        name
        for name, _ in model.named_parameters()
        if name not in there
        and not any(re.search(pattern, name) for pattern in ignored)
        and (
            (as_they_are and name.startswith(of_model))
            or _without_numbers(name.removesuffix(".weight")) in places
        )
    ]
    if missing:
        more = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
        raise UnsupportedError(
            f"the checkpoint does not have {', '.join(missing[:8])}{more}", "transformers.missing"
        )


def _without_numbers(name: str) -> str:
    return re.sub(r"\.\d+\.", ".*.", name)


def fill(model: torch.nn.Module, source: Source) -> None:
    """Makes the layers one by one, with a progress bar, and puts them into their places."""
    for layer in logging.tqdm(source.layers, desc="Packing weights", unit="layer"):
        install(model, layer, source.make(layer, _device_near(model, layer.parts[0].name)))
    experts = source.experts
    for place in logging.tqdm(experts, desc="Packing experts", unit="layer", disable=not experts):
        parent, name = _place(model, place.name)
        parent.add_module(name, source.make_experts(place, _device_near(model, place.name)))
    source.finish()
    prepare_modules(model)


def prepare_modules(model: torch.nn.Module) -> None:
    """Makes the kernels of a model's Heddle layers, in parallel."""
    specs: dict[int, dict[str, None]] = {}
    for module in model.modules():
        if isinstance(module, Linear | Experts):
            weights = module.weights if isinstance(module, Linear) else module.down
            if weights.is_cuda:
                specs.setdefault(weights.device.index, {})[module.spec] = None
    for device, lines in specs.items():
        prepare(lines, device)
        # Kernels may read weights before what was enqueued ahead of them has ended.
        torch.cuda.synchronize(device)


def install(model: torch.nn.Module, layer: Any, made: Linear) -> None:
    """One layer into its place: alone, as the parts of a fused one, or as a whole MLP."""
    parent, name = _place(model, layer.parts[0].name)
    if layer.spec.to_dict()["epilogue"].get("gated"):
        above, name = _place(model, layer.parts[0].name.rpartition(".")[0])
        above.add_module(name, GatedMlp(made, parent.down_proj))
    elif made.split is None:
        parent.add_module(name, made)
    else:
        fused = Fused(made)
        parent.add_module(layer.name.rpartition(".")[2], fused)
        for index, part in enumerate(layer.parts):
            parent, name = _place(model, part.name)
            parent.add_module(name, Part(fused, index))


def _place(model: torch.nn.Module, name: str) -> tuple[torch.nn.Module, str]:
    parent, _, leaf = name.rpartition(".")
    try:
        return model.get_submodule(parent), leaf
    except AttributeError as error:
        raise UnsupportedError(
            f"the checkpoint has the layer {name}, and {type(model).__name__} no module {parent};"
            " load the class that wrote the checkpoint, such as AutoModelForCausalLM",
            "transformers.model",
        ) from error


def _device_near(model: torch.nn.Module, name: str) -> torch.device:
    """That of the closest tensor: of the same decoder layer, as a rule."""
    while name:
        name = name.rpartition(".")[0]
        for tensor in model.get_submodule(name).parameters():
            if tensor.device.type != "meta":
                return tensor.device
    raise UnsupportedError("the model has no tensor on a device", "transformers.device")
