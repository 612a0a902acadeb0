"""heddle.torch without a GPU: fake kernels of its operators, and torch.compile."""

import subprocess
import sys

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


def test_importing_heddle_alone_loads_no_torch():
    code = "import heddle, sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_operators_are_there(ht):
    names = ("gemm", "dequantize", "repack", "quantize_weight", "row_transform", "row_quantize",
             "kv_append", "kv_append_query", "decode_attention", "moe")
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


def test_activations_of_8_bits_are_refused_by_name(heddle, ht, fake_mode):
    spec = ht.canonical({
        "heddle": 1, "op": "gemm", "shape": {"n": N, "k": K},
        "weight": {"type": "e4m3", "bits": 8, "group_size": -1},
        "activation": {"dtype": "fp8_e4m3", "granularity": "token"}, "output": {"dtype": "fp16"}})
    with pytest.raises(heddle.UsageError, match="activations of fp8_e4m3; heddle"):
        ht.gemm(on_gpu(3, K, dtype=torch.float8_e4m3fn), on_gpu(7, dtype=torch.uint8), spec)
    with pytest.raises(heddle.UsageError, match="activations of fp8_e4m3; heddle"):
        ht.Linear(spec, on_gpu(7, dtype=torch.uint8))


def test_outputs_of_8_bits_are_refused_by_name(heddle, ht, fake_mode):
    spec = ht.canonical({
        "heddle": 1, "op": "gemm", "shape": {"n": N, "k": K}, "weight": {"bits": 4},
        "activation": {"dtype": "fp16"}, "output": {"dtype": "int8", "granularity": "tensor"}})
    with pytest.raises(heddle.UsageError, match="output of int8; heddle"):
        ht.gemm(on_gpu(3, K), on_gpu(7, dtype=torch.uint8), spec)


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


def test_fake_kernel_of_experts(heddle, ht, fake_mode):
    spec = moe_spec(ht)
    y = ht.moe(*moe_arguments(heddle, on_gpu, spec, 5), spec)
    assert (y.shape, y.dtype, y.device.type) == ((5, HIDDEN), torch.float16, "cuda")
    with pytest.raises(heddle.UsageError, match='operation "gemm"; allowed: "moe"'):
        ht.moe(*moe_arguments(heddle, on_gpu, spec, 5), ht.canonical(gemm(N, K)))


def test_a_layer_of_experts_compiles_without_a_graph_break(heddle, ht):
    from torch._dynamo.backends.common import aot_autograd
    from torch._subclasses.fake_tensor import FakeTensorMode

    spec = moe_spec(ht, epilogue={"activation": "silu", "gated": True, "residual": True})
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph

    def layer(x, gate_up, down, scores):
        weights, ids = torch.topk(torch.softmax(scores, 1), TOP_K, 1)
        return ht.moe(x, gate_up, down, ids.int(), weights, spec, residual=x)

    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        compiled = torch.compile(layer, backend=aot_autograd(fw_compiler=backend), fullgraph=True,
                                 dynamic=True)
        x, gate_up, down, *_ = moe_arguments(heddle, on_gpu, spec, 5)
        y = compiled(x, gate_up, down, on_gpu(5, EXPERTS, dtype=torch.float32))
    assert y.shape == (5, HIDDEN)
    assert len(graphs) == 1
    assert "heddle.moe" in graphs[0].print_readable(print_output=False)


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


def test_gradients_are_refused_by_name_in_compiled_functions(heddle, ht):
    """AOTAutograd would leave an operator without gradients out of the backward pass."""
    import reference_ops

    library = reference_ops.install()
    layer = ht.Linear.quantized(torch.randn(N, K).half())
    compiled = torch.compile(lambda x: layer(x * 2).sum(), backend="aot_eager", fullgraph=True)
    x = torch.randn(2, K).half().requires_grad_()
    for call in (compiled, layer):
        with pytest.raises(Exception, match="heddle::gemm is given a tensor that requires grad"):
            call(x)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), layer(x * 2).sum())
    assert not compiled(x.detach()).requires_grad
    del library


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
