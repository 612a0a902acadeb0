"""Heddle's operations in PyTorch: operators for eager mode, torch.compile and CUDA graphs.

    layer = heddle.torch.Linear.quantized(w)          # 4 bits in groups of 128
    y = layer(x)                                      # also under torch.compile, in a CUDA graph

The operators are in torch.ops.heddle, too. Each takes its spec as one line of JSON, which
`canonical` makes of a dict. They launch on PyTorch's current stream, take their workspace from a
pool with one for each stream, and have no gradients. A kernel is compiled, or found in the cache,
by `prepare` or by its first launch; before a capture into a graph run the same work once. Graphs
that were captured on one stream share a workspace: replay them one after another.

Needs PyTorch 2.9 or newer, which `import heddle` alone does not import.
"""

from __future__ import annotations

from ._cache import decode_attention, kv_append
from ._experts import moe
from ._kernels import prepare, runtime, set_runtime
from ._linear import Linear, changed, pack, tensor_of
from ._matrices import dequantize, gemm, quantize_weight, repack
from ._rows import row_quantize, row_transform
from ._specs import canonical

__all__ = [
    "Linear",
    "canonical",
    "changed",
    "decode_attention",
    "dequantize",
    "gemm",
    "kv_append",
    "moe",
    "pack",
    "prepare",
    "quantize_weight",
    "repack",
    "row_quantize",
    "row_transform",
    "runtime",
    "set_runtime",
    "tensor_of",
]
