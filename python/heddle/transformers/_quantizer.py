"""Transformers' quantizer that leaves a checkpoint's linear layers to Heddle."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import torch
from transformers.quantizers import auto
from transformers.quantizers.base import HfQuantizer

from .._errors import UnsupportedError, UsageError
from ..torch._specs import NAMES
from ._cache import use_by_default
from ._checkpoint import CheckpointSource
from ._config import METHODS, HeddleConfig
from ._decoder import Decoder
from ._experts import check_experts
from ._load import clear, dtypes_to_have, fill, refuse_missing, restore_dtypes
from ._names import Names
from ._packed import PackedSource, is_packed

if TYPE_CHECKING:
    from ._load import Source


class HeddleQuantizer(HfQuantizer):
    """Takes linear layers out of a model before its tensors are loaded, and packs them after."""

    def __new__(cls, quantization_config: Any = None, **kwargs: Any) -> Any:
        """Transformers' own quantizer for a config of its own, which quantises a 16-bit model.

        Copies are made without a config.
        """
        if quantization_config is None or isinstance(quantization_config, HeddleConfig):
            return super().__new__(cls)
        own = _saved.get("quantizers", {}).get(quantization_config.quant_method)
        if own is None:
            raise UsageError(
                f"quantization_config is a {type(quantization_config).__name__}; allowed:"
                " HeddleConfig",
                "transformers.config",
            )
        return own(quantization_config, **kwargs)

    def __init__(self, quantization_config: HeddleConfig, **kwargs: Any) -> None:
        super().__init__(quantization_config, **kwargs)
        self.source: Source | None = None
        self.dtypes: dict[str, torch.dtype] = {}

    def update_device_map(self, device_map: Any) -> Any:
        """The current GPU, unless the user says where.

        Transformers cannot distribute layers by size, because they have none before they are
        packed.
        """
        if device_map is None or device_map in ("auto", "sequential"):
            if torch.cuda.is_available():
                return {"": torch.cuda.current_device()}
            return None
        if isinstance(device_map, str):
            raise UsageError(
                f'device_map is "{device_map}"; allowed: "auto" for the current GPU, a device, or'
                " a dict of modules and devices",
                "transformers.device",
            )
        places = {str(torch.device(d)) if d != "disk" else d for d in device_map.values()}
        if len(places) > 1 and places & {"cpu", "disk"}:
            raise UsageError(
                f"device_map names {', '.join(sorted(places))}; Heddle's layers cannot be"
                " offloaded; allowed: GPUs alone",
                "transformers.device",
            )
        return device_map

    def update_dtype(self, dtype: torch.dtype) -> torch.dtype:
        """Kernels take 16-bit activations."""
        if dtype not in NAMES or dtype.itemsize != 2:
            raise UsageError(
                f"the model's dtype is {dtype}; allowed: torch.float16, torch.bfloat16",
                "transformers.dtype",
            )
        return dtype

    def _process_model_before_weight_loading(
        self, model: Any, checkpoint_files: list[str] | None = None, **kwargs: Any
    ) -> None:
        if not checkpoint_files or not checkpoint_files[0].endswith(".safetensors"):
            raise UsageError(
                "Heddle reads checkpoints of .safetensors files; these are"
                f" {checkpoint_files or 'tensors in memory'}",
                "transformers.checkpoint",
            )
        config = self.quantization_config
        dtype = kwargs.get("dtype") or model.dtype
        if self.pre_quantized and config.weight is not None:
            raise UsageError(
                f"HeddleConfig has the weight {config.weight}, and the checkpoint is quantised"
                " already; allowed: neither bits nor weight",
                "transformers.weight",
            )
        names = Names(model)
        if self.pre_quantized and is_packed(checkpoint_files):
            self.source = PackedSource(model, checkpoint_files, dtype, names)
            if config.lm_head and not any(layer.name == "lm_head" for layer in self.source.layers):
                raise UsageError(
                    f"lm_head is {config.lm_head}, and the checkpoint is packed already, without"
                    f" it; `heddle repack --lm-head {config.lm_head}` packs it, too",
                    "transformers.lm_head",
                )
        else:
            folder = os.path.dirname(os.path.abspath(checkpoint_files[0]))
            weight = None if self.pre_quantized else config.weight
            self.source = _source(folder, dtype, weight, config.lm_head, names)
        check_experts(model, self.source.layers, self.source.experts)
        patterns = clear(model, self.source.layers, self.source.experts)
        if config.kv is not None:
            Decoder(model, config.kv)  # refuses the model or the cache before anything is read
        refuse_missing(model, self.source.layers, checkpoint_files, names)
        self.dtypes = dtypes_to_have(model, checkpoint_files, names)
        known = model._keys_to_ignore_on_load_unexpected or ()
        model._keys_to_ignore_on_load_unexpected = {*known, *patterns}

    def _process_model_after_weight_loading(self, model: Any, **kwargs: Any) -> Any:
        assert self.source is not None
        restore_dtypes(model, self.dtypes)
        fill(model, self.source)
        # Its files are open as long as it lives.
        self.source = None
        if self.quantization_config.kv is not None:
            use_by_default(model, self.quantization_config.kv)
        return model

    def is_serializable(self) -> bool:
        """The checkpoint that it was loaded from is what there is to save."""
        return False

    @property
    def is_trainable(self) -> bool:
        """Heddle has no gradients."""
        return False

    @property
    def is_compileable(self) -> bool:
        """Operators have fake kernels."""
        return True


def _source(
    folder: str, dtype: torch.dtype, weight: dict[str, Any] | None, lm_head: int, names: Names
) -> CheckpointSource:
    try:
        return CheckpointSource(folder, dtype, weight, lm_head, names)
    except UnsupportedError as error:
        if error.code != "checkpoint.not_quantised":
            raise
        raise UsageError(
            "the checkpoint is not quantised, and HeddleConfig has neither bits nor weight",
            "transformers.weight",
        ) from error


_saved: dict[str, Any] = {}


def register() -> None:
    """From here on from_pretrained() gives checkpoints of METHODS to Heddle."""
    if _saved:
        return
    _saved["quantizers"] = dict(auto.AUTO_QUANTIZER_MAPPING)
    _saved["configs"] = dict(auto.AUTO_QUANTIZATION_CONFIG_MAPPING)
    _saved["loading"] = auto.LOADING_ATTRIBUTES_CONFIG_TYPES
    for method in (*METHODS, "heddle"):
        auto.AUTO_QUANTIZER_MAPPING[method] = HeddleQuantizer
        auto.AUTO_QUANTIZATION_CONFIG_MAPPING[method] = HeddleConfig
    auto.LOADING_ATTRIBUTES_CONFIG_TYPES = (*_saved["loading"], HeddleConfig)


def unregister() -> None:
    """Gives the checkpoints back to Transformers' own quantizers."""
    if not _saved:
        return
    for mapping, name in (
        (auto.AUTO_QUANTIZER_MAPPING, "quantizers"),
        (auto.AUTO_QUANTIZATION_CONFIG_MAPPING, "configs"),
    ):
        mapping.clear()
        mapping.update(_saved[name])
    auto.LOADING_ATTRIBUTES_CONFIG_TYPES = _saved["loading"]
    _saved.clear()
