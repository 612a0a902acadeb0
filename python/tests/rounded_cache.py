"""A cache of Transformers in FP32 whose keys and values are rounded as the documents say: what a
model must compute with that has a HeddleCache."""

import torch
from transformers.cache_utils import Cache, DynamicLayer

LEAST = 1e-30


def rounded(x, dtype, granularity, group=0):
    """x: [sequences, heads, tokens, head_dim]; symmetric codes with FP16 scales."""
    largest = 448 if dtype == "fp8_e4m3" else 2 ** (int(dtype[3:]) - 1) - 1
    parts = x.unflatten(-1, (-1, group)) if granularity == "group" else x
    axes = (1, 3) if granularity == "token" else (-1,)
    scale = (parts.abs().amax(axes, keepdim=True) * (1 / largest)).half().float()
    codes = parts / scale.clamp(min=LEAST)
    if dtype == "fp8_e4m3":
        codes = codes.clamp(-448, 448).to(torch.float8_e4m3fn).float()
    else:
        codes = codes.round().clamp(-largest, largest)
    return (codes * scale).reshape(x.shape)


class Layer(DynamicLayer):
    """A prompt's attention is of keys and values as they are; later ones see codes."""

    def __init__(self, *rounding):
        super().__init__()
        self.rounding = rounding

    def update(self, key_states, value_states, *args, **kwargs):
        first = self.get_seq_length() == 0
        fresh = key_states, value_states
        made = super().update(rounded(key_states, *self.rounding),
                              rounded(value_states, *self.rounding), *args, **kwargs)
        return fresh if first else made


def cache(layers, *rounding):
    return Cache(layers=[Layer(*rounding) for _ in range(layers)])
