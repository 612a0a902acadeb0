"""The quantisation config of models that run on Heddle."""

from __future__ import annotations

from typing import Any

from transformers.utils.quantization_config import QuantizationConfigMixin

from .._errors import UsageError

METHODS = (
    "awq", "gptq", "auto-round", "compressed-tensors", "fp8", "fbgemm_fp8", "mxfp4", "mxfp8",
    "nvfp4", "modelopt", "quark",
)  # fmt: skip
"""The quant_method of checkpoints that go to Heddle once heddle.transformers is imported."""


class HeddleConfig(QuantizationConfigMixin):
    """How from_pretrained() loads a model: quantize a 16-bit one, and which cache generate() makes.

    bits, group_size: the weights of a 16-bit checkpoint become unsigned integers with a scale for
    each group along K. weight: instead of both any `weight` of a gemm's spec that quantize_weight
    makes: {"type": "e4m3", "bits": 8, "group_size": -1}. kv: the cache of generate(), such as
    "int8:head"; None: Transformers' own. lm_head: 8 or 4 bits for lm_head, which else keeps its
    16; where it shares its weights with the embeddings, those stay as they are.

    For a quantised checkpoint only kv and lm_head count, and bits or weight are refused when it
    is loaded; its own config says the rest. One whose
    config.json has no quantization_config, but a file beside it, is recognised by HeddleConfig()
    alone.
    """

    def __init__(
        self,
        bits: int | None = None,
        group_size: int = 128,
        *,
        weight: dict[str, Any] | None = None,
        kv: str | None = None,
        lm_head: int = 0,
        checkpoint: dict[str, Any] | None = None,
    ) -> None:
        self.quant_method = "heddle"
        if bits is not None and weight is not None:
            raise UsageError("bits and weight are both given; allowed: one", "transformers.weight")
        if bits is not None and (not isinstance(bits, int) or not 1 <= bits <= 8):
            raise UsageError(f"bits is {bits}; allowed: 1 to 8", "transformers.weight")
        if lm_head not in {0, 4, 8}:
            raise UsageError(f"lm_head is {lm_head}; allowed: 0, 4, 8", "transformers.lm_head")
        if weight is None and bits is not None:
            weight = {"bits": bits, "group_size": group_size}
        self.weight = weight
        self.kv = kv
        self.lm_head = lm_head
        self.checkpoint = checkpoint
        """The quantization_config of a checkpoint, as it is."""

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **more: Any) -> Any:
        """A checkpoint's quantization_config, of any of METHODS."""
        del more
        return cls(checkpoint=dict(config_dict))

    def to_dict(self) -> dict[str, Any]:
        """What config.json would have: a checkpoint's own."""
        if self.checkpoint is not None:
            return dict(self.checkpoint)
        return {name: value for name, value in vars(self).items() if value is not None}

    def get_loading_attributes(self) -> dict[str, Any]:
        """What counts beside a checkpoint's own config."""
        return {"kv": self.kv, "lm_head": self.lm_head, "weight": self.weight}
