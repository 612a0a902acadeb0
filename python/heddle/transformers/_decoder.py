"""A model's decoder layers on Heddle's kernels and cache: docs/engine.md has the launch order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import torch
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutputWithPast, MoeModelOutputWithPast

from .. import Model
from .._errors import UnsupportedError, UsageError
from ..torch import changed, decode_attention, kv_append, prepare, row_transform
from ..torch._specs import NAMES, fields
from ._experts import routed_spec
from ._masks import check_mask, check_positions, count_prompt
from ._model import NORMS, Layer, config_of, layers_of, refuse_what_is_not_served
from ._prefill import attend_prompt
from ._verify import check_hooks, longest

if TYPE_CHECKING:
    from ._cache import HeddleCache

CACHE = (
    "cache" if "cache" in BaseModelOutputWithPast.__dataclass_fields__ else "past_key_values"
)
"""What this version of Transformers calls caches in arguments and outputs."""

_QUERIES = 8
"""Tokens of a sequence that decode_attention takes at once."""


class Decoder:
    """The layers of one model between its embeddings and its last norm, with one kind of cache.

    It reads the model's own modules, so weights that are replaced there are replaced here.
    """

    def __init__(self, model: Any, kv: str | dict[str, Any]) -> None:
        base = model.base_model
        config = config_of(model)
        facts = Model.from_config(config, plain_too=True).facts()
        refuse_what_is_not_served(facts)
        self.base = base
        self.kv = kv
        self.dtype: torch.dtype = model.dtype
        self.around = facts["norm"]["place"] == "around"
        self.routes = any(block["feed_forward"] == "experts" for block in facts["blocks"])
        """Whether its output has logits of routers, which are None."""
        described = Model.from_config(config, plain_too=True, dense=True, activation_bits=16)
        rows = {row.spec.name: row.spec for row in described.rows}
        if not {"norm", "add_norm"} <= set(rows):
            raise UnsupportedError(
                "no HeddleCache for this model: its norms have no kernels", "transformers.model"
            )
        dtype = {"dtype": NAMES[model.dtype]}
        self.norm = changed(rows["norm"], input=dtype, output=dtype)
        self.add_norm = changed(rows["add_norm"], input=dtype, output=dtype)
        self.longest = longest(config)
        self.layers = layers_of(base, config, facts, kv, self.around)
        devices = {str(layer.norms[0].device) for layer in self.layers}
        if len(devices) != 1:
            raise UnsupportedError(
                f"no HeddleCache for this model: its layers are on {', '.join(sorted(devices))};"
                " allowed: one device",
                "transformers.device",
            )
        given = fields(self.layers[0].attend, "decode_attention")
        self.heads, self.kv_heads = given["shape"]["heads"], given["shape"]["kv_heads"]
        self.width = given["shape"]["heads"] * given["shape"]["head_dim"]
        self.page_size = given["kv"]["page_size"]
        self.append_specs = [layer.append for layer in self.layers]

    @property
    def device(self) -> torch.device:
        """Of the layers, which are on one."""
        device: torch.device = self.layers[0].norms[0].device
        return device

    @property
    def specs(self) -> list[str]:
        """What prompts and single tokens launch besides linear layers."""
        of_layers = {
            spec
            for layer in self.layers
            for spec in (layer.append, layer.append_keys, layer.attend)
        }
        routed = {found[1] for layer in self.layers if (found := routed_spec(layer.mlp))}
        return [self.norm, self.add_norm, *sorted(of_layers), *sorted(routed)]

    def __call__(
        self,
        x: torch.Tensor,
        mask: torch.Tensor | None,
        cache: HeddleCache,
        positions: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """The last norm's output for embeddings x [sequences, tokens, width], in the same shape.

        mask, positions: checked; None: those of a cache's sequences.
        """
        sequences, tokens, _ = x.shape
        if sequences != cache.batch:
            raise UsageError(
                f"{sequences} sequences are given; the cache was made for {cache.batch}",
                "transformers.batch",
            )
        first = cache.seen == 0
        # A call that is refused leaves the cache as it was.
        cache.require(tokens)
        for layer in self.layers:
            if layer.has_sinks and (first or layer.sinks is None):
                layer.read_sinks()
        if first:
            cache.padded = count_prompt(mask, tokens, cache)
            check_positions(positions, tokens, cache)
        else:
            check_mask(mask, tokens, cache)
            check_positions(positions, tokens, cache)
            cache.lengths.add_(tokens)
        cache.grow(tokens)
        # A copy: the norms replace it by sums.
        x = x.reshape(sequences * tokens, -1).clone()
        offsets = None
        if tokens > 1:
            offsets = torch.arange(
                0, sequences * tokens + 1, tokens, dtype=torch.int32, device=x.device
            )
        h = row_transform(x, self.norm, None, self.layers[0].norms[0])
        for i, layer in enumerate(self.layers):
            norms = iter(layer.norms[1:])
            q, k, v = layer.project(h, self.heads, self.kv_heads)
            attended = self._attend(layer, cache, i, (q, k, v), offsets, first)
            h = layer.attention.o_proj(attended.reshape(-1, self.width))
            if self.around:
                h = row_transform(h, self.norm, None, next(norms))
            h = row_transform(h, self.add_norm, x, next(norms))
            h = layer.feed(h)
            if self.around:
                h = row_transform(h, self.norm, None, next(norms))
            last = i + 1 == len(self.layers)
            following = self.base.norm.weight if last else self.layers[i + 1].norms[0]
            h = row_transform(h, self.add_norm, x, following)
        return h.view(sequences, tokens, -1)

    def _attend(
        self,
        layer: Layer,
        cache: HeddleCache,
        index: int,
        qkv: tuple[torch.Tensor, ...],
        offsets: torch.Tensor | None,
        first: bool,
    ) -> torch.Tensor:
        q, k, v = qkv
        kv = cache.layers[index].kv
        norms = _head_norms(layer.attention)
        tokens = q.shape[0] // cache.batch
        if tokens > 1 and not first:
            return self._attend_chunks(layer, cache, kv, qkv, tokens)
        rotated = kv_append(
            k, v, cache.lengths, kv, layer.append, q=q, offsets=offsets, **norms
        )
        assert rotated is not None
        if offsets is None:
            queries = rotated[:, None]
            return _single(
                decode_attention(
                    queries, cache.lengths, kv, layer.attend, sink_logits=layer.sinks
                )
            )
        # Appends these tokens once more, for the keys that attention over the prompt takes.
        if "k_norm" in norms:
            norms = {"k_norm": norms["k_norm"], "q_norm": norms["k_norm"]}
        keys = kv_append(
            k, v, cache.lengths, kv, layer.append_keys, q=k, offsets=offsets, **norms
        )
        assert keys is not None
        shape = (cache.batch, tokens)
        q, k, v = (t.unflatten(0, shape) for t in (rotated, keys, v))
        lengths = cache.lengths if cache.padded else None
        given = fields(layer.attend, "decode_attention")
        return attend_prompt(q, k, v, lengths, given, layer.sinks)

    def _attend_chunks(
        self,
        layer: Layer,
        cache: HeddleCache,
        kv: Any,
        qkv: tuple[torch.Tensor, ...],
        tokens: int,
    ) -> torch.Tensor:
        """Several tokens behind those in the cache, as many at a time as the kernel takes.

        Each chunk is appended just before its attention. With scales per channel the cache keeps
        the tokens of an unfilled block in a window, whose rows later tokens would overwrite: there
        a chunk is one token.
        """
        made = []
        norms = _head_norms(layer.attention)
        q, k, v = (t.unflatten(0, (cache.batch, tokens)) for t in qkv)
        most = 1 if any(t.residual is not None for t in (kv.k, kv.v)) else _QUERIES
        for begin in range(0, tokens, most):
            end = min(begin + most, tokens)
            count = end - begin
            lengths = cache.lengths - (tokens - end)
            offsets = torch.arange(
                0, cache.batch * count + 1, count, dtype=torch.int32, device=q.device
            )
            part_q, part_k, part_v = (t[:, begin:end].flatten(0, 1) for t in (q, k, v))
            rotated = kv_append(
                part_k, part_v, lengths, kv, layer.append, q=part_q, offsets=offsets, **norms
            )
            assert rotated is not None
            queries = rotated.unflatten(0, (cache.batch, count))
            spec = changed(layer.attend, shape={"query_len": count})
            made.append(
                _single(decode_attention(queries, lengths, kv, spec, sink_logits=layer.sinks))
            )
        return torch.cat(made, 1)


def decoder_of(model: Any, kv: str | dict[str, Any]) -> Decoder:
    """The decoder of a model for a kind of cache; at the first call the model learns of it.

    A model of another dtype, or whose config has changed since, gets another one.
    """
    if not isinstance(model, PreTrainedModel) or not isinstance(kv, str | dict):
        raise UsageError(
            f"a HeddleCache of a {type(model).__name__} with kv {kv!r}; allowed: a model of"
            ' Transformers, and words like "int8:head" or a spec\'s kv as a dict',
            "transformers.kv",
        )
    key = json.dumps([config_of(model), kv], sort_keys=True)
    decoders: dict[str, Decoder] = model.__dict__.setdefault("_heddle_decoders", {})
    if key not in decoders:
        made = Decoder(model, kv)
        if made.device.type == "cuda":
            prepare(made.specs, made.device.index)
        decoders[key] = made
        if not isinstance(model.base_model.forward, _Forward):
            model.base_model.forward = _Forward(model.base_model)
    return decoders[key]


class _Forward:
    """A model's forward(), without its head, that runs the decoder on a HeddleCache.

    A copy of the model, or one that was pickled, has its own.
    """

    def __init__(self, base: Any) -> None:
        self.base = base
        self.plain = base.forward

    def __call__(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        past_key_values: Any = None,
        inputs_embeds: torch.Tensor | None = None,
        cache: Any = None,
        **more: Any,
    ) -> Any:
        cache = past_key_values if cache is None else cache
        if not hasattr(cache, "decoder"):
            return self.plain(
                input_ids=input_ids,
                attention_mask=attention_mask,
                position_ids=position_ids,
                inputs_embeds=inputs_embeds,
                **{CACHE: cache},
                **more,
            )
        _check_call(self.base, cache, input_ids, inputs_embeds, more)
        x = self.base.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds
        hidden = cache.decoder(x, attention_mask, cache, position_ids)
        made = MoeModelOutputWithPast if cache.decoder.routes else BaseModelOutputWithPast
        return made(last_hidden_state=hidden, **{CACHE: cache})


def _check_call(base: Any, cache: Any, input_ids: Any, embeddings: Any, more: Any) -> None:
    """Refuses by name what the model's own forward() would do and the decoder does not."""
    if (input_ids is None) == (embeddings is None):
        raise UsageError(
            "input_ids and inputs_embeds are both given, or neither is; allowed: one of them",
            "transformers.inputs",
        )
    if base.training:
        raise UsageError(
            "the model is in training mode, and a HeddleCache has neither dropout nor gradients;"
            " call eval() first",
            "transformers.training",
        )
    for name in ("output_hidden_states", "output_attentions", "output_router_logits"):
        wanted = more.get(name)
        if getattr(base.config, name, False) if wanted is None else wanted:
            raise UsageError(
                f"{name} is {True if wanted is None else wanted}; a HeddleCache serves False",
                "transformers.outputs",
            )
    check_hooks(base, NORMS[cache.decoder.around])
    if cache.decoder.base is not base:
        raise UsageError(
            "past_key_values is a HeddleCache that was made for another model, which it would"
            " run; allowed: one of this model",
            "transformers.cache",
        )
    if cache.decoder.dtype != base.dtype:
        raise UsageError(
            f"past_key_values is a HeddleCache that was made when the model had the dtype"
            f" {cache.decoder.dtype}; it has {base.dtype} now",
            "transformers.dtype",
        )


def _single(made: Any) -> torch.Tensor:
    assert isinstance(made, torch.Tensor)
    return made


def _head_norms(attention: Any) -> dict[str, torch.Tensor]:
    if getattr(attention, "q_norm", None) is None:
        return {}
    return {"q_norm": attention.q_norm.weight, "k_norm": attention.k_norm.weight}
