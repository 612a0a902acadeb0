"""Launches of heddle.torch on the fake driver: streams, workspaces, captures, refusals."""

import contextlib

import pytest
from conftest import gemm
from torch_specs import (
    DIM,
    EXPERTS,
    HEADS,
    HIDDEN,
    KV_HEADS,
    SEQUENCES,
    TOP_K,
    K,
    N,
    cache_of,
    cache_specs,
    moe_arguments,
    moe_spec,
    row_spec,
    torch,
)


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


def test_a_linear_layer_launches(heddle, ht, fake_gpu):
    layer = ht.Linear.quantized(torch.randn(N, K).half())
    layer.weights = fake_gpu.tensor(layer.weights.shape, torch.uint8)
    y = ht.gemm(fake_gpu.tensor((4, K)), layer.weights, layer.spec)
    assert (y.shape, y.device.type) == ((4, N), "cuda")
    assert [stream for _, stream in fake_gpu.launches()] == [fake_gpu.stream]
    with pytest.raises(heddle.UsageError, match="x has another shape"):
        ht.gemm(fake_gpu.tensor((4, K + 8)), layer.weights, layer.spec)
    with pytest.raises(heddle.UsageError, match='operation "gemm"; allowed: "dequantize"'):
        ht.dequantize(layer.weights, layer.spec)


def test_any_number_of_rows(heddle, ht, fake_gpu):
    layer = ht.Linear.quantized(torch.randn(N, K).half(), shape={"n": N, "k": K, "m": [1, 8]})
    weights = fake_gpu.tensor(layer.weights.shape, torch.uint8)
    experts = moe_spec(ht, epilogue={"activation": "silu", "gated": True, "residual": True})
    phases = heddle.resolve(experts, "h200").kernels[0].phases
    for rows, launches in ((0, 0), (8, 1), (9, 2), (33, 5)):
        before = len(fake_gpu.launches())
        y = ht.gemm(fake_gpu.tensor((rows, K)), weights, layer.spec)
        assert y.shape == (rows, N)
        assert len(fake_gpu.launches()) - before == launches
        before = len(fake_gpu.launches())
        x, *rest = moe_arguments(heddle, lambda *shape, dtype=torch.float16:
                                 fake_gpu.tensor(shape, dtype), experts, rows)
        y = ht.moe(x, *rest, experts, residual=x)
        assert y.shape == (rows, HIDDEN)
        assert len(fake_gpu.launches()) - before == launches * phases


def test_experts_by_logits(heddle, ht, fake_gpu):
    spec = moe_spec(ht, routing={"scores": "sigmoid", "correction_bias": True,
                                 "expert_scales": True})
    phases = heddle.resolve(spec, "h200").kernels[0].phases

    def make(*shape, dtype=torch.float16):
        return fake_gpu.tensor(shape, dtype)

    of_experts = make(EXPERTS, dtype=torch.float32)
    for rows, launches in ((0, 0), (8, 1), (9, 2)):
        x, gate_up, down, ids, weights = moe_arguments(heddle, make, spec, rows)
        given = {"logits": make(rows, EXPERTS, dtype=torch.float32),
                 "correction_bias": of_experts, "expert_scales": of_experts}
        before = len(fake_gpu.launches())
        assert ht.moe(x, gate_up, down, None, None, spec, **given).shape == (rows, HIDDEN)
        assert len(fake_gpu.launches()) - before == launches * phases
    with pytest.raises(heddle.UsageError, match="ids is given"):
        ht.moe(x, gate_up, down, ids, weights, spec, **given)
    with pytest.raises(heddle.UsageError, match="logits is None"):
        ht.moe(x, gate_up, down, None, None, spec)


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
    monkeypatch.setattr(torch.cuda, "device", lambda device: contextlib.nullcontext())
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
    experts = moe_spec(ht)
    ht.moe(*moe_arguments(heddle, on_fake, experts, 5), experts)
    phases = heddle.resolve(experts, "h200").kernels[0].phases
    assert len(fake_gpu.launches()) == 10 + phases
    x, gate_up, down, ids, weights = moe_arguments(heddle, on_fake, experts, 5)
    with pytest.raises(heddle.UsageError, match="ids has"):
        ht.moe(x, gate_up, down, on_fake(5, TOP_K, dtype=torch.int64), weights, experts)
    with pytest.raises(heddle.UsageError, match="residual is given"):
        ht.moe(x, gate_up, down, ids, weights, experts, residual=x)
    assert {stream for _, stream in fake_gpu.launches()} == {fake_gpu.stream}
    with pytest.raises(heddle.UsageError, match="lengths has"):
        ht.kv_append(k, k, on_fake(SEQUENCES, dtype=torch.int64), cache, cache_specs(ht)[0])
