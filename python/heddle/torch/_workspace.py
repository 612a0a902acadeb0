"""Workspaces of launches: one for each stream, so that launches which may overlap share none.

Kernels find a workspace zeroed and leave it so. It cannot be allocated while a stream is captured:
memory from the graph's own pool would be zeroed by replays alone. Each device therefore has a spare
as large as the largest that was ever asked for, which the next stream that is captured takes.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import torch

from .._errors import MissingError

_GRAIN = 1 << 20


def current_stream(device: int) -> int:
    """The handle of PyTorch's current stream."""
    return int(torch.cuda.current_stream(device).cuda_stream)


def is_capturing() -> bool:
    """Whether PyTorch's current stream is being captured into a graph."""
    return bool(torch.cuda.is_current_stream_capturing())


def _zeros(device: int, size: int) -> torch.Tensor:
    """Zeroed memory that no pool of PyTorch's graphs owns.

    Such pools take what the thread and the stream allocate that warm up or are captured, so this
    runs on others.
    """

    def work() -> torch.Tensor:
        stream = torch.cuda.Stream(device)
        with torch.cuda.device(device), torch.cuda.stream(stream):
            memory = torch.zeros(size, dtype=torch.uint8, device=f"cuda:{device}")
        stream.synchronize()
        return memory

    with ThreadPoolExecutor(1) as worker:
        return worker.submit(work).result()


class WorkspacePool:
    """Any thread may use it; what it returns belongs to launches on the current stream."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of_stream: dict[tuple[int, int], torch.Tensor] = {}
        self._spare: dict[int, torch.Tensor] = {}
        # Graphs may hold the addresses of what was replaced.
        self._kept: list[torch.Tensor] = []

    def get(self, device: int, stream: int, size: int) -> torch.Tensor | None:
        """At least `size` bytes for a launch on `stream`, the current one; None for no bytes.

        Raises MissingError while the stream is captured and no launch before has needed as much.
        """
        if size == 0:
            return None
        found = self._of_stream.get((device, stream))
        if found is not None and found.numel() >= size and device in self._spare:
            return found
        with self._lock:
            return self._make(device, stream, size)

    def _make(self, device: int, stream: int, size: int) -> torch.Tensor:
        found = self._of_stream.get((device, stream))
        enough = found is not None and found.numel() >= size
        if is_capturing():
            if enough and found is not None:
                return found
            spare = self._spare.pop(device, None)
            if spare is None or spare.numel() < size:
                raise MissingError(
                    f"a launch needs a workspace of {size} bytes, which cannot be made while its"
                    " stream is captured: run the same work once before the capture",
                    "torch.workspace",
                )
            taken = spare
        else:
            largest = max(size, *(each.numel() for each in self._of_device(device)), 0)
            largest = -(-largest // _GRAIN) * _GRAIN
            if device not in self._spare or self._spare[device].numel() < largest:
                self._spare[device] = _zeros(device, largest)
            if enough and found is not None:
                return found
            taken = _zeros(device, largest)
        if found is not None:
            self._kept.append(found)
        self._of_stream[device, stream] = taken
        return taken

    def _of_device(self, device: int) -> list[torch.Tensor]:
        return [each for (of, _), each in self._of_stream.items() if of == device]


pool = WorkspacePool()
