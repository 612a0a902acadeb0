"""kv_append and decode_attention on the fake driver."""

import pytest
from fake_arrays import DlpackArray

HEADS, KV_HEADS, DIM, PAGES, PAGE, SEQUENCES = 8, 2, 128, 16, 64, 3
INT = "int32"


def kv(dtype="int8", granularity="head", **fields):
    return {"k": {"dtype": dtype, "granularity": granularity},
            "v": {"dtype": dtype, "granularity": granularity},
            "layout": "paged", "page_size": PAGE, **fields}


def append_spec(**fields):
    return {"heddle": 1, "op": "kv_append", "shape": {"kv_heads": KV_HEADS, "head_dim": DIM},
            "activation": {"dtype": "fp16"}, "kv": kv(), **fields}


def attention_spec(**fields):
    return {"heddle": 1, "op": "decode_attention",
            "shape": {"heads": HEADS, "kv_heads": KV_HEADS, "head_dim": DIM},
            "activation": {"dtype": "fp16"}, "kv": kv(), **fields}


def cache_of(heddle, spec, **changes):
    layout = heddle.kv_cache_layout(spec)

    def tensor(of, at):
        return heddle.KvCacheTensor(
            codes=DlpackArray((of.code_bytes(PAGES, PAGE),), "uint8", pointer=at),
            scales=DlpackArray((of.scale_bytes(PAGES, PAGE) // 2,), pointer=at + 0x1000000))

    given = {"k": tensor(layout.k, 0x1000000), "v": tensor(layout.v, 0x4000000), "pages": PAGES,
             "block_table": DlpackArray((SEQUENCES, 4), INT)}
    return heddle.KvCache(**{**given, **changes})


def append_arguments(heddle, spec, **changes):
    given = {"k": DlpackArray((SEQUENCES, KV_HEADS, DIM)),
             "v": DlpackArray((SEQUENCES, KV_HEADS, DIM)),
             "lengths": DlpackArray((SEQUENCES,), INT, pointer=0x10004),
             "cache": cache_of(heddle, spec)}
    return {**given, **changes}


def refuse(heddle, call, code, words=""):
    with pytest.raises(heddle.UsageError) as caught:
        call()
    assert caught.value.code == code
    assert words in str(caught.value)


def test_the_layout_of_a_cache(heddle):
    layout = heddle.kv_cache_layout(append_spec())
    assert layout == heddle.kv_cache_layout(attention_spec())
    assert (layout.k.row_bytes, layout.k.scale_row_bytes, layout.k.order) == (DIM, 2, "hnd")
    assert layout.k.code_bytes(PAGES, PAGE) == PAGES * PAGE * KV_HEADS * DIM
    assert layout.token_bytes == 2 * KV_HEADS * (DIM + 2)
    with pytest.raises(heddle.UsageError) as caught:
        heddle.kv_cache_layout({"heddle": 1, "op": "gemm", "shape": {"n": 64, "k": 256},
                                "weight": {"bits": 4}, "activation": {"dtype": "fp16"}})
    assert caught.value.code == "kv.operation"


def test_places_that_a_cache_does_not_have(heddle):
    k = heddle.kv_cache_layout(append_spec()).k
    for call, words in ((lambda: k.code_bytes(10, 0), "page_tokens"),
                        (lambda: k.code_bytes(-1, 64), "pages"),
                        (lambda: k.scale_bytes(1, -64), "page_tokens"),
                        (lambda: k.code_bytes(2**31 - 1, 2**31 - 1), "address"),
                        (lambda: k.residual_bytes(-1), "slots"),
                        (lambda: k.code_offset(-1, PAGE, 0, 0), "page"),
                        (lambda: k.code_offset(0, PAGE, PAGE, 0), "token"),
                        (lambda: k.code_offset(0, PAGE, 0, KV_HEADS), "head"),
                        (lambda: k.scale_offset(0, PAGE, 0, -1), "head")):
        refuse(heddle, call, "kv.layout", words)
    assert k.code_bytes(0, PAGE) == k.residual_bytes(0) == k.code_offset(0, PAGE, 0, 0) == 0
    last = k.code_offset(PAGES - 1, PAGE, PAGE - 1, KV_HEADS - 1)
    assert last == k.code_bytes(PAGES, PAGE) - k.row_bytes


def test_kv_append_launches(heddle, driver, runtime):
    spec = append_spec()
    kernel = runtime.kernel(spec)
    kernel.launch(**append_arguments(heddle, spec))
    wide = {name: DlpackArray((SEQUENCES, KV_HEADS, DIM), strides=(2048, DIM, 1))
            for name in ("k", "v")}
    kernel.launch(**append_arguments(heddle, spec, **wide))
    offsets = DlpackArray((SEQUENCES + 1,), INT)
    tokens = {name: DlpackArray((7, KV_HEADS, DIM)) for name in ("k", "v")}
    kernel.launch(**append_arguments(heddle, spec, offsets=offsets, **tokens))
    raw = heddle.DeviceMemory(0x10000, SEQUENCES * KV_HEADS * DIM * 2)
    kernel.launch(**append_arguments(heddle, spec, k=raw, tokens=SEQUENCES))
    assert len(driver.launches()) == 4


def test_kv_append_refuses_by_name(heddle, driver, runtime):
    spec = append_spec()
    kernel = runtime.kernel(spec)

    def bind(**changes):
        kernel.bind(**append_arguments(heddle, spec, **changes))

    refuse(heddle, lambda: bind(v=DlpackArray((4, KV_HEADS, DIM))), "launch.shape",
           "v has another shape")
    flat = DlpackArray((SEQUENCES, KV_HEADS * DIM))
    refuse(heddle, lambda: bind(k=flat), "launch.shape", "k has")
    refuse(heddle, lambda: bind(k=DlpackArray((3, KV_HEADS, DIM), strides=(1024, 256, 1))),
           "launch.layout", "k has rows")
    refuse(heddle, lambda: bind(lengths=DlpackArray((SEQUENCES,), "int64")), "launch.dtype",
           "lengths")
    refuse(heddle, lambda: bind(offsets=DlpackArray((SEQUENCES,), INT)), "launch.shape", "offsets")
    refuse(heddle, lambda: bind(q=DlpackArray((3, HEADS, DIM))), "launch.unexpected", "q is given")
    refuse(heddle, lambda: bind(rotations=DlpackArray((9, DIM), "float32")), "launch.unexpected",
           "rotations")
    refuse(heddle, lambda: bind(cache="cache"), "launch.argument", "cache is a str")
    table = DlpackArray((4, 4), INT)
    refuse(heddle, lambda: bind(cache=cache_of(heddle, spec, block_table=table)), "launch.shape",
           "cache.block_table")
    cache = cache_of(heddle, spec)
    cache.k.codes = DlpackArray((64,), "float32")
    refuse(heddle, lambda: bind(cache=cache), "launch.dtype", "cache.k.codes")
    # What a size or a missing part is, the launch itself says.
    cache.k.codes = DlpackArray((64,), "uint8")
    refuse(heddle, lambda: kernel.launch(**append_arguments(heddle, spec, cache=cache)),
           "launch.too_small", "cache.k.codes")
    cache.k.codes = None
    refuse(heddle, lambda: kernel.launch(**append_arguments(heddle, spec, cache=cache)),
           "launch.missing", "cache.k.codes")
    assert driver.launches() == []


def test_kv_append_with_queries_norms_and_rotations(heddle, driver, runtime):
    spec = append_spec(query={"heads": HEADS}, norm={"epsilon": 1e-6},
                       rope={"pairing": "neox", "source": "table"})
    kernel = runtime.kernel(spec)
    given = append_arguments(
        heddle, spec, q=DlpackArray((SEQUENCES, HEADS, DIM), strides=(1536, DIM, 1)),
        k=DlpackArray((SEQUENCES, KV_HEADS, DIM), strides=(1536, DIM, 1), pointer=0x10800),
        v=DlpackArray((SEQUENCES, KV_HEADS, DIM), strides=(1536, DIM, 1), pointer=0x10a00),
        q_out=DlpackArray((SEQUENCES, HEADS, DIM), pointer=0x200000),
        k_norm=DlpackArray((DIM,)), q_norm=DlpackArray((DIM,)),
        rotations=DlpackArray((4096, DIM), "float32"))
    kernel.launch(**given)
    for name in ("q", "q_out", "k_norm", "q_norm", "rotations"):
        refuse(heddle, lambda name=name: kernel.launch(**{**given, name: None}), "launch.missing",
               f"{name} is None")
    assert len(driver.launches()) == 1


def test_decode_attention_launches(heddle, driver, runtime):
    spec = attention_spec(sink_logits=True, log_sum_exp=True)
    kernel = runtime.kernel(spec)
    given = {"q": DlpackArray((SEQUENCES, 1, HEADS, DIM)),
             "out": DlpackArray((SEQUENCES, 1, HEADS, DIM), pointer=0x200000),
             "lengths": DlpackArray((SEQUENCES,), INT), "cache": cache_of(heddle, spec),
             "sink_logits": DlpackArray((HEADS,), "float32"),
             "log_sum_exp": DlpackArray((SEQUENCES, 1, HEADS), "float32", pointer=0x300000),
             "workspace": DlpackArray((kernel.max_workspace_bytes,), "uint8", pointer=0x400000)}
    kernel.launch(**given)
    assert len(driver.launches()) == 1
    for name in ("sink_logits", "log_sum_exp"):
        refuse(heddle, lambda name=name: kernel.launch(**{**given, name: None}), "launch.missing",
               f"{name} is None")
    flat = DlpackArray((SEQUENCES, HEADS, DIM))
    refuse(heddle, lambda: kernel.launch(**{**given, "q": flat}), "launch.shape",
           "q has another shape, got [3, 8, 128]; allowed: [3, 1, 8, 128]")
    refuse(heddle, lambda: kernel.launch(**{**given, "workspace": DlpackArray((16,), "uint8")}),
           "launch.workspace", "workspace")
    slopes = DlpackArray((HEADS,), "float32")
    refuse(heddle, lambda: kernel.launch(**given, slopes=slopes), "launch.unexpected", "slopes")
    assert len(driver.launches()) == 1
