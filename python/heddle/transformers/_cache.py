"""Heddle's key-value cache as a cache of Transformers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from transformers.cache_utils import Cache, CacheLayerMixin

from .. import KvCache, KvCacheTensor, kv_cache_layout
from .._errors import UnsupportedError, UsageError
from ..torch._specs import DTYPES, fields
from ._decoder import CACHE, Decoder, decoder_of


@dataclass
class Columns:
    """Columns of a batch, which a cache shares with its layers."""

    capacity: int
    seen: int = 0


class HeddleLayer(CacheLayerMixin):
    """One layer of a HeddleCache, which Heddle's decoder alone reads and writes."""

    # Else Transformers compiles the model, and makes masks of four dimensions, that nobody reads.
    is_compileable = False
    supports_early_init = False

    def __init__(self, columns: Columns, kv: KvCache) -> None:
        super().__init__()
        # Not the cache: a cycle would keep its memory until the next garbage collection.
        self._columns = columns
        self.kv = kv
        self.is_initialized = True

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Nothing is left to do."""

    def update(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: codes are no keys and values."""
        raise UnsupportedError(
            "a HeddleCache is read by Heddle's attention, and this module brings its own",
            "transformers.cache",
        )

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """As of a cache that holds what came before."""
        return self._columns.seen + query_length, 0

    def get_seq_length(self) -> int:
        """Columns of the batch so far, padding among them."""
        return self._columns.seen

    def get_max_length(self) -> int:
        """Columns that there is memory for."""
        return self._columns.capacity

    get_max_cache_shape = get_max_length
    """The name in earlier versions of Transformers."""

    def reset(self) -> None:
        """The whole cache's is what counts."""


