"""A model's own modules against the specs that its config gave: what differs is refused by name.

The decoder runs kernels in the place of a model's forward(). A module that it does not know, or a
field that the config's reader sees otherwise than Transformers, would give other results.
"""

from __future__ import annotations

from typing import Any

import torch

from .._errors import UnsupportedError
from ._experts import Experts
from ._modules import Pending, hooks_of

_BASE = {"embed_tokens", "layers", "norm", "rotary_emb"}
_ATTENTION = {
    "q_proj", "k_proj", "v_proj", "qkv_proj", "o_proj", "q_norm", "k_norm", "rotary_emb", "sinks",
}  # fmt: skip


def check_base(base: Any, embeddings_are_scaled: bool) -> None:
    """Whether the decoder knows all modules around the layers."""
    wrong = _unknown(base, _BASE)
    if wrong:
        _refuse(f"its {type(base).__name__} has {', '.join(sorted(wrong))}")
    if embeddings_are_scaled and not hasattr(base.embed_tokens, "embed_scale"):
        _refuse("its embeddings are scaled by none of its modules")


def check_layer(
    base: Any,
    module: Any,
    norms: dict[str, float],
    append: dict[str, Any],
    attend: dict[str, Any],
) -> None:
    """Whether a decoder layer is what the specs of its kv_append and decode_attention say.

    norms: the epsilon of each by its module's name.
    """
    attention = module.self_attn
    unknown = _unknown(module, {*norms, "self_attn", "mlp"}) | _unknown(attention, _ATTENTION)
    if unknown:
        _refuse(f"its layers have {', '.join(sorted(unknown))}")
    experts = getattr(module.mlp, "experts", None)
    if experts is not None and not isinstance(experts, Experts | Pending):
        _refuse(f"its {type(experts).__name__} are not Heddle's, which quantises them at load")
    if not hasattr(attention, "o_proj"):
        _refuse(f"its {type(attention).__name__} has no o_proj")
    rope, head_norm = append["rope"], append.get("norm")
    rotated = rope["pairing"] != "none"
    normed = getattr(attention, "q_norm", None) is not None
    window, cap = attend["window"], attend["softcap"]
    for what, found, wanted in (
        *((f"an epsilon of {name},", _epsilon(getattr(module, name)), norms[name])
          for name in norms),
        ("norms of Q and K,", normed, head_norm is not None),
        ("an epsilon of q_norm,", _epsilon(attention.q_norm) if normed else None,
         head_norm["epsilon"] if head_norm else 0),
        ("attention to later tokens,", not getattr(attention, "is_causal", True), False),
        ("a window of", getattr(attention, "sliding_window", window) or 0, window),
        ("a softcap of", getattr(attention, "attn_logit_softcapping", cap) or 0, cap),
        ("a scale of", getattr(attention, "scaling", None), attend["scale_dim"] ** -0.5),
        ("sinks,", getattr(attention, "sinks", None) is not None, attend["sink_logits"]),
        ("rotations,", bool(getattr(attention, "use_rope", rotated)), rotated),
    ):  # fmt: skip
        if found is not None and abs(found - wanted) > 1e-5 * abs(wanted):
            _refuse(f"a layer has {what} {found}, and the config was read as {wanted}")
    if rotated:
        _check_rotations(getattr(base, "rotary_emb", None), attention, rope, append["shape"])


def check_hooks(base: Any, norms: tuple[str, ...]) -> None:
    """Refuses hooks on modules whose forward() the decoder does not call."""
    for layer in (base, *base.layers):
        names = ("norm",) if layer is base else (*norms, "self_attn", "")
        for name in names:
            module = getattr(layer, name) if name else layer
            if hooks_of(module):
                raise UnsupportedError(
                    f"a {type(module).__name__} has a hook, which a HeddleCache would leave out;"
                    " allowed: hooks on MLPs and linear layers",
                    "transformers.hook",
                )


def longest(config: dict[str, Any]) -> int | None:
    """Tokens of a sequence behind which queries are scaled by their position; None: never."""
    rope = config.get("rope_parameters") or {}
    if not rope.get("llama_4_scaling_beta"):
        return None
    return int(rope["original_max_position_embeddings"])


def _check_rotations(
    rotary: Any, attention: Any, rope: dict[str, Any], shape: dict[str, Any]
) -> None:
    """The angles of a position, as far as no scaling changes them."""
    kind = getattr(attention, "layer_type", None)
    turns = getattr(rotary, f"{kind}_inv_freq", getattr(rotary, "inv_freq", None))
    if turns is None or turns.device.type == "meta":
        return
    dim = rope["dim"] or shape["head_dim"]
    if 2 * len(turns) != dim:
        _refuse(f"it rotates {2 * len(turns)} elements, and the config was read as {dim}")
    if rope.get("scaling", {"type": "none"})["type"] == "none":
        exponents = torch.arange(0, dim, 2, dtype=torch.float32, device=turns.device) / dim
        # In 16 bits where the whole model was converted.
        if not torch.allclose(turns.float(), rope["base"] ** -exponents, rtol=1e-2, atol=1e-6):
            _refuse(f"its rotations are not those of the base {rope['base']}")


def _epsilon(norm: Any) -> float | None:
    found: float | None = getattr(norm, "variance_epsilon", getattr(norm, "eps", None))
    return found


def _unknown(module: Any, known: set[str]) -> set[str]:
    children = dict(module.named_children())
    found = {name for name, child in children.items() if not isinstance(child, torch.nn.Dropout)}
    return (found | {name for name, _ in module.named_parameters(recurse=False)}) - known


def _refuse(what: str) -> None:
    raise UnsupportedError(f"no HeddleCache for this model: {what}", "transformers.model")
