"""Transformers on Heddle: after this import from_pretrained() gives quantised checkpoints to it.

    import heddle.transformers
    model = AutoModelForCausalLM.from_pretrained("llama-3-8b-awq", device_map="cuda")
    heddle.transformers.compile(model, kv="int8:head")
    model.generate(**inputs, max_new_tokens=100)       # one CUDA graph for each token

Linear layers become heddle.torch.Linear: q, k and v one, gate and up one with the activation. The
experts of a layer become one module. Everything else, routers and lm_head too, stays as
Transformers has it, and every cache of Transformers works. With a HeddleCache the decoder layers
run on Heddle's kernels from the first norm to the last.

Needs Transformers 5.10 and PyTorch 2.9 or newer.
"""

from __future__ import annotations

from ._cache import HeddleCache
from ._config import METHODS, HeddleConfig
from ._generate import compile
from ._quantizer import HeddleQuantizer, register, unregister

register()

__all__ = [
    "METHODS",
    "HeddleCache",
    "HeddleConfig",
    "HeddleQuantizer",
    "compile",
    "register",
    "unregister",
]
