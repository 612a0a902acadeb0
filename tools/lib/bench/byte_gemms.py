"""GEMMs with activations of eight bits, and those of 16 that they are held against, by name."""

# By name: the type of X, how products are added, and the mode of cuBLASLt beside it.
KINDS = {"FP8 fast": ("fp8_e4m3", "fast", "tensor fast"), "FP8": ("fp8_e4m3", "promoted", "tensor"),
         "INT8": ("int8", "promoted", None), "FP8 blocks": ("fp8_e4m3", "promoted", "blocks")}
AGAINST_FP8 = ("INT8", "FP8 blocks")
# Weights of four bits: the type of X, and the columns of a group.
FOUR_BITS = {"W4A8 INT8": ("int8", 128), "W4A8 FP8": ("fp8_e4m3", 128),
             "W4A8 INT8 g32": ("int8", 32)}
# With scales in two levels.
TWO_LEVELS = {"W4A8 two levels": ("int8", 128), "W4A8 two levels g32": ("int8", 32)}
W4A16 = {128: "W4A16", 32: "W4A16 g32"}
ALL = [*KINDS, *FOUR_BITS, *TWO_LEVELS, *W4A16.values()]


def four_bit_spec(shape, dtype, group):
    n, k = shape
    activation = {"dtype": dtype} if dtype == "fp16" else {"dtype": dtype, "granularity": "token"}
    return {"heddle": 1, "op": "gemm", "shape": {"n": n, "k": k}, "activation": activation,
            "weight": {"bits": 4, "group_size": group, "scale_dtype": "fp16"},
            "output": {"dtype": "fp16"}}


def spec_of(shape, kind):
    if kind in FOUR_BITS:
        return four_bit_spec(shape, *FOUR_BITS[kind])
    if kind in TWO_LEVELS:
        spec = four_bit_spec(shape, *TWO_LEVELS[kind])
        spec["weight"].update(zero_point="int", scale_dtype="int8", channel_scale="fp16")
        return spec
    for group, name in W4A16.items():
        if kind == name:
            return four_bit_spec(shape, "fp16", group)
    dtype, accumulation, _ = KINDS[kind]
    n, k = shape
    weight = {"bits": 8, "type": "int" if dtype == "int8" else "e4m3", "group_size": -1}
    granularity = "token"
    if kind == "FP8 blocks":
        weight.update(group_size=128, group_rows=128)
        granularity = "group"
    return {"heddle": 1, "op": "gemm", "shape": {"n": n, "k": k}, "weight": weight,
            "activation": {"dtype": dtype, "granularity": granularity}, "output": {"dtype": "bf16"},
            "accumulation": accumulation}
