"""Where the wheel nvidia-cuda-nvrtc has put libnvrtc."""

from __future__ import annotations

import importlib.machinery
import pathlib
import sys


def folder() -> str | None:
    """The folder of libnvrtc in the package ``nvidia``, or None. Imports nothing of it.

    Wheels for CUDA 13 put it into nvidia/cu13/lib, older ones into nvidia/cuda_nvrtc/lib.
    """
    spec = importlib.machinery.PathFinder.find_spec("nvidia", sys.path)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        found = sorted(pathlib.Path(place).glob("*/lib/libnvrtc.so.[0-9]*"))
        if found:
            return str(found[-1].parent)
    return None
