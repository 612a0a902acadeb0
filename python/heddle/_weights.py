"""Quantised weights as plain arrays on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class QuantizedWeights(NamedTuple):
    """What ``pack_weights(spec, *weights)`` takes and ``quantize`` and ``unpack_weights`` return.

    The value of row n, column k is (code - zero) * scale * tensor_scale * channel_scale. G is the
    number of groups along K; types that numpy lacks are held as their bits (bfloat16: uint16, 8-bit
    floats: uint8).
    """

    codes: npt.NDArray[np.generic]
    """[N, K] uint8, each code in the low bits; of weights that were not quantised [N, K] 16-bit."""
    scales: npt.NDArray[np.generic] | None = None
    """[N, G] of scale_dtype; per channel [N, 1], per tensor [1, 1]. None without scales."""
    zeros: npt.NDArray[np.generic] | None = None
    """As scales: integer zero points as uint8, float ones of scale_dtype. None without them."""
    tensor_scale: float = 1.0
    """Counts with weight.tensor_scale only."""
    channel_scales: npt.NDArray[np.generic] | None = None
    """[N] of weight.channel_scale, whose scales are uint8. None without."""
