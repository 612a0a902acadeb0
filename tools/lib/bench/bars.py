"""What the GEMM must reach on an H200: the shapes, the weights and the bars, as data.

A floor is what heddle bench prints: the time of a launch and of the bytes at the streaming rate of
the same run, or that of the tensor cores.
"""

FEW = (1, 2, 4, 8)  # tokens for which the first bar of a shape holds
DECODE_M = (*FEW, 16, 32, 64)

# 4-bit weights, group 128. (N, K): times the floor for few tokens, for 16 and for 32; microseconds
# for 64, where one is set.
DECODE = {
    (28672, 8192): (1.10, 1.12, 1.20, 45),
    (8192, 28672): (1.10, 1.12, 1.20, 45),
    (8192, 8192): (1.20, 1.25, 1.35, 15.5),
    (10240, 8192): (1.20, 1.25, 1.35, None),
    (14336, 4096): (1.25, 1.30, 1.40, 14.5),
    (4096, 14336): (1.25, 1.30, 1.40, 14.5),
    (4096, 4096): (1.40, 1.50, 1.60, 7.5),
    (6144, 4096): (1.40, 1.50, 1.60, None),
}

# Shapes of real models that are as good as the one beside them, which is of their size; a number
# is a bar for every M.
ODD = {
    (18944, 3584): (8192, 8192),    # Qwen2.5-7B
    (3584, 18944): (8192, 8192),
    (8192, 29568): (28672, 8192),   # Qwen2.5-72B
    (4864, 896): 1.60,              # Qwen2.5-0.5B
    (21504, 14336): (28672, 8192),  # BLOOM, split two ways
}

# Random shapes, even on a logarithmic scale, W4 with groups of 128. Times the floor, the mean of all and
# the worst of those whose weights are no smaller than so many bytes, by card and M.
RANDOM_N = (512, 40960)
RANDOM_K = (1024, 28672)
RANDOM_LEAST_BYTES = 4 << 20
RANDOM_FEW_M = (1, 4, 8, 16, 32, 64)
RANDOM_FEW = {
    "h200": {1: (1.06, 1.25), 4: (1.08, 1.30), 8: (1.10, 1.30), 16: (1.20, 1.45), 32: (1.28, 1.60),
             64: (1.50, 1.90)},
}
# Times cuBLAS FP16, mean and worst of each M.
RANDOM_MANY_M = (96, 128, 192, 256, 384, 512, 1024, 2048)
RANDOM_MANY = (1.00, 1.05)

# A shape of each size, for the tables of other weights and for prefill.
PROBE_SHAPES = ((4096, 4096), (14336, 4096), (8192, 8192), (28672, 8192))

W4 = {"bits": 4, "group_size": 128}
W4_ZERO = {**W4, "zero_point": "int"}
NVFP4 = {"bits": 4, "type": "e2m1", "group_size": 16, "scale_dtype": "e4m3", "tensor_scale": True}
MXFP4 = {"bits": 4, "type": "e2m1", "group_size": 32, "scale_dtype": "e8m0"}

# Other weights at decode: label, weight, activations, times the bar of 4-bit weights.
DECODE_FORMATS = {
    "w8": [("W8", {"bits": 8, "group_size": 128}, "fp16", 1.00)],
    "narrow": [
        ("W2", {"bits": 2, "group_size": 128}, "fp16", 1.10),
        ("W3", {"bits": 3, "group_size": 128}, "fp16", 1.10),
        ("W6", {"bits": 6, "group_size": 128}, "fp16", 1.10),
    ],
    "floats": [
        ("FP8", {"bits": 8, "type": "e4m3", "group_size": 128}, "fp16", 1.10),
        ("FP4", {"bits": 4, "type": "e2m1", "group_size": 128}, "fp16", 1.10),
        ("NVFP4", NVFP4, "bf16", 1.10),
        ("MXFP4", MXFP4, "bf16", 1.10),
    ],
}
FORMATS_M = (1, 8, 16, 32, 64)

# The GEMMs of a model's layer in one graph. The bar, of the first with one token: times their bytes
# at the streaming rate, plus.
LAYERS = {
    "Llama-3-8B": ((6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336)),
    "Llama-3-70B": ((10240, 8192), (8192, 8192), (57344, 8192), (8192, 28672)),
    "Qwen2.5-7B": ((4608, 3584), (3584, 3584), (37888, 3584), (3584, 18944)),
    "Llama-3.2-3B": ((5120, 3072), (3072, 3072), (16384, 3072), (3072, 8192)),
    "Qwen2.5-1.5B": ((2048, 1536), (1536, 1536), (17920, 1536), (1536, 8960)),
}
LAYER_M = (1, 2, 4, 8)
LAYER_BAR = ("Llama-3-8B", 1)
LAYER_TIMES = 1.15
LAYER_PLUS_US = 3.0

