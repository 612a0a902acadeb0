"""The device memory of a key-value cache, as launches of kv_append and decode_attention take it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class KvCacheTensor:
    """K or V. ``kv_cache_layout(spec)`` says how many bytes each part has."""

    codes: Any
    """Dense, of the cache's dtype: uint8 or int8 where codes are no bytes of their own."""
    scales: Any = None
    """Dense, of the scale_dtype; exactly where scales are stored."""
    given: Any = None
    """float32: with the granularity tensor the scale and, where codes are not symmetric, the zero
    point; with NVFP4 the factor of all scales. Exactly there."""
    residual: Any = None
    """[slots, kv_heads, group_size, head_dim] of the activation's dtype, exactly with scales per
    channel."""


@dataclass
class KvCache:
    """Both tensors, and where each sequence's tokens lie in them."""

    k: KvCacheTensor
    v: KvCacheTensor
    pages: int
    """Pages that the tensors have; of a contiguous cache its sequences."""
    page_tokens: int = 0
    """Contiguous: tokens that a sequence may have. Paged: 0, or the spec's page_size."""
    block_table: Any = None
    """[sequences, pages of a sequence] int32; exactly for a paged cache."""
    table_stride: int | None = None
    """Pages of a sequence; only where the block table is a DeviceMemory."""
    residual_slot_count: int = 0
    """With scales per channel: slots of the residual window."""
    residual_slots: Any = None
    """[sequences] int32, each sequence's slot; None: its number in the batch."""
