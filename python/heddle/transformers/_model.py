"""What a model's decoder layers are: from its config, and from its modules."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import torch

from .. import Model
from .._errors import UnsupportedError
from ..torch import canonical, changed
from ..torch._specs import fields
from ._experts import feed
from ._modules import Fused
from ._verify import check_base, check_layer


@dataclass
class Layer:
    """A decoder layer and the specs of its attention.

    Its modules are looked up at each use, so that one which was replaced in the model counts.
    """

    base: Any
    index: int
    around: bool
    append: str
    attend: str
    append_keys: str
    """As `append`, with K in the place of Q: it returns the keys as the cache has them."""
    sinks: torch.Tensor | None = None
    """The attention's, in FP32, as they were at the last read_sinks()."""

    @property
    def attention(self) -> Any:
        """The module of that name."""
        return self.base.layers[self.index].self_attn

    @property
    def mlp(self) -> Any:
        """The module of that name."""
        return self.base.layers[self.index].mlp

    @property
    def norms(self) -> list[torch.Tensor]:
        """As they come: before attention (and behind it), before the MLP (and behind it)."""
        module = self.base.layers[self.index]
        return [getattr(module, name).weight for name in NORMS[self.around]]

    @property
    def has_sinks(self) -> bool:
        """Whether attention has a logit per head more in its softmax."""
        return bool(fields(self.attend, "decode_attention")["sink_logits"])

    def read_sinks(self) -> None:
        """Into memory that stays, so that graphs see what was replaced before a prompt.

        A prompt may come in PyTorch's inference mode and the next one outside of it, where memory
        that was made inside cannot be written.
        """
        found = self.attention.sinks.detach()
        with torch.inference_mode(False):
            if self.sinks is not None and self.sinks.device == found.device:
                self.sinks.copy_(found)
            else:
                self.sinks = found.to(torch.float32, copy=True)

    def feed(self, x: torch.Tensor) -> torch.Tensor:
        """What the MLP or the experts make of x [tokens, width]."""
        return feed(self.mlp, x)

    def project(self, x: torch.Tensor, heads: int, kv_heads: int) -> tuple[torch.Tensor, ...]:
        """q, k and v of x [tokens, width], as [tokens, heads, head_dim] each."""
        attention = self.attention
        whole = getattr(attention, "qkv_proj", None)
        own: list[Any] = [getattr(attention, name, None) for name in ("q_proj", "k_proj", "v_proj")]
        if isinstance(whole, Fused) and whole.has(own):
            parts = whole(x)
        elif whole is not None and not isinstance(whole, Fused):
            made = whole(x)
            unit = made.shape[-1] // (heads + 2 * kv_heads)
            parts = made.split([heads * unit, kv_heads * unit, kv_heads * unit], -1)
        else:
            parts = tuple(module(x) for module in own)
        counts = (heads, kv_heads, kv_heads)
        return tuple(
            part.unflatten(-1, (count, -1)) for part, count in zip(parts, counts, strict=True)
        )


def config_of(model: Any) -> dict[str, Any]:
    config: dict[str, Any] = json.loads(model.config.to_json_string(use_diff=False))
    # How weights are quantised is the modules' to know.
    config.pop("quantization_config", None)
    config["torch_dtype"] = config["dtype"] = str(model.dtype).removeprefix("torch.")
    return config


def refuse_what_is_not_served(facts: dict[str, Any]) -> None:
    reasons = []
    norm = facts.get("norm", {})
    if norm.get("kind") not in {"rms", "rms_plus_one"}:
        reasons.append(f"its norms are {norm.get('kind', 'not known')}")
    if norm.get("place") not in {"before", "around"}:
        reasons.append(f"its norms stand {norm.get('place', 'nobody knows where')}")
    multipliers = set(facts.get("multipliers", {})) - {"embedding"}
    if multipliers:
        reasons.append(f"it multiplies {', '.join(sorted(multipliers))}")
    for block in facts.get("blocks", []):
        attention = block.get("attention", {})
        if block["mixer"] != "attention" or block["feed_forward"] not in {"dense", "experts"}:
            reasons.append(f"it has layers of {block['mixer_name']} and {block['feed_forward']}")
        for field in ("chunk", "alibi", "gate"):
            if attention.get(field):
                reasons.append(f"its attention has {field}")
        if attention.get("qk_norm", "none") not in {"none", "head"}:
            reasons.append(f"its Q and K have norms of the kind {attention['qk_norm']}")
        if attention.get("value_dim") != attention.get("head_dim"):
            reasons.append("its values differ in size from its keys")
    if not facts.get("blocks"):
        reasons.append(f"its type, {facts['model_type']}, is not known")
    if reasons:
        raise UnsupportedError(
            "no HeddleCache for this model: " + "; ".join(dict.fromkeys(reasons)),
            "transformers.model",
        )


