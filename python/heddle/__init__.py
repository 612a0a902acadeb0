"""Heddle: CUDA kernels for quantised models, made when the model is loaded.

    plan = heddle.resolve(spec, "h200")    # what runs there, and why; needs no GPU
    runtime = heddle.Runtime()
    kernel = runtime.kernel(spec)          # compiled once, from then on found in the cache
    launch = kernel.bind(x=x, weights=w, y=y, workspace=ws)
    launch()                               # on PyTorch's current stream
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._errors import (
    CancelledError,
    CompileError,
    DriverError,
    Error,
    FileError,
    InternalError,
    MissingError,
    Problem,
    SpecError,
    UnsupportedError,
    UsageError,
)
from ._heddle import (
    LAYOUT_VERSION,
    Binary,
    BuildResult,
    BundleContents,
    BundledKernel,
    BundleReport,
    CheckpointExperts,
    CheckpointLayer,
    CheckpointPart,
    CheckpointReader,
    CheckpointTensor,
    DamagedKernel,
    DecodeAttentionKernel,
    DecodePlan,
    DecodeProof,
    DequantizeKernel,
    DeviceMemory,
    GemmKernel,
    KernelRequest,
    KvAppendKernel,
    KvCacheLayout,
    KvTensorLayout,
    Launch,
    Model,
    ModelCacheSize,
    ModelKernel,
    ModelLayer,
    ModelPart,
    ModelSize,
    ModelUncounted,
    ModelUnserved,
    ModelWeightSize,
    ModelWorkspaceSize,
    MoeKernel,
    Plan,
    PlannedKernel,
    Preparation,
    PreparationStatus,
    QuantizeWeightKernel,
    RepackKernel,
    RowTransformKernel,
    Runtime,
    Source,
    Spec,
    Statistics,
    Target,
    TunedCosts,
    TunedEntry,
    TunedTable,
    TunedTables,
    UnservedLayer,
    Uploader,
    WeightLayout,
    __version__,
    check_packed_weights,
    kv_cache_layout,
    layout_version,
    model_size,
    moe_gemms,
    pack_weights,
    quantize,
    read_bundle,
    render,
    resolve,
    spec_schema,
    statistics,
    unpack_weights,
    weight_layout,
    write_bundle,
)
from ._kv_cache import KvCache, KvCacheTensor
from ._weights import QuantizedWeights

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

Kernel = (
    GemmKernel
    | DequantizeKernel
    | RepackKernel
    | QuantizeWeightKernel
    | KvAppendKernel
    | DecodeAttentionKernel
    | RowTransformKernel
    | MoeKernel
)
"""The kernel of any operation; each class has bind() and launch()."""


def build(
    spec: Plan | Spec | dict[str, Any] | str,
    target: Target | str | None = None,
    *,
    runtime: Runtime | None = None,
    progress: Callable[[BuildResult, int, int], object] | None = None,
) -> list[BuildResult]:
    """Compiles the kernels of a spec for a target, or of a plan, as far as the cache lacks them.

    Needs NVRTC, but no GPU. Without a runtime, one with the default cache is made. The results are
    in the order of ``render()``; ``progress`` as of ``Runtime.build()``.
    """
    runtime = Runtime() if runtime is None else runtime
    return runtime.build(render(spec, target, runtime.tuned_tables()), progress)


def prove(plans: Plan | Sequence[DecodePlan]) -> list[DecodeProof]:
    """Checks decode plans: every code, in every position, against exact arithmetic."""
    return [each.prove() for each in (plans.decode_plans if isinstance(plans, Plan) else plans)]


__all__ = [
    "LAYOUT_VERSION",
    "Binary",
    "BuildResult",
    "BundleContents",
    "BundleReport",
    "BundledKernel",
    "CancelledError",
    "CheckpointExperts",
    "CheckpointLayer",
    "CheckpointPart",
    "CheckpointReader",
    "CheckpointTensor",
    "CompileError",
    "DamagedKernel",
    "DecodeAttentionKernel",
    "DecodePlan",
    "DecodeProof",
    "DequantizeKernel",
    "DeviceMemory",
    "DriverError",
    "Error",
    "FileError",
    "GemmKernel",
    "InternalError",
    "Kernel",
    "KernelRequest",
    "KvAppendKernel",
    "KvCache",
    "KvCacheLayout",
    "KvCacheTensor",
    "KvTensorLayout",
    "Launch",
    "MissingError",
    "Model",
    "ModelCacheSize",
    "ModelKernel",
    "ModelLayer",
    "ModelPart",
    "ModelSize",
    "ModelUncounted",
    "ModelUnserved",
    "ModelWeightSize",
    "ModelWorkspaceSize",
    "MoeKernel",
    "Plan",
    "PlannedKernel",
    "Preparation",
    "PreparationStatus",
    "Problem",
    "QuantizeWeightKernel",
    "QuantizedWeights",
    "RepackKernel",
    "RowTransformKernel",
    "Runtime",
    "Source",
    "Spec",
    "SpecError",
    "Statistics",
    "Target",
    "TunedCosts",
    "TunedEntry",
    "TunedTable",
    "TunedTables",
    "UnservedLayer",
    "UnsupportedError",
    "Uploader",
    "UsageError",
    "WeightLayout",
    "__version__",
    "build",
    "check_packed_weights",
    "kv_cache_layout",
    "layout_version",
    "model_size",
    "moe_gemms",
    "pack_weights",
    "prove",
    "quantize",
    "read_bundle",
    "render",
    "resolve",
    "spec_schema",
    "statistics",
    "unpack_weights",
    "weight_layout",
    "write_bundle",
]
