"""The runtime that the operators use, its kernels, and their launches on PyTorch's stream."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any

import torch

from .. import GemmKernel, Kernel, MoeKernel, Runtime
from .._errors import UsageError
from ._specs import canonical
from ._workspace import current_stream, is_capturing, pool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._specs import SpecLike


class _Kernels:
    """Kernels by spec and device, of one runtime."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.runtime: Runtime | None = None
        self.loaded: dict[tuple[str, int], Kernel] = {}


_kernels = _Kernels()
_thread = threading.local()


def runtime() -> Runtime:
    """The runtime that the operators use; made at the first use."""
    with _kernels.lock:
        if _kernels.runtime is None:
            _kernels.runtime = Runtime()
        return _kernels.runtime


def set_runtime(new: Runtime) -> None:
    """From here on the operators take kernels from `new`: another cache, strict, with a log."""
    with _kernels.lock:
        _kernels.runtime = new
        _kernels.loaded = {}


def prepare(specs: Iterable[SpecLike], device: int | None = None) -> None:
    """Compiles in parallel, or finds in the cache, the kernels of specs, and loads them.

    What was not prepared is made by its first launch, but never while a stream is captured.
    `device` is an ordinal; None: the current one.
    """
    lines = list(dict.fromkeys(canonical(spec) for spec in specs))
    device = torch.cuda.current_device() if device is None else device
    with torch.cuda.device(device):
        use_context(device)
        for line, kernel in zip(lines, runtime().prepare(lines), strict=True):
            _kernels.loaded[line, device] = kernel


def use_context(device: int) -> None:
    """Makes the context of a device that is PyTorch's current one current in this thread.

    PyTorch leaves that to the thread's first call of CUDA, which an operator may come before.
    """
    if getattr(_thread, "device", None) != device and not is_capturing():
        torch.cuda.current_stream(device).query()
        _thread.device = device


def kernel_of(spec: str, device: int) -> Kernel:
    """The kernel of a spec for a device, which is PyTorch's current one."""
    found = _kernels.loaded.get((spec, device))
    if found is None:
        found = runtime().kernel(spec, current_stream(device) if is_capturing() else None)
        _kernels.loaded[spec, device] = found
    return found


def workspace_bytes(kernel: Kernel, m: int | None) -> int:
    """Bytes of workspace of a launch with M, where the kernel tells them, else of any launch."""
    if m is not None and isinstance(kernel, (GemmKernel, MoeKernel)):
        return kernel.workspace_bytes(m)
    return kernel.max_workspace_bytes


def launch(
    spec: str, on: torch.Tensor, m: int | None = None, *, workspace: bool = False, **arguments: Any
) -> None:
    """One launch on the current stream of the device of `on`."""
    if on.device.type != "cuda":
        raise UsageError(
            f"a tensor is on the device {on.device}; allowed: all on one CUDA device",
            "torch.device",
        )
    device = on.device.index
    if device != torch.cuda.current_device():
        with torch.cuda.device(device):
            launch(spec, on, m, workspace=workspace, **arguments)
        return
    use_context(device)
    kernel: Any = kernel_of(spec, device)
    stream = current_stream(device)
    if workspace:
        arguments["workspace"] = pool.get(device, stream, workspace_bytes(kernel, m))
    kernel.launch(**{name: _plain(value) for name, value in arguments.items()}, stream=stream)


def parts(rows: int, most: int) -> list[tuple[int, int]]:
    """The first row and the rows of each launch, where one has at most `most`; none for no rows.

    They are equal, because the spec's range may also have a lower end.
    """
    count = -(-rows // most)
    ends = [rows * i // count for i in range(count + 1)] if count else []
    return [(begin, end - begin) for begin, end in itertools.pairwise(ends)]


def _plain(value: Any) -> Any:
    """Without the mark of a parameter; the operators refuse what a gradient is wanted of."""
    if isinstance(value, torch.Tensor) and value.requires_grad:
        return value.detach()
    return value
