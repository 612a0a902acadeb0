"""Where the wheel nvidia-cuda-nvrtc has put libnvrtc."""

from __future__ import annotations

import importlib.machinery
import pathlib
import sys


def folder() -> str | None:
    """The folder of libnvrtc in the package ``nvidia``, or None. Imports nothing of it.

    Wheels for CUDA 13 put it into nvidia/cu13/lib, older ones into nvidia/cuda_nvrtc/lib. Of
    several wheels the one with the highest CUDA version.
    """
    spec = importlib.machinery.PathFinder.find_spec("nvidia", sys.path)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        found = [(_version(file.name), str(file.parent))
                 for file in pathlib.Path(place).glob("*/lib/libnvrtc.so.[0-9]*")]
        if found:
            return max(found)[1]
    return None


def _version(name: str) -> int:
    """12 of ``libnvrtc.so.12`` and of ``libnvrtc.so.12.9.86``."""
    return int(name.removeprefix("libnvrtc.so.").split(".")[0])
