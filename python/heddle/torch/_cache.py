"""The operators on a key-value cache: kv_append and decode_attention.

A cache is a flat list of arguments, in the order of `_CACHE`, because an operator takes tensors;
the functions `kv_append` and `decode_attention` take a heddle.KvCache of tensors instead.
"""

from __future__ import annotations

from typing import Any

import torch

from .. import KvCache, KvCacheTensor
from .._errors import UsageError
from ._kernels import launch
from ._library import arguments_of, operator
from ._specs import DTYPES, fields

_READ = (
    "Tensor k_codes, Tensor v_codes, Tensor? k_scales, Tensor? v_scales, Tensor? k_residual,"
    " Tensor? v_residual, Tensor? k_given, Tensor? v_given, Tensor? block_table,"
    " Tensor? residual_slots, int pages, int page_tokens, int residual_slot_count"
)
_WRITTEN = (
    "Tensor(a!) k_codes, Tensor(b!) v_codes, Tensor(c!)? k_scales, Tensor(d!)? v_scales,"
    " Tensor(e!)? k_residual, Tensor(f!)? v_residual, Tensor? k_given, Tensor? v_given,"
    " Tensor? block_table, Tensor? residual_slots, int pages, int page_tokens,"
    " int residual_slot_count"
)
_PARTS = 13
"""Arguments that a cache is."""


def _flat(cache: KvCache) -> tuple[Any, ...]:
    k, v = cache.k, cache.v
    return (
        k.codes, v.codes, k.scales, v.scales, k.residual, v.residual, k.given, v.given,
        cache.block_table, cache.residual_slots, cache.pages, cache.page_tokens,
        cache.residual_slot_count,
    )  # fmt: skip


def _cache(parts: tuple[Any, ...]) -> KvCache:
    (k_codes, v_codes, k_scales, v_scales, k_residual, v_residual, k_given, v_given,
     block_table, residual_slots, pages, page_tokens, residual_slot_count) = parts  # fmt: skip
    return KvCache(
        k=KvCacheTensor(k_codes, k_scales, k_given, k_residual),
        v=KvCacheTensor(v_codes, v_scales, v_given, v_residual),
        pages=pages,
        page_tokens=page_tokens,
        block_table=block_table,
        residual_slot_count=residual_slot_count,
        residual_slots=residual_slots,
    )


def _append_fake(k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor, spec: str,
                 *_: Any) -> None:  # fmt: skip
    if "query" in fields(spec, "kv_append"):
        raise UsageError("the spec has a Q; kv_append wants it", "torch.operation")


@operator(
    f"kv_append(Tensor k, Tensor v, Tensor lengths, str spec, {_WRITTEN}, Tensor? offsets=None,"
    " Tensor? rotations=None, Tensor? k_norm=None) -> ()",
    _append_fake,
)
def _append(k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor, spec: str,
            *rest: Any) -> None:  # fmt: skip
    _append_fake(k, v, lengths, spec)
    given = arguments_of(rest[_PARTS:], "offsets", "rotations", "k_norm")
    launch(spec, k, k=k, v=v, lengths=lengths, cache=_cache(rest[:_PARTS]), **given)


def _append_query_fake(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor,
                       spec: str, *_: Any) -> torch.Tensor:  # fmt: skip
    given = fields(spec, "kv_append")
    if "query" not in given:
        raise UsageError("the spec has no Q (query.heads)", "torch.operation")
    shape = (q.shape[0], given["query"]["heads"], given["shape"]["head_dim"])
    return q.new_empty(shape, dtype=DTYPES[given["activation"]["dtype"]])


@operator(
    f"kv_append_query(Tensor q, Tensor k, Tensor v, Tensor lengths, str spec, {_WRITTEN},"
    " Tensor? offsets=None, Tensor? rotations=None, Tensor? k_norm=None, Tensor? q_norm=None)"
    " -> Tensor",
    _append_query_fake,
)
def _append_query(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor,
                  spec: str, *rest: Any) -> torch.Tensor:  # fmt: skip
    q_out = _append_query_fake(q, k, v, lengths, spec)
    given = arguments_of(rest[_PARTS:], "offsets", "rotations", "k_norm", "q_norm")
    if given["offsets"] is not None:
        # The kernel leaves out tokens at negative positions, which are padding: their memory may
        # hold NaN, which masks of attention let through.
        q_out.zero_()
    launch(spec, q, q=q, k=k, v=v, lengths=lengths, cache=_cache(rest[:_PARTS]), q_out=q_out,
           **given)  # fmt: skip
    return q_out


def _attention_fake(q: torch.Tensor, lengths: torch.Tensor, spec: str,
                    *_: Any) -> list[torch.Tensor]:  # fmt: skip
    made = [torch.empty_like(q, memory_format=torch.contiguous_format)]
    if fields(spec, "decode_attention")["log_sum_exp"]:
        made.append(q.new_empty(q.shape[:3], dtype=torch.float32))
    return made


@operator(
    f"decode_attention(Tensor q, Tensor lengths, str spec, {_READ}, Tensor? slopes=None,"
    " Tensor? sink_logits=None) -> Tensor[]",
    _attention_fake,
)
def _attention(q: torch.Tensor, lengths: torch.Tensor, spec: str,
               *rest: Any) -> list[torch.Tensor]:  # fmt: skip
    made = _attention_fake(q, lengths, spec)
    given = arguments_of(rest[_PARTS:], "slopes", "sink_logits")
    out, log_sum_exp = (*made, None)[:2]
    launch(spec, q, workspace=True, q=q.contiguous(), out=out, lengths=lengths,
           cache=_cache(rest[:_PARTS]), log_sum_exp=log_sum_exp, **given)  # fmt: skip
    return made


def kv_append(
    k: torch.Tensor,
    v: torch.Tensor,
    lengths: torch.Tensor,
    cache: KvCache,
    spec: str,
    *,
    q: torch.Tensor | None = None,
    offsets: torch.Tensor | None = None,
    rotations: torch.Tensor | None = None,
    k_norm: torch.Tensor | None = None,
    q_norm: torch.Tensor | None = None,
) -> torch.Tensor | None:
    """Writes K and V into the cache; returns Q normalised and rotated, if there is one.

    Shapes as of KvAppendKernel.bind(): k, v: [tokens, kv_heads, head_dim]. lengths: [sequences]
    int32. q: [tokens, heads, head_dim], and so is what is returned, dense.
    """
    if q is None:
        torch.ops.heddle.kv_append.default(
            k, v, lengths, spec, *_flat(cache), offsets, rotations, k_norm
        )
        return None
    made: torch.Tensor = torch.ops.heddle.kv_append_query.default(
        q, k, v, lengths, spec, *_flat(cache), offsets, rotations, k_norm, q_norm
    )
    return made


def decode_attention(
    q: torch.Tensor,
    lengths: torch.Tensor,
    cache: KvCache,
    spec: str,
    *,
    slopes: torch.Tensor | None = None,
    sink_logits: torch.Tensor | None = None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Attention of the last tokens of each sequence over the cache.

    q: [sequences, query_len, heads, head_dim], and so is what is returned; with log_sum_exp in the
    spec also [sequences, query_len, heads] float32. lengths: [sequences] int32.
    """
    made = torch.ops.heddle.decode_attention.default(
        q, lengths, spec, *_flat(cache), slopes, sink_logits
    )
    return made[0] if len(made) == 1 else (made[0], made[1])
