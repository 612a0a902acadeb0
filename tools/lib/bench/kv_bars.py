"""What the key-value cache's kernels must reach on an H200: specs, loads and bars, as data.

A floor is what heddle bench prints: the time of a launch and of K, V and their scales, read once at
the streaming rate of the same run.
"""

HEAD_DIM = 128
KV_HEADS = 8
HEADS = (32, 64)

INT8 = {"dtype": "int8"}
INT4 = {"dtype": "int4"}
E4M3 = {"dtype": "fp8_e4m3", "granularity": "tensor"}
TYPES = {"INT8": INT8, "E4M3": E4M3, "INT4": INT4}

# (sequences, tokens of each): times the floor, or microseconds where that says more.
TIMES = {
    "INT8": {(64, 8192): 1.10, (256, 1024): 1.15, (16, 8192): 1.18, (64, 1024): 1.30,
             (1, 32768): 1.50, (8, 4096): 1.50},
    "E4M3": {(64, 8192): 1.10, (256, 1024): 1.15, (16, 8192): 1.18, (64, 1024): 1.30,
             (1, 32768): 1.50, (8, 4096): 1.50},
    "INT4": {(64, 8192): 1.20, (256, 1024): 1.30, (16, 8192): 1.35, (64, 1024): 1.60,
             (1, 32768): 2.00, (8, 4096): 2.00},
}
MICROSECONDS = {
    "INT8": {(1, 8192): 9.0, (1, 1024): 5.5},
    "E4M3": {(1, 8192): 9.0, (1, 1024): 5.5},
    "INT4": {(1, 8192): 8.0, (1, 1024): 5.5},
}
LOADS = tuple(TIMES["INT8"]) + tuple(MICROSECONDS["INT8"])

LARGE = (64, 8192)
# Times the floor with one query head for each head of K and V, and of 16-bit caches, at LARGE.
ALONE_HEADS = 32
ALONE = {"INT8": 1.12, "E4M3": 1.12, "INT4": 1.20}
HALF = 1.06

# label, what the kv block has beside the type, what the spec has, times the plain spec, at LARGE.
VARIANTS = [
    ("groups of 64", {"granularity": "group", "group_size": 64}, {}, 1.10),
    ("groups of 32", {"granularity": "group", "group_size": 32}, {}, 1.10),
    ("K per channel, 64 tokens", {"k": {"granularity": "channel", "group_size": 64}}, {}, 1.10),
    ("K per channel, 128 tokens",
     {"k": {"granularity": "channel", "group_size": 128}, "page_size": 128}, {}, 1.10),
    ("zero points", {"symmetric": False}, {}, 1.05),
    ("ALiBi", {}, {"alibi": "standard"}, 1.03),
    ("softcap", {}, {"softcap": 30}, 1.03),
    ("window of all tokens", {}, {"window": LARGE[1]}, 1.03),
    ("contiguous", {"layout": "contiguous"}, {}, 1.00),
    ("pages of 16", {"page_size": 16}, {}, 1.05),
    ("pages of 32", {"page_size": 32}, {}, 1.05),
    ("pages of 128", {"page_size": 128}, {}, 1.05),
    ("order nhd", {"order": "nhd"}, {}, None),
]
VARIANT_TYPES = ("INT8", "INT4")

# Fewer bits are never slower: loads to see that on, and what two runs of one kernel may differ.
ORDER = (("INT8", "FP16"), ("INT4", "INT8"))
ORDER_LOADS = tuple((sequences, length) for sequences in (1, 4, 16, 64, 256)
                    for length in (128, 1024, 8192, 32768, 131072)
                    if sequences * length <= 1 << 20)
ORDER_NOISE = 1.02

# Lengths drawn from a range: times the floor of all their bytes.
RAGGED_LOAD = "64x1-16384"
RAGGED = 1.15

# Shares of the rate of a plain kernel that moves as many bytes, for 8192 tokens; microseconds for one
# token of each of 64 sequences.
APPEND_RATE = 0.80
APPEND_US = 4.0