class HeddleCache(Cache):
    """Keys and values of `batch` sequences of up to `capacity` tokens, as codes with their scales.

    kv: a spec's kv block, or words: "int8:head", "int4:channel:128,int4:head", "bf16". Passed as
    past_key_values to the model that it was made for, it makes Heddle's decoder run: prompts by
    SDPA, single tokens by Heddle's kernels alone. Prompts of different lengths are padded on the
    left; positions follow from the attention mask. Raises UnsupportedError where the decoder does
    not serve the model.
    """

    def __init__(
        self, model: torch.nn.Module, batch: int, capacity: int, kv: str | dict[str, Any]
    ) -> None:
        for name, value in (("batch", batch), ("capacity", capacity)):
            if not isinstance(value, int) or value < 1:
                raise UsageError(f"{name} is {value!r}; allowed: 1 or more", "transformers.cache")
        self.decoder: Decoder = decoder_of(model, kv)
        if self.decoder.longest is not None and capacity > self.decoder.longest:
            raise UnsupportedError(
                f"capacity is {capacity}, and the model scales its queries by their positions from"
                f" {self.decoder.longest} on; allowed: up to {self.decoder.longest}",
                "transformers.capacity",
            )
        self.batch = batch
        self._columns = Columns(capacity)
        self.padded = False
        """Whether the prompt has padding."""
        device = self.decoder.device
        page = self.decoder.page_size
        self.pages = -(-capacity // page)
        # What is made in PyTorch's inference mode could not be written outside of it.
        with torch.inference_mode(False):
            self.lengths = torch.zeros(batch, dtype=torch.int32, device=device)
            """Tokens of each sequence, without padding."""
            table = torch.arange(batch * self.pages, dtype=torch.int32, device=device)
            self.block_table = table.view(batch, self.pages)
            memory = [self._memory(spec) for spec in self.decoder.append_specs]
        super().__init__(layers=[HeddleLayer(self._columns, kv) for kv in memory])

    def _memory(self, spec: str) -> KvCache:
        given = fields(spec, "kv_append")
        layout = kv_cache_layout(spec)
        count, page = self.batch * self.pages, self.decoder.page_size

        def zeros(size: int) -> torch.Tensor:
            return torch.zeros(size, dtype=torch.uint8, device=self.decoder.device)

        def tensor(part: str, of: Any) -> KvCacheTensor:
            kv = given["kv"][part]
            codes = DTYPES.get(kv["dtype"], torch.uint8)
            codes = codes if codes.itemsize == 2 else torch.uint8
            made = KvCacheTensor(zeros(of.code_bytes(count, page)).view(codes))
            if of.scale_row_bytes:
                scales = zeros(of.scale_bytes(count, page))
                made.scales = scales.view(DTYPES.get(kv["scale_dtype"], torch.uint8))
            if of.residual_row_bytes:
                residual = zeros(of.residual_bytes(self.batch))
                made.residual = residual.view(DTYPES[given["activation"]["dtype"]])
            return made

        k, v = tensor("k", layout.k), tensor("v", layout.v)
        slots = self.batch if k.residual is not None else 0
        return KvCache(k, v, count, block_table=self.block_table, residual_slot_count=slots)

    @property
    def capacity(self) -> int:
        """Columns that there is memory for."""
        return self._columns.capacity

    @property
    def seen(self) -> int:
        """Columns of the batch so far, padding among them."""
        return self._columns.seen

    @seen.setter
    def seen(self, columns: int) -> None:
        self._columns.seen = columns

    @property
    def batch_size(self) -> int:
        """Sequences."""
        return self.batch

    @property
    def nbytes(self) -> int:
        """Bytes of keys, values and scales."""
        parts = (t for layer in self.layers for t in (layer.kv.k, layer.kv.v))
        memory = (m for t in parts for m in (t.codes, t.scales, t.residual) if m is not None)
        return sum(m.numel() * m.element_size() for m in memory)

    def reset(self) -> None:
        """Forgets every token."""
        self.seen = 0
        self.lengths.zero_()

    def require(self, columns: int) -> None:
        """Raises UsageError where there is no memory for so many new columns."""
        if self.seen + columns > self.capacity:
            raise UsageError(
                f"the cache has memory for {self.capacity} tokens of a sequence;"
                f" {self.seen + columns} are wanted",
                "transformers.capacity",
            )

    def grow(self, columns: int) -> None:
        """Counts new columns. Raises UsageError where there is no memory for them."""
        self.require(columns)
        self.seen += columns

    def crop(self, tokens_to_remove: int) -> None:
        """Forgets the last tokens of every sequence, as caches of Transformers do.

        tokens_to_remove: a negative number of columns to remove; a positive one is the number of
        columns to keep. Raises UsageError where more are to be removed than there are.
        """
        removed = -tokens_to_remove
        if tokens_to_remove > 0:
            removed = max(self.seen - tokens_to_remove, 0)
        if removed == 0:
            return
        if any(t.residual is not None for each in self.layers for t in (each.kv.k, each.kv.v)):
            raise UnsupportedError(
                "a cache with scales per channel cannot be cut back", "transformers.cache"
            )
        if removed > self.seen:
            raise UsageError(
                f"crop({tokens_to_remove}) removes {removed} tokens; the cache has {self.seen}",
                "transformers.crop",
            )
        self.seen -= removed
        self.lengths.sub_(removed).clamp_(min=0)

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(
            "sequences of a HeddleCache cannot be reordered, so there is no beam search, nor"
            " another way to generate than greedy or sampling",
            "transformers.cache",
        )

    reorder_cache = _refuse
    batch_repeat_interleave = _refuse
    batch_select_indices = _refuse


def use_by_default(model: Any, kv: str | dict[str, Any]) -> None:
    """generate() makes a HeddleCache from here on, unless it is given another cache."""
    decoder_of(model, kv)
    model._prepare_cache_for_generation = _Prepare(model, kv)


class _Prepare:
    """What makes the cache of one model's generate(); copied and pickled with the model."""

    def __init__(self, model: Any, kv: str | dict[str, Any]) -> None:
        self.model = model
        self.kv = kv

    def __call__(
        self, generation_config: Any, model_kwargs: dict[str, Any], mode: Any, batch_size: int,
        max_cache_length: int,
    ) -> Any:  # fmt: skip
        wanted = (
            generation_config.use_cache is not False
            and generation_config.cache_implementation is None
            and model_kwargs.get(CACHE) is None
            and generation_config.num_beams == 1
        )
        if not wanted:
            plain = type(self.model)._prepare_cache_for_generation
            return plain(
                self.model, generation_config, model_kwargs, mode, batch_size, max_cache_length
            )
        batch = batch_size * max(generation_config.num_return_sequences or 1, 1)
        made = HeddleCache(self.model, batch, max_cache_length + 1, self.kv)
        model_kwargs[CACHE] = made
        return None
