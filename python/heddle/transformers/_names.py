"""Names of a checkpoint's tensors as the model calls them, by Transformers' own renamings."""

from __future__ import annotations

from typing import Any

from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.core_model_loading import WeightRenaming, rename_source_key


class Names:
    """Mixtral's checkpoints have block_sparse_moe where its model has mlp, for one."""

    def __init__(self, model: Any) -> None:
        mapping = get_model_conversion_mapping(model) or []
        self._renamings = [each for each in mapping if isinstance(each, WeightRenaming)]

    def of_tensor(self, name: str) -> str:
        """A tensor's."""
        renamed: str = rename_source_key(name, self._renamings, [])[0]
        return renamed

    def of_module(self, name: str) -> str:
        """A module's."""
        return self.of_tensor(name + ".weight").removesuffix(".weight")