NORMS = {
    False: ("input_layernorm", "post_attention_layernorm"),
    True: (
        "input_layernorm",
        "post_attention_layernorm",
        "pre_feedforward_layernorm",
        "post_feedforward_layernorm",
    ),
}


def layers_of(
    base: Any, config: dict[str, Any], facts: dict[str, Any], kv: Any, around: bool
) -> list[Layer]:
    missing = [name for name in ("embed_tokens", "layers", "norm") if not hasattr(base, name)]
    if missing:
        raise UnsupportedError(
            f"no HeddleCache for this model: its {type(base).__name__} has no {', '.join(missing)}",
            "transformers.model",
        )
    check_base(base, "embedding" in facts.get("multipliers", {}))
    epsilons = dict.fromkeys(NORMS[around], facts["norm"]["epsilon"])
    cache = Model.cache_from_config(config, kv)
    if cache.unserved:
        raise UnsupportedError(
            f"no HeddleCache for this model: {cache.unserved[0].reason}", "transformers.model"
        )
    specs = [kernel.spec for kernel in cache.kernels]
    appends = [spec for spec in specs if spec.op == "kv_append"]
    attends = [spec for spec in specs if spec.op == "decode_attention"]
    found: dict[int, Layer] = {}
    for block in facts["blocks"]:
        append = _of_block(appends, block)
        if fields(canonical(append), "kv_append")["rope"]["source"] == "table":
            raise UnsupportedError(
                "no HeddleCache for this model: its rotations are a table", "transformers.model"
            )
        _refuse_given_scales(append)
        attend = _of_block(attends, block)
        for index in block["layers"]:
            if index >= len(base.layers):
                raise UnsupportedError(
                    f"no HeddleCache for this model: it has {len(base.layers)} layers, and its"
                    f" config {config['num_hidden_layers']}",
                    "transformers.model",
                )
            module = base.layers[index]
            missing = [n for n in (*NORMS[around], "self_attn", "mlp") if not hasattr(module, n)]
            if missing:
                raise UnsupportedError(
                    f"no HeddleCache for this model: its layers have no {', '.join(missing)}",
                    "transformers.model",
                )
            check_layer(base, module, epsilons, append.to_dict(), attend.to_dict())
            found[index] = Layer(
                base,
                index,
                around,
                canonical(append),
                canonical(attend),
                changed(append, query={"heads": append.to_dict()["shape"]["kv_heads"]}),
            )
    return [found[index] for index in sorted(found)]


def _refuse_given_scales(append: Any) -> None:
    for part, kv in append.to_dict()["kv"].items():
        if part in {"k", "v"} and (kv["granularity"] == "tensor" or kv["dtype"] == "nvfp4"):
            raise UnsupportedError(
                f"kv.{part} has a scale that the model would have to give ({kv['dtype']},"
                f" {kv['granularity']}); allowed: scales that are stored, such as fp8_e4m3:head",
                "transformers.kv",
            )


def _of_block(specs: list[Any], block: dict[str, Any]) -> Any:
    """The spec of one operation that has a block's shape and window."""
    attention = block["attention"]
    matching = []
    for spec in specs:
        given = spec.to_dict()
        same = given["shape"]["kv_heads"] == attention["kv_heads"]
        same &= given["shape"]["head_dim"] == attention["head_dim"]
        if spec.op == "decode_attention":
            same &= given["window"] == attention["window"]
        elif attention.get("rope") is None:
            same &= given["rope"]["pairing"] == "none"
        else:
            rope = given["rope"]
            same &= rope["pairing"] != "none" and (
                rope["base"] == attention["rope"]["base"] or rope["source"] == "table"
            )
        if same:
            matching.append(spec)
    if len(matching) != 1:
        raise UnsupportedError(
            f"no HeddleCache for this model: {len(matching)} kernels match its layers of"
            f" {block['mixer_name']}",
            "transformers.model",
        )
    return matching[0]
