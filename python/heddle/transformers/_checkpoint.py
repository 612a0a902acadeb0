"""Layers that are packed while a checkpoint is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from .. import CheckpointReader, Uploader, unpack_weights
from .._errors import UnsupportedError
from ..torch import Linear, changed, pack
from ..torch._specs import DTYPES, NAMES

if TYPE_CHECKING:
    from .. import CheckpointLayer


class CheckpointSource:
    """The linear layers of a checkpoint's folder. Raises UnsupportedError by name.

    weight: of 16-bit layers, which are quantised on their device; None: the checkpoint is
    quantised. lm_head: its bits, 0: it is no layer.
    """

    def __init__(
        self, folder: str, dtype: torch.dtype, weight: dict[str, Any] | None, lm_head: int
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
        if self.reader.unserved:
            lines = [f"{layer.name}: {layer.reason}" for layer in self.reader.unserved]
            more = f" and {len(lines) - 8} more" if len(lines) > 8 else ""
            raise UnsupportedError(
                "layers of this checkpoint have no kernel: " + "; ".join(lines[:8]) + more,
                "transformers.unserved",
            )
        if self.reader.experts:
            raise UnsupportedError(
                f"{self.reader.experts[0].name}: layers of experts are not loaded; allowed:"
                " models of dense layers",
                "transformers.experts",
            )
        self.layers = [
            layer
            for layer in self.reader.layers
            if lm_head or not _is_plain(layer) or not layer.name.endswith("lm_head")
        ]

    def make(self, layer: CheckpointLayer, device: torch.device) -> Linear:
        """Packs one layer; a plain one is quantised first."""
        if self.weight is not None and _is_plain(layer):
            return self._quantized(layer, device)
        if device.type == "cuda" and device not in self._uploaders:
            with torch.cuda.device(device):
                stream = torch.cuda.current_stream(device).cuda_stream
                self._uploaders[device] = Uploader(stream)
        return Linear.from_checkpoint(
            self.reader,
            layer,
            device,
            uploader=self._uploaders.get(device),
            activation=self.activation,
        )

    def finish(self) -> None:
        """Waits until all is on its device."""
        for device, uploader in self._uploaders.items():
            with torch.cuda.device(device):
                uploader.finish()

    def _quantized(self, layer: CheckpointLayer, device: torch.device) -> Linear:
        changes: dict[str, Any] = {"activation": self.activation, "weight": self.weight}
        stored = DTYPES[layer.spec.to_dict()["weight"]["type"]]
        codes = torch.from_numpy(unpack_weights(layer.spec, self.reader.pack(layer)).codes)
        w = codes.view(stored).to(device).to(DTYPES[self.activation["dtype"]])
        weights = pack(changed(layer.spec, **changes), w)
        return Linear.from_checkpoint(self.reader, layer, device, weights=weights, **changes)


def _is_plain(layer: CheckpointLayer) -> bool:
    return bool(layer.spec.to_dict()["weight"]["bits"] == 16)
