"""Layers that are packed while a checkpoint is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from .. import CheckpointReader, Uploader, moe_gemms, unpack_weights
from .._errors import UnsupportedError
from ..torch import Linear, canonical, changed, pack, tensor_of
from ..torch._specs import DTYPES, NAMES, packed_bytes
from ._experts import Experts, ExpertsPlace, check_packed, experts_spec

if TYPE_CHECKING:
    from .. import CheckpointLayer, Spec
    from ._names import Names


class Part(NamedTuple):
    """A module whose rows a layer has."""

    name: str
    rows: int


class LayerPlace(NamedTuple):
    """A linear layer of the checkpoint, and the modules whose place it takes."""

    name: str
    spec: Spec
    parts: tuple[Part, ...]
    layer: CheckpointLayer


class CheckpointSource:
    """The linear layers and experts of a checkpoint's folder. Raises UnsupportedError by name.

    weight: of 16-bit layers, which are quantised on their device; None: the checkpoint is
    quantised. lm_head: its bits, 0: it is no layer. names: what the model calls its modules; None:
    as the checkpoint does. Routers of 16 bits are left to Transformers, with all beside experts.
    """

    def __init__(
        self,
        folder: str,
        dtype: torch.dtype,
        weight: dict[str, Any] | None,
        lm_head: int,
        names: Names | None = None,
    ) -> None:
        self.reader = CheckpointReader(
            folder,
            gated=True,
            dense=weight is not None,
            lm_head_bits=lm_head,
            activation_bits=16,
        )
        self.activation = {"dtype": NAMES[dtype]}
        self.weight = weight
        self._uploaders: dict[torch.device, Uploader] = {}
        self._of_experts = {
            name for experts in self.reader.experts for name in (experts.gate_up, experts.down)
        }
        self._blocks = {experts.name.rpartition(".")[0] for experts in self.reader.experts}
        self._refuse_what_is_not_served()

        def name_of(name: str) -> str:
            return name if names is None else names.of_module(name)

        self.layers = [
            LayerPlace(
                name_of(layer.name),
                layer.spec,
                tuple(Part(name_of(part.name), part.rows) for part in layer.parts),
                layer,
            )
            for layer in self.reader.layers
            if layer.name not in self._of_experts and not self._is_left(layer, lm_head)
        ]
        self.experts = []
        for experts in self.reader.experts:
            spec = experts_spec(experts.spec, dtype, weight)
            gate_up, down = (self.reader.layer(n) for n in (experts.gate_up, experts.down))
            if weight is None:
                check_packed(spec, gate_up.spec, down.spec)
            self.experts.append(ExpertsPlace(name_of(experts.name), spec, gate_up, down))

    def _refuse_what_is_not_served(self) -> None:
        unserved = [
            f"{layer.name}: {layer.reason}"
            for layer in self.reader.unserved
            if not (
                self._is_beside_experts(layer.name)
                and all(self.reader.tensor(name).type in _PLAIN for name in layer.tensors)
            )
        ]
        unserved += [
            f"{layer.name}: these are {layer.matrices} matrices of no known layer of experts"
            for layer in self.reader.layers
            if layer.matrices != 1 and layer.name not in self._of_experts
        ]
        if unserved:
            more = f" and {len(unserved) - 8} more" if len(unserved) > 8 else ""
            raise UnsupportedError(
                "layers of this checkpoint have no kernel: " + "; ".join(unserved[:8]) + more,
                "transformers.unserved",
            )

    def _is_left(self, layer: CheckpointLayer, lm_head: int) -> bool:
        """Whether Transformers loads it: a router, a shared expert's gate, lm_head."""
        if not _is_plain(layer):
            return False
        return self._is_beside_experts(layer.name) or (
            not lm_head and layer.name.endswith("lm_head")
        )

    def _is_beside_experts(self, name: str) -> bool:
        """Whether it is in no module of its own of a block, or in a router, as Gemma 4's is."""
        parent = name.rpartition(".")[0]
        block, _, module = parent.rpartition(".")
        return parent in self._blocks or (block in self._blocks and module in _ROUTERS)

    def make(self, place: LayerPlace, device: torch.device) -> Linear:
        """Packs one layer; a plain one is quantised first."""
        layer = place.layer
        if self.weight is not None and _is_plain(layer):
            return self._quantized(layer, device)
        return Linear.from_checkpoint(
            self.reader,
            layer,
            device,
            uploader=self._uploader(device),
            activation=self.activation,
        )

    def make_experts(self, place: ExpertsPlace, device: torch.device) -> Experts:
        """Packs the experts of one layer, or quantises them one after the other."""
        made = {}
        for name, layer, gemm in zip(
            ("gate_up", "down"), (place.gate_up, place.down), moe_gemms(place.spec), strict=True
        ):
            if self.weight is not None:
                made[name] = self._quantized_experts(layer, canonical(gemm), device)
            else:
                made[name] = self._packed(layer, device).view(layer.packed.shape)
            if layer.bias is not None:
                bias = tensor_of(self.reader, layer.bias).to(DTYPES[self.activation["dtype"]])
                made[name + "_bias"] = bias.to(device)
        if place.gate_up.permutation is not None:
            made["permutation"] = tensor_of(self.reader, place.gate_up.permutation).to(device)
        return Experts(place.spec, **made)

    def _uploader(self, device: torch.device) -> Uploader | None:
        if device.type == "cuda" and device not in self._uploaders:
            with torch.cuda.device(device):
                stream = torch.cuda.current_stream(device).cuda_stream
                self._uploaders[device] = Uploader(stream)
        return self._uploaders.get(device)

    def _packed(self, layer: CheckpointLayer, device: torch.device) -> torch.Tensor:
        packed = torch.empty(layer.packed.bytes, dtype=torch.uint8, device=device)
        uploader = self._uploader(device)
        if uploader is None:
            self.reader.pack(layer, packed.numpy())
        else:
            with torch.cuda.device(device):
                uploader.pack(self.reader, layer, packed)
        return packed

    def finish(self) -> None:
        """Waits until all is on its device."""
        for device, uploader in self._uploaders.items():
            with torch.cuda.device(device):
                uploader.finish()

    def _quantized(self, layer: CheckpointLayer, device: torch.device) -> Linear:
        changes: dict[str, Any] = {"activation": self.activation, "weight": self.weight}
        w = self._plain(layer.spec, self.reader.pack(layer), device)
        weights = pack(changed(layer.spec, **changes), w)
        return Linear.from_checkpoint(self.reader, layer, device, weights=weights, **changes)

    def _quantized_experts(
        self, layer: CheckpointLayer, spec: str, device: torch.device
    ) -> torch.Tensor:
        """One expert after the other is on the device in 16 bits."""
        shape = (layer.matrices, packed_bytes(spec))
        packed = torch.empty(shape, dtype=torch.uint8, device=device)
        plain = self.reader.pack(layer).reshape(layer.packed.shape)
        for expert in range(layer.matrices):
            packed[expert].copy_(pack(spec, self._plain(layer.spec, plain[expert], device)))
        return packed

    def _plain(self, spec: Spec, packed: Any, device: torch.device) -> torch.Tensor:
        """The weights [N, K] of packed 16-bit ones, in the model's dtype."""
        stored = DTYPES[spec.to_dict()["weight"]["type"]]
        codes = torch.from_numpy(unpack_weights(spec, packed).codes)
        return codes.view(stored).to(device).to(DTYPES[self.activation["dtype"]])


_PLAIN = {"F16", "BF16", "F32"}
_ROUTERS = {"router", "gate"}


def _is_plain(layer: CheckpointLayer) -> bool:
    return bool(layer.spec.to_dict()["weight"]["bits"] == 16)
