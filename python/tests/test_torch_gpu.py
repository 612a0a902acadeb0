"""heddle.torch on a real GPU: operators and layers against FP64. Skipped where there is none."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: tools/test --torch")

from gpu_layers import K, N, close, norm_spec, plain, values_of  # noqa: E402

INT8_HEAD = {"dtype": "int8", "granularity": "head"}


@pytest.fixture
def ht(gpu_torch):
    return gpu_torch


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("weight", [
    {"bits": 4}, {"bits": 4, "zero_point": "int", "group_size": 64}, {"bits": 8}])
@pytest.mark.parametrize("rows", [1, 7, 64, 300])
def test_linear_against_fp64(heddle, ht, dtype, weight, rows):
    layer = ht.Linear.quantized(plain(dtype=dtype), weight)
    x = torch.randn(3, rows, K, device="cuda").to(dtype)
    y = layer(x)
    assert (y.shape, y.dtype) == ((3, rows, N), dtype)
    close(y, x.double() @ values_of(layer).T, 4e-3 if dtype == torch.float16 else 2e-2)
    assert torch.equal(y, layer(x))


def test_quantising_on_the_gpu_gives_the_bits_of_the_host(ht):
    w = plain()
    for epilogue in ({}, {"gated": True, "activation": "silu"}):
        device = ht.Linear.quantized(w, epilogue=epilogue)
        assert torch.equal(device.weights.cpu(), ht.Linear.quantized(w.cpu(),
                                                                     epilogue=epilogue).weights)


def test_fused_and_gated_and_plain_layers(heddle, ht):
    x = torch.randn(5, K, device="cuda").half()
    parts = [plain(n) for n in (256, 64, 64)]
    bias = torch.randn(384, device="cuda").half()
    fused = ht.Linear.quantized(parts, bias=bias)
    expected = (x.double() @ values_of(fused).T + bias.double()).split([256, 64, 64], -1)
    for y, wanted in zip(fused(x), expected, strict=True):
        close(y, wanted)
    gated = ht.Linear.quantized([plain(256), plain(256)],
                                epilogue={"gated": True, "activation": "silu"})
    gate, up = (x.double() @ values_of(gated).T).chunk(2, -1)
    close(gated(x), torch.nn.functional.silu(gate) * up)
    w = plain()
    sixteen = ht.Linear.quantized(w, {"type": "fp16"}, epilogue={"residual": True},
                                  output={"dtype": "fp32"})
    added = torch.randn(5, N, device="cuda")
    close(sixteen(x, added), x.double() @ w.double().T + added.double())


def test_dequantize_and_repack(heddle, ht):
    layer = ht.Linear.quantized(plain())
    made = ht.dequantize(layer.weights, ht.canonical(
        {"heddle": 1, "op": "dequantize", "shape": {"n": N, "k": K}, "weight": {"bits": 4},
         "output": {"dtype": "fp16"}}))
    assert torch.equal(made, values_of(layer).half())
    codes = torch.randint(0, 16, (K, N))
    words = torch.zeros(K, N // 8, dtype=torch.int64)
    for i, column in enumerate((0, 2, 4, 6, 1, 3, 5, 7)):
        words |= codes[:, column::8] << (4 * i)
    words = torch.where(words >= 2**31, words - 2**32, words).int().cuda()
    scales = torch.rand(K // 128, N).half()
    packed = ht.repack(words, ht.canonical(
        {"heddle": 1, "op": "repack", "shape": {"n": N, "k": K}, "weight": {"bits": 4},
         "source": {"format": "awq"}}), scales.cuda())
    host = heddle.pack_weights(layer.spec, codes.T.contiguous().to(torch.uint8).numpy(),
                               scales.T.contiguous().numpy())
    np.testing.assert_array_equal(packed.cpu().numpy(), host)


def rms(x, weight):
    x = x.double()
    return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight.double()


def test_rows(ht):
    x, residual = (torch.randn(9, K, device="cuda").half() for _ in range(2))
    weight = torch.rand(K, device="cuda").half() + 0.5
    total = x + residual
    y = ht.row_transform(x, norm_spec(ht, residual=True), residual, weight)
    assert torch.equal(residual, total)
    close(y, rms(total, weight), 1e-3)
    spec = norm_spec(ht, output={"dtype": "fp8_e4m3", "granularity": "token"})
    codes, scales = ht.row_quantize(x, spec, None, weight)
    assert codes.dtype == torch.float8_e4m3fn
    close(codes.double() * scales[:, None].double(), rms(x, weight), 0.04)


def cache_of(heddle, spec, pages, table, codes=torch.uint8):
    layout = heddle.kv_cache_layout(spec)

    def tensor(of):
        size = heddle.Spec(spec).to_dict()["kv"]["page_size"]
        scale = of.scale_bytes(pages, size)
        return heddle.KvCacheTensor(
            codes=torch.zeros(of.code_bytes(pages, size), dtype=torch.uint8,
                              device="cuda").view(codes),
            scales=torch.zeros(scale // 2, dtype=torch.float16, device="cuda") if scale else None)

    return heddle.KvCache(tensor(layout.k), tensor(layout.v), pages, block_table=table)


def test_padding_in_front_of_a_sequence(heddle, ht):
    heads, dim, tokens = 2, 64, 5
    kv = {"k": {"dtype": "fp16"}, "v": {"dtype": "fp16"}, "page_size": 64}
    spec = ht.canonical({"heddle": 1, "op": "kv_append", "activation": {"dtype": "fp16"},
                         "kv": kv, "shape": {"kv_heads": heads, "head_dim": dim},
                         "query": {"heads": heads}})
    table = torch.tensor([[0]], dtype=torch.int32, device="cuda")
    q, k, v = torch.randn(3, tokens, heads, dim, device="cuda").half()
    garbage = [torch.full_like(q, float("nan")) for _ in range(64)]
    del garbage
    lengths = torch.tensor([2], dtype=torch.int32, device="cuda")
    offsets = torch.tensor([0, tokens], dtype=torch.int32, device="cuda")
    made = ht.kv_append(k, v, lengths, cache_of(heddle, spec, 1, table, torch.float16), spec, q=q,
                        offsets=offsets)
    assert torch.equal(made[3:], q[3:])
    assert torch.isfinite(made).all()


def test_a_cache_of_ragged_sequences(heddle, ht):
    heads, kv_heads, dim, sequences, page = 8, 2, 128, 3, 64
    kv = {"k": INT8_HEAD, "v": INT8_HEAD, "page_size": page}
    activation = {"dtype": "fp16"}
    append = ht.canonical({"heddle": 1, "op": "kv_append", "activation": activation, "kv": kv,
                           "shape": {"kv_heads": kv_heads, "head_dim": dim}})
    attend = ht.canonical({"heddle": 1, "op": "decode_attention", "activation": activation,
                           "kv": kv, "shape": {"heads": heads, "kv_heads": kv_heads,
                                               "head_dim": dim}, "log_sum_exp": True})
    table = torch.randperm(sequences * 4, device="cuda").int().view(sequences, 4)
    cache = cache_of(heddle, append, sequences * 4, table)
    counts = [1, 64, 130]
    k, v = (torch.randn(sum(counts), kv_heads, dim, device="cuda").half() for _ in range(2))
    lengths = torch.tensor(counts, dtype=torch.int32, device="cuda")
    offsets = torch.tensor([0, 1, 65, 195], dtype=torch.int32, device="cuda")
    assert ht.kv_append(k, v, lengths, cache, append, offsets=offsets) is None
    q = torch.randn(sequences, 1, heads, dim, device="cuda").half()
    out, lse = ht.decode_attention(q, lengths, cache, attend)
    first = 0
    for i, count in enumerate(counts):
        keys, values = (t[first:first + count].double().repeat_interleave(heads // kv_heads, 1)
                        for t in (k, v))
        logits = torch.einsum("hd,thd->ht", q[i, 0].double(), keys) / dim**0.5
        close(out[i, 0], torch.einsum("ht,thd->hd", logits.softmax(-1), values), 2e-2)
        close(lse[i, 0], logits.logsumexp(-1), 2e-2)
        first += count


@pytest.mark.parametrize("residual", [False, True])
def test_any_number_of_rows(heddle, ht, residual):
    w = plain()
    few = ht.Linear.quantized(w, shape={"n": w.shape[0], "k": K, "m": [1, 8]},
                              epilogue={"residual": residual})
    many = ht.Linear.quantized(w, epilogue={"residual": residual})
    for rows in (0, 8, 9, 33):
        x = torch.randn(rows, K, device="cuda").half()
        added = torch.randn(rows, w.shape[0], device="cuda").half() if residual else None
        y = few(x, added)
        assert y.shape == (rows, w.shape[0])
        if rows:
            close(y, many(x, added).double(), 2e-3)


def test_what_is_refused(heddle, ht):
    layer = ht.Linear.quantized(plain())
    with pytest.raises(heddle.UsageError, match="on the device cpu"):
        layer(torch.zeros(1, K).half())
    with pytest.raises(heddle.UsageError, match="host memory"):
        layer.cpu()(torch.zeros(1, K).half())
    layer.cuda()
    with pytest.raises(heddle.UsageError, match="requires gradients"):
        layer(torch.zeros(1, K, device="cuda").half().requires_grad_())
    with pytest.raises(heddle.UsageError, match=r"^x has elements of another type, got float32"):
        layer(torch.zeros(1, K, device="cuda"))
