"""What tools/check-nvrtc compiles: specs that reach every kernel family."""

import json

# Widths that no example has. The others' zero points and types differ from one to the next.
WIDTHS = ((1, "fp16", "none", 128), (2, "bf16", "int", 64), (3, "fp16", "int", 32),
          (5, "bf16", "none", 128), (6, "fp16", "float", 128), (7, "bf16", "int", 128),
          (8, "fp16", "int", 128))
CACHES = ("int8", "int4", "int2", "fp8_e4m3", "fp8_e5m2", "nvfp4", "fp16")

# Counts of tokens that choose a stream, bulk copies, wgmma with tiles shared in pairs (at 48 and at
# 256 NVRTC 12.0 to 12.8 used to crash) and wgmma with more than 128 tokens.
SAMPLE_TOKENS = (1, 8, 48, 256, 600)
SAMPLE_EXAMPLES = (
    "act-order", "decode-attention-int4-channel", "decode-attention-nvfp4", "dequantize-awq",
    "dequantize-gptq", "dequantize-packed", "kv-append-int4-channel", "kv-append-nvfp4",
    "quantize-g128", "repack-awq", "repack-gptq-act-order", "layer-norm-bias",
    "rms-norm-residual", "silu-gate", "rms-norm-residual-fp8-token",
    "silu-gate-fp8-group", "rows-int8-zero-points")


def gemm(bits, dtype, zero_point, group_size):
    return {"heddle": 1, "op": "gemm", "name": f"gemm-{bits}-bits",
            "shape": {"n": 4096, "k": 4096},
            "weight": {"bits": bits, "group_size": group_size, "zero_point": zero_point},
            "activation": {"dtype": dtype}}


def attention(op, cache):
    return {"heddle": 1, "op": op, "name": f"{op}-{cache}",
            "shape": {"heads": 32, "kv_heads": 8, "head_dim": 128} if op == "decode_attention"
            else {"kv_heads": 8, "head_dim": 128},
            "activation": {"dtype": "fp16"}, "kv": {"dtype": cache}}


def examples(folder):
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


def with_tokens(spec, tokens):
    """The same for one count of tokens, which takes one kernel."""
    return {**spec, "shape": {**spec["shape"], "m": [tokens, tokens]}}


def all_specs(folder):
    widths = [gemm(*width) for width in WIDTHS]
    caches = [attention(op, cache) for op in ("decode_attention", "kv_append") for cache in CACHES]
    return [*examples(folder).values(), *widths, *caches]


def sample_specs(folder):
    """One or two of each family."""
    found = examples(folder)
    several = [with_tokens(found["symmetric-g128"], tokens) for tokens in SAMPLE_TOKENS]
    one = [found[name] for name in SAMPLE_EXAMPLES]
    return several + [with_tokens(spec, 5) if spec["op"] == "gemm" else spec for spec in one]
