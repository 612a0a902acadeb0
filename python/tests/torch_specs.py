"""Specs and caches that tests of heddle.torch share."""

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: tools/test --torch")

N, K = 256, 512


def row_spec(ht, columns=K, **fields):
    return ht.canonical({"heddle": 1, "op": "row_transform", "shape": {"columns": columns},
                         "input": {"dtype": "fp16"}, **fields})


HIDDEN, INNER, EXPERTS, TOP_K = 256, 128, 8, 2


def moe_spec(ht, **fields):
    return ht.canonical({
        "heddle": 1, "op": "moe", "shape": {"hidden": HIDDEN, "intermediate": INNER,
                                            "experts": EXPERTS, "top_k": TOP_K, "tokens": [1, 8]},
        "weight": {"gate_up": {"bits": 4}, "down": {"bits": 4}}, "activation": {"dtype": "fp16"},
        "epilogue": {"activation": "silu", "gated": True}, **fields})


def moe_arguments(heddle, make, spec, tokens):
    gate_up, down = (make(EXPERTS, heddle.weight_layout(each).total_bytes, dtype=torch.uint8)
                     for each in heddle.moe_gemms(spec))
    return (make(tokens, HIDDEN), gate_up, down, make(tokens, TOP_K, dtype=torch.int32),
            make(tokens, TOP_K, dtype=torch.float32))


HEADS, KV_HEADS, DIM, PAGES, SEQUENCES = 8, 2, 128, 16, 3
KV = {"k": {"dtype": "int8", "granularity": "head"}, "v": {"dtype": "int8", "granularity": "head"}}


def cache_specs(ht, **query):
    fields = {"heddle": 1, "activation": {"dtype": "fp16"}, "kv": KV}
    shape = {"kv_heads": KV_HEADS, "head_dim": DIM}
    return (ht.canonical({**fields, "op": "kv_append", "shape": shape, **query}),
            ht.canonical({**fields, "op": "decode_attention", "shape": {**shape, "heads": HEADS},
                          "log_sum_exp": bool(query)}))


def cache_of(heddle, make, spec):
    layout = heddle.kv_cache_layout(spec)

    def tensor(of):
        return heddle.KvCacheTensor(make(of.code_bytes(PAGES, 64), dtype=torch.uint8),
                                    make(of.scale_bytes(PAGES, 64) // 2))

    return heddle.KvCache(tensor(layout.k), tensor(layout.v), PAGES,
                          block_table=make(SEQUENCES, 4, dtype=torch.int32))
