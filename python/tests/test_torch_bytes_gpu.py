"""How exact GEMMs of FP8 are, on a real GPU. Skipped where there is none."""

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: tools/test --torch")

from heddle.torch._kernels import launch  # noqa: E402

ROWS, N, MOST_CODE = 64, 256, 448
DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}


@pytest.fixture
def ht(gpu_torch):
    return gpu_torch


def with_outliers(*shape):
    """Normal values, of which one in a hundred is fifty times as large."""
    values = torch.randn(shape, device="cuda")
    return torch.where(torch.rand(shape, device="cuda") < 0.01, 50 * values, values).bfloat16()


def relative_error(y, exact):
    return ((y.double() - exact).norm() / exact.norm()).item()


def fp8(values):
    """Codes, and a scale for each row."""
    scales = values.float().abs().amax(-1, keepdim=True) / MOST_CODE
    return (values.float() / scales).to(torch.float8_e4m3fn), scales


@pytest.mark.parametrize("k", [4096, 28672])
@pytest.mark.parametrize("output", ["bf16", "fp32"])
def test_fp8_errs_little_more_than_sums_in_fp32(heddle, ht, k, output):
    torch.manual_seed(k)
    torch.backends.cuda.matmul.allow_tf32 = False
    x, w = with_outliers(ROWS, k), with_outliers(N, k)
    exact = x.double() @ w.double().T
    (x_codes, x_scales), (w_codes, w_scales) = fp8(x), fp8(w)
    spec = ht.canonical({
        "heddle": 1, "op": "gemm", "shape": {"n": N, "k": k}, "output": {"dtype": output},
        "weight": {"bits": 8, "type": "e4m3", "group_size": -1},
        "activation": {"dtype": "fp8_e4m3", "granularity": "token"}})
    packed = heddle.pack_weights(spec, w_codes.view(torch.uint8).cpu().numpy(),
                                 w_scales.cpu().numpy())
    y = torch.empty(ROWS, N, dtype=DTYPES[output], device="cuda")
    launch(spec, x_codes, ROWS, workspace=True, x=x_codes, x_scales=x_scales.flatten(),
           weights=torch.from_numpy(packed).cuda(), y=y)
    in_fp32 = (x_codes.float() @ w_codes.float().T) * x_scales * w_scales.T
    assert relative_error(y, exact) <= 1.05 * relative_error(in_fp32.to(y.dtype), exact)
