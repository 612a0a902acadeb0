"""Layers of experts that benchmarks time, and how many times the floor each may take, as data."""

import json

from bench import run

TOKENS = (1, 8, 32, 64, 256, 1024)

MIXTRAL = {
    "heddle": 1, "op": "moe",
    "shape": {"hidden": 4096, "intermediate": 14336, "experts": 8, "top_k": 2},
    "weight": {"gate_up": {"bits": 4, "group_size": 128}, "down": {"bits": 4, "group_size": 128}},
    "activation": {"dtype": "fp16"}, "epilogue": {"activation": "silu", "gated": True}}


def example(name):
    return json.loads((run.ROOT / f"examples/specs/{name}.json").read_text())


# The spec of each layer by what it is called.
LAYERS = {"Mixtral 8x7B W4": MIXTRAL,
          "Qwen3-30B-A3B W4": example("moe-qwen3-30b"),
          "gpt-oss-20b MXFP4": example("moe-gpt-oss-20b")}

# The routers of two of them: what follows on the logits is timed, too.
ROUTINGS = {"Qwen3-30B-A3B W4": {"scores": "softmax", "renormalize": True},
            "gpt-oss-20b MXFP4": {"scores": "softmax", "renormalize": True, "logits_dtype": "bf16"}}
ROUTED_TOKENS = (1, 8, 64)
MOST_US_MORE = 2  # than the same layer takes that is given ids and weights, on an H200

# Times the floor on an H200, at TOKENS.
H200 = {"Mixtral 8x7B W4": (1.10, 1.08, 1.16, 1.31, 1.36, 1.20),
        "Qwen3-30B-A3B W4": (1.46, 1.18, 1.11, 1.14, 1.23, 1.43),
        "gpt-oss-20b MXFP4": (1.29, 1.11, 1.12, 1.23, 1.42, 1.34)}

# Tokens at which a skewed choice is timed: it may take this much more of its own floor than a uniform one.
SKEWED_TOKENS = (8, 64, 256, 1024)
MOST_SKEWED = 1.15

# Layers by the rows of an expert, and what they may take of the floor on an H200. All experts are hit.
DEEPSEEK_V3 = {
    "heddle": 1, "op": "moe",
    "shape": {"hidden": 7168, "intermediate": 2048, "experts": 256, "top_k": 8, "tokens": [1, 8192]},
    "weight": {"gate_up": {"bits": 4, "group_size": 32}, "down": {"bits": 4, "group_size": 32}},
    "activation": {"dtype": "bf16"}, "epilogue": {"activation": "silu", "gated": True}}
NVFP4 = {"bits": 4, "type": "e2m1", "group_size": 16, "scale_dtype": "e4m3", "tensor_scale": True}
QWEN3_235B = {
    "heddle": 1, "op": "moe",
    "shape": {"hidden": 4096, "intermediate": 1536, "experts": 128, "top_k": 8},
    "weight": {"gate_up": NVFP4, "down": NVFP4},
    "activation": {"dtype": "bf16"}, "epilogue": {"activation": "silu", "gated": True}}
BY_ROWS = {"DeepSeek V3 INT4": (DEEPSEEK_V3, 32), "Qwen3-235B-A22B NVFP4": (QWEN3_235B, 16)}  # tokens for each row
ROWS = (4, 8, 16, 32, 64, 256)
H200_BY_ROWS = (1.15, 1.15, 1.22, 1.3, 1.45, 1.3)
