"""Layers of a checkpoint in the places of a model's linear layers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import torch
from transformers.utils import logging

from .. import CheckpointReader, Uploader, unpack_weights
from .._errors import UnsupportedError
from ..torch import Linear, changed, pack, prepare
from ..torch._specs import DTYPES, NAMES
from ._modules import Fused, GatedMlp, Part, Pending

if TYPE_CHECKING:
    from .. import CheckpointLayer


def opened(folder: str, *, plain: bool, lm_head: int) -> CheckpointReader:
    """The checkpoint of a folder. plain: one of 16 bits. Raises UnsupportedError by name."""
    reader = CheckpointReader(folder, gated=True, dense=plain, lm_head_bits=lm_head)
    if reader.unserved:
        lines = [f"{layer.name}: {layer.reason}" for layer in reader.unserved]
        more = f" and {len(lines) - 8} more" if len(lines) > 8 else ""
        raise UnsupportedError(
            "layers of this checkpoint have no kernel: " + "; ".join(lines[:8]) + more,
            "transformers.unserved",
        )
    return reader


def served(reader: CheckpointReader, lm_head: int) -> list[CheckpointLayer]:
    """The layers that become modules: lm_head only where its bits were asked for."""
    return [
        layer
        for layer in reader.layers
        if lm_head or not is_plain(layer) or not layer.name.endswith("lm_head")
    ]


def is_plain(layer: CheckpointLayer) -> bool:
    """Whether its weights are not quantised."""
    return bool(layer.spec.to_dict()["weight"]["bits"] == 16)


def clear(model: torch.nn.Module, layers: list[CheckpointLayer]) -> list[str]:
    """Takes the modules of layers out of a model; returns patterns of their tensors."""
    patterns = []
    for layer in layers:
        for part in layer.parts:
            parent, name = _place(model, part.name)
            parent.add_module(name, Pending())
            patterns.append("^" + re.escape(part.name + "."))
    return patterns


def fill(
    model: torch.nn.Module,
    reader: CheckpointReader,
    layers: list[CheckpointLayer],
    dtype: torch.dtype,
    weight: dict[str, Any] | None,
) -> None:
    """Packs the layers one by one, with a progress bar, and puts them into their places.

    weight: layers of 16 bits are quantised to it, on their device.
    """
    uploaders: dict[torch.device, Uploader] = {}
    activation = {"dtype": NAMES[dtype]}
    for layer in logging.tqdm(layers, desc="Packing weights", unit="layer"):
        device = _device_near(model, layer.parts[0].name)
        if weight is not None and is_plain(layer):
            made = _quantized(reader, layer, device, activation, weight)
        else:
            if device.type == "cuda" and device not in uploaders:
                with torch.cuda.device(device):
                    uploaders[device] = Uploader(torch.cuda.current_stream(device).cuda_stream)
            made = Linear.from_checkpoint(
                reader, layer, device, uploader=uploaders.get(device), activation=activation
            )
        install(model, layer, made)
    for uploader in uploaders.values():
        uploader.finish()
    prepare_modules(model)


def prepare_modules(model: torch.nn.Module) -> None:
    """Makes the kernels of a model's Heddle layers, in parallel."""
    specs: dict[int, dict[str, None]] = {}
    for module in model.modules():
        if isinstance(module, Linear) and module.weights.is_cuda:
            specs.setdefault(module.weights.device.index, {})[module.spec] = None
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


def _quantized(
    reader: CheckpointReader,
    layer: CheckpointLayer,
    device: torch.device,
    activation: dict[str, str],
    weight: dict[str, Any],
) -> Linear:
    changes: dict[str, Any] = {"activation": activation, "weight": weight}
    stored = DTYPES[layer.spec.to_dict()["weight"]["type"]]
    codes = torch.from_numpy(unpack_weights(layer.spec, reader.pack(layer)).codes)
    w = codes.view(stored).to(device).to(DTYPES[activation["dtype"]])
    weights = pack(changed(layer.spec, **changes), w)
    return Linear.from_checkpoint(reader, layer, device, weights=weights, **changes)


def _place(model: torch.nn.Module, name: str) -> tuple[torch.nn.Module, str]:
    parent, _, leaf = name.rpartition(".")
    return model.get_submodule(parent), leaf


def _device_near(model: torch.nn.Module, name: str) -> torch.device:
    """That of the closest tensor: of the same decoder layer, as a rule."""
    while name:
        name = name.rpartition(".")[0]
        for tensor in model.get_submodule(name).parameters():
            if tensor.device.type != "meta":
                return tensor.device
    raise UnsupportedError("the model has no tensor on a device", "transformers.device")