# The path of older GPUs, forced, against the default one.
OLDER_M = (1, 2, 4, 8, 16)
OLDER_TIMES = 1.25

# Times cuBLAS FP16 of the same run.
PREFILL = {
    (8192, 8192): {128: 0.75, 256: 0.98, 512: 1.00, 1024: 1.00, 4096: 1.00},
    (28672, 8192): {128: 0.72, 256: 0.98, 512: 0.99, 1024: 0.99, 4096: 1.00},
    (14336, 4096): {128: 0.85, 256: 1.02, 512: 1.03, 1024: 1.03, 4096: 1.03},
    (4096, 4096): {128: 1.00, 256: 1.05, 512: 1.10, 1024: 1.10, 4096: 1.05},
}
PREFILL_M = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
BORDER_M = (65, 127, 129, 257, 1000, 1023, 1025)
BETWEEN_M = (96, 192, 384, 768, 1536, 3072)
# No size takes more than so many times what a larger one takes.
STEP_TIMES = 1.05

# Other weights at prefill: label, weight, activations, times the 4-bit weights of the same run.
PREFILL_FORMATS = [
    ("W4 zero points", W4_ZERO, "fp16", 1.03),
    ("W4 group 64", {"bits": 4, "group_size": 64}, "fp16", 1.05),
    ("W4 group 32", {"bits": 4, "group_size": 32}, "fp16", 1.05),
    ("W8", {"bits": 8, "group_size": 128}, "fp16", 1.03),
    ("FP8", {"bits": 8, "type": "e4m3", "group_size": 128}, "fp16", 1.03),
    ("FP4", {"bits": 4, "type": "e2m1", "group_size": 128}, "fp16", 1.03),
    ("NVFP4", NVFP4, "bf16", 1.03),
    ("MXFP4", MXFP4, "bf16", 1.03),
]
PREFILL_FORMATS_M = (128, 256, 512, 1024, 4096)

# The path of older GPUs, forced, against vLLM's Marlin on the same GPU: microseconds.
OLDER_PREFILL = {
    (4096, 4096): {1: 8.7, 16: 9.2, 64: 14.9, 256: 29.9, 4096: 370},
    (14336, 4096): {1: 15.3, 16: 16.8, 64: 31.1, 256: 86.5, 4096: 1436},
    (8192, 8192): {1: 15.6, 16: 17.0, 64: 40.7, 256: 96.3, 4096: 1584},
    (28672, 8192): {1: 44.0, 16: 49.1, 64: 87.9, 256: 333, 4096: 5392},
}

# Activations and weights of eight bits: shapes with bars.
W8A8_SHAPES = ((4096, 4096), (14336, 4096), (8192, 8192), (28672, 8192), (5120, 25600), (7168, 2048),
               (2112, 7168), (576, 7168))
W8A8_M = (1, 4, 16, 64, 256, 1024, 4096)
# Times cuBLASLt in the same mode with one scale a tensor; of INT8 and of blocks times the FP8 of the
# same run.
W8A8_MANY = {"FP8 fast": 1.00, "FP8": 1.05, "INT8": 1.02, "FP8 blocks": 1.10}


def w8a8_few(n, k, m, floor_us):
    """Microseconds for up to 64 tokens: what the floor may be left by. Rows that give fewer than
    132 SMs a tile of 64 do not fill them."""
    megabytes = n * k / 1e6
    more = 0.35 if megabytes >= 30 else 1.5 if n < 64 * 132 and megabytes < 5 else 0.9
    return floor_us * (1.06 if m > 16 else 1.02) + more


# Weights of four bits by activations of eight, times the same weights by FP16 in the same run; of
# groups of 32 columns with many tokens.
W4A8 = {1: 1.00, 4: 1.00, 16: 1.00, 64: 0.95, 256: 0.75, 1024: 0.62, 4096: 0.60}
W4A8_OF_32 = {1024: 0.85, 4096: 0.85}

# A token in PyTorch at batch 1: times a step of heddle bench --step, and the share of it that no
# kernel runs. By batch: times compiled BF16.
TOKEN_OF_STEP = 1.05
BETWEEN_KERNELS = 0.10
TOKEN_OF_COMPILED = {1: 0.32, 64: 0.6}
