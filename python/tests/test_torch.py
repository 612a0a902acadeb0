"""heddle.torch without a GPU: fake kernels, torch.compile, and launches on the fake driver."""

import subprocess
import sys

import pytest
from conftest import gemm

torch = pytest.importorskip("torch", reason="needs PyTorch: tools/test --torch")

N, K = 256, 512


@pytest.fixture
def ht(heddle):
    import heddle.torch as package

    return package


@pytest.fixture
def fake_gpu(heddle, ht, driver, runtime, monkeypatch):
    """Launches go to the fake driver; `fake_gpu.capturing` says what PyTorch would."""
    from fake_tensors import FakeCuda
    from heddle.torch import _kernels, _workspace

    class Gpu:
        stream = driver.make_stream()
        capturing = False
        tensor = FakeCuda

        @staticmethod
        def launches():
            return driver.launches()

    for module in (_kernels, _workspace):
        monkeypatch.setattr(module, "current_stream", lambda device: Gpu.stream)
        monkeypatch.setattr(module, "is_capturing", lambda: Gpu.capturing)
    monkeypatch.setattr(_kernels, "use_context", lambda device: None)
    monkeypatch.setattr(_kernels, "pool", _workspace.WorkspacePool())
    monkeypatch.setattr(_workspace, "_zeros",
                        lambda device, size: FakeCuda((size,), torch.uint8))
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    ht.set_runtime(runtime)
    return Gpu


def row_spec(ht, columns=K, **fields):
    return ht.canonical({"heddle": 1, "op": "row_transform", "shape": {"columns": columns},
                         "input": {"dtype": "fp16"}, **fields})


def test_importing_heddle_alone_loads_no_torch():
    code = "import heddle, sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_operators_are_there(ht):
    names = ("gemm", "dequantize", "repack", "quantize_weight", "row_transform", "row_quantize",
             "kv_append", "kv_append_query", "decode_attention")
    for name in names:
        schema = getattr(torch.ops.heddle, name).default._schema
        assert "str spec" in str(schema)
    written = str(torch.ops.heddle.kv_append.default._schema)
    assert "Tensor(a0!) k_codes" in written or "Tensor(a!) k_codes" in written


@pytest.fixture
def fake_mode():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode(allow_non_fake_inputs=True):
        yield


def on_gpu(*shape, dtype=torch.float16):
    return torch.empty(shape, dtype=dtype, device="cuda")


def test_fake_kernels_of_operations_on_weights(ht, fake_mode):
    def spec(op, **fields):
        return ht.canonical({"heddle": 1, "op": op, "shape": {"n": N, "k": K},
                             "weight": {"bits": 4}, **fields})

    packed = on_gpu(7, dtype=torch.uint8)
    size = (N // 16) * (K // 128) * (16 * 128 // 2 + 32)
    for y, shape, dtype in (
            (ht.gemm(on_gpu(3, K), packed, ht.canonical(gemm(N, K))), (3, N), torch.float16),
            (ht.gemm(on_gpu(3, K), packed, ht.canonical(gemm(
                N, K, output={"dtype": "fp32"}, epilogue={"gated": True, "activation": "silu"}))),
             (3, N // 2), torch.float32),
            (ht.dequantize(packed, spec("dequantize", output={"dtype": "bf16"})), (N, K),
             torch.bfloat16),
            (ht.repack(on_gpu(K, N // 8, dtype=torch.int32),
                       spec("repack", source={"format": "awq"})), (size,), torch.uint8),
            (ht.quantize_weight(on_gpu(N, K), spec("quantize_weight", input={"dtype": "fp16"})),
             (size,), torch.uint8)):
        assert (y.shape, y.dtype, y.device.type) == (shape, dtype, "cuda")


def test_fake_kernels_of_rows(heddle, ht, fake_mode):
    x = on_gpu(5, 2 * K)
    y = ht.row_transform(x, row_spec(ht, gate={"order": "halves", "activation": "silu"}))
    assert (y.shape, y.dtype) == ((5, K), torch.float16)

    def shapes(**output):
        made = ht.row_quantize(on_gpu(5, K), row_spec(ht, output=output))
        return [(tuple(each.shape), each.dtype) for each in made]

    f32, codes = torch.float32, ((5, K), torch.float8_e4m3fn)
    assert shapes(dtype="fp8_e4m3", granularity="tensor") == [codes]
    assert shapes(dtype="fp8_e4m3", granularity="token") == [codes, ((5,), f32)]
    assert shapes(dtype="int8", granularity="token", symmetric=False) == [
        ((5, K), torch.int8), ((5,), f32), ((5,), torch.int32)]
    group = {"dtype": "fp8_e4m3", "granularity": "group"}
    assert shapes(**group) == [codes, ((5, 4), f32)]
    assert shapes(**group, scale_layout="column_major") == [codes, ((4, 8), f32)]
    assert shapes(**group, scale_dtype="e8m0") == [codes, ((5, 4), torch.float8_e8m0fnu)]
    assert shapes(**group, scale_layout="column_major", scale_dtype="e8m0") == [
        codes, ((1, 8), torch.int32)]
    with pytest.raises(heddle.UsageError, match="row_quantize"):
        ht.row_transform(on_gpu(5, K), row_spec(ht, output=group))
    with pytest.raises(heddle.UsageError, match="row_transform"):
        ht.row_quantize(on_gpu(5, K), row_spec(ht, norm={"type": "rms", "epsilon": 1e-6}))


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


def test_fake_kernels_of_a_cache(heddle, ht, fake_mode):
    k, lengths = on_gpu(SEQUENCES, KV_HEADS, DIM), on_gpu(SEQUENCES, dtype=torch.int32)
    q = on_gpu(SEQUENCES, HEADS, DIM)
    append, attend = cache_specs(ht)
    cache = cache_of(heddle, on_gpu, append)
    assert ht.kv_append(k, k, lengths, cache, append) is None
    out = ht.decode_attention(q[:, None], lengths, cache, attend)
    assert (out.shape, out.dtype) == ((SEQUENCES, 1, HEADS, DIM), torch.float16)
    append, attend = cache_specs(ht, query={"heads": HEADS})
    rotated = ht.kv_append(k, k, lengths, cache, append, q=q)
    assert rotated.shape == q.shape
    out, lse = ht.decode_attention(rotated[:, None], lengths, cache, attend)
    assert (lse.shape, lse.dtype) == ((SEQUENCES, 1, HEADS), torch.float32)
    with pytest.raises(heddle.UsageError, match="wants it"):
        ht.kv_append(k, k, lengths, cache, append)


def test_a_decoder_layer_compiles_without_a_graph_break(heddle, ht):
    """Traced by Dynamo and AOTAutograd with a number of rows that is not known, on fake tensors."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    append, attend = cache_specs(ht, query={"heads": HEADS})
    norm = row_spec(ht, residual=True, norm={"type": "rms", "epsilon": 1e-6})
    qkv = ht.Linear.quantized(torch.randn((HEADS + 2 * KV_HEADS) * DIM, K).half())
    gate_up = ht.Linear.quantized([torch.randn(64, K).half()] * 2,
                                  epilogue={"gated": True, "activation": "silu"})

    def layer(x, residual, weight, lengths, cache):
        h = ht.row_transform(x, norm, residual, weight)
        q, k, v = qkv(h).view(-1, HEADS + 2 * KV_HEADS, DIM).split(
            [HEADS, KV_HEADS, KV_HEADS], 1)
        q = ht.kv_append(k, v, lengths, cache, append, q=q)
        out, _ = ht.decode_attention(q[:, None], lengths, cache, attend)
        return out, gate_up(h), residual

    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph

    from torch._dynamo.backends.common import aot_autograd

    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        for linear in (qkv, gate_up):
            linear.weights = on_gpu(*linear.weights.shape, dtype=torch.uint8)
        del mode
        compiled = torch.compile(layer, backend=aot_autograd(fw_compiler=backend), fullgraph=True,
                                 dynamic=True)
        with torch.no_grad():
            out, inner, _ = compiled(
                on_gpu(SEQUENCES, K), on_gpu(SEQUENCES, K), on_gpu(K),
                on_gpu(SEQUENCES, dtype=torch.int32), cache_of(heddle, on_gpu, append))
    assert (out.shape, inner.shape) == ((SEQUENCES, 1, HEADS, DIM), (SEQUENCES, 64))
    assert len(graphs) == 1
    called = {str(node.target).removesuffix(".default") for node in graphs[0].graph.nodes
              if node.op == "call_function"}
    text = graphs[0].print_readable(print_output=False)
    for name in ("gemm", "decode_attention", "row_transform", "kv_append_query"):
        assert f"heddle.{name}" in text, called


def test_a_linear_layer_launches(heddle, ht, fake_gpu):
    layer = ht.Linear.quantized(torch.randn(N, K).half())
    layer.weights = fake_gpu.tensor(layer.weights.shape, torch.uint8)
    y = ht.gemm(fake_gpu.tensor((4, K)), layer.weights, layer.spec)
    assert (y.shape, y.device.type) == ((4, N), "cuda")
    assert [stream for _, stream in fake_gpu.launches()] == [fake_gpu.stream]
    with pytest.raises(heddle.UsageError, match="x has the shape"):
        ht.gemm(fake_gpu.tensor((4, K + 8)), layer.weights, layer.spec)
    with pytest.raises(heddle.UsageError, match='operation "gemm"; allowed: "dequantize"'):
        ht.dequantize(layer.weights, layer.spec)


def test_host_memory_and_gradients_are_refused(heddle, ht, fake_gpu):
    layer = ht.Linear.quantized(torch.randn(N, K).half())
    with pytest.raises(heddle.UsageError, match="host memory"):
        layer(torch.zeros(1, K).half())
    x = fake_gpu.tensor((4, K)).requires_grad_()
    weights = fake_gpu.tensor(layer.weights.shape, torch.uint8)
    with pytest.raises(heddle.UsageError, match="requires gradients"):
        ht.gemm(x, weights, layer.spec)
    with torch.no_grad():
        ht.gemm(x, weights, layer.spec)
    assert len(fake_gpu.launches()) == 1


def test_a_capture_takes_only_what_was_there_before(heddle, ht, fake_gpu):
    from heddle.torch import _kernels

    pool = _kernels.pool
    fake_gpu.capturing = True
    with pytest.raises(heddle.MissingError, match="before the capture"):
        pool.get(0, 1, 4096)
    assert pool.get(0, 1, 0) is None
    fake_gpu.capturing = False
    warm = pool.get(0, 1, 4096)
    assert pool.get(0, 1, 1000) is warm
    assert warm.numel() >= 4096
    fake_gpu.capturing = True
    captured = pool.get(0, 2, 4096)
    assert captured.pointer != warm.pointer
    assert pool.get(0, 2, 4096) is captured
    with pytest.raises(heddle.MissingError):
        pool.get(0, 3, 4096)
    fake_gpu.capturing = False
    assert pool.get(0, 1, 4096) is warm  # and makes another spare
    fake_gpu.capturing = True
    assert pool.get(0, 3, 4096).pointer not in {warm.pointer, captured.pointer}
    fake_gpu.capturing = False
    larger = pool.get(0, 2, 1 << 22)
    assert larger.numel() >= 1 << 22
    # The graph still has the address of the smaller one.
    assert any(kept is captured for kept in pool._kept)


def test_kernels_are_loaded_once_and_in_parallel(heddle, ht, fake_gpu, monkeypatch):
    specs = [gemm(N, K), gemm(64, K)]
    monkeypatch.setattr(torch.cuda, "device", lambda device: __import__("contextlib").nullcontext())
    ht.prepare([*specs, specs[0]])
    from heddle.torch import _kernels

    first = _kernels.kernel_of(ht.canonical(specs[0]), 0)
    assert first is _kernels.kernel_of(ht.canonical(specs[0]), 0)
    assert len(_kernels._kernels.loaded) == 2


def test_every_operator_launches(heddle, ht, fake_gpu):
    def on_fake(*shape, dtype=torch.float16):
        return fake_gpu.tensor(shape, dtype)

    def spec(op, **fields):
        return ht.canonical({"heddle": 1, "op": op, "shape": {"n": 64, "k": 256},
                             "weight": {"bits": 4}, **fields})

    w = on_fake(64, 256)
    packed = ht.quantize_weight(w, spec("quantize_weight", input={"dtype": "fp16"}))
    made = ht.dequantize(packed, spec("dequantize", output={"dtype": "fp16"}))
    assert made.shape == w.shape
    awq = ht.repack(on_fake(256, 8, dtype=torch.int32),
                    spec("repack", source={"format": "awq"}), on_fake(2, 64))
    assert awq.shape == packed.shape
    x, residual = on_fake(5, K), on_fake(5, K)
    ht.row_transform(x, row_spec(ht, residual=True, norm={"type": "rms", "epsilon": 1e-6}),
                     residual, on_fake(K))
    ht.row_quantize(x, row_spec(ht, output={"dtype": "fp8_e4m3", "granularity": "token"}))
    ht.row_quantize(x, row_spec(ht, output={
        "dtype": "fp8_e4m3", "granularity": "group", "scale_dtype": "e8m0",
        "scale_layout": "column_major"}))
    lengths, k = on_fake(SEQUENCES, dtype=torch.int32), on_fake(SEQUENCES, KV_HEADS, DIM)
    q = on_fake(SEQUENCES, HEADS, DIM)
    append, attend = cache_specs(ht)
    cache = cache_of(heddle, on_fake, append)
    ht.kv_append(k, k, lengths, cache, append)
    ht.decode_attention(on_fake(SEQUENCES, 1, HEADS, DIM), lengths, cache, attend)
    append, attend = cache_specs(ht, query={"heads": HEADS})
    assert ht.kv_append(k, k, lengths, cache, append, q=q).shape == q.shape
    ht.decode_attention(on_fake(SEQUENCES, 1, HEADS, DIM), lengths, cache, attend)
    assert len(fake_gpu.launches()) == 10
    assert {stream for _, stream in fake_gpu.launches()} == {fake_gpu.stream}
    with pytest.raises(heddle.UsageError, match="lengths has"):
        ht.kv_append(k, k, on_fake(SEQUENCES, dtype=torch.int64), cache, cache_specs(ht)[0])
