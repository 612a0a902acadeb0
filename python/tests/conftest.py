"""What the tests share. Nothing here imports the fake driver: a test that wants it names it."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def gemm(n=256, k=512, **fields):
    spec = {"heddle": 1, "op": "gemm", "shape": {"n": n, "k": k, "m": [1, 8]},
            "weight": {"bits": 4, "group_size": 128}, "activation": {"dtype": "fp16"}}
    return {**spec, **fields}


def moe(**fields):
    spec = {"heddle": 1, "op": "moe", "shape": {"hidden": 256, "intermediate": 128, "experts": 8,
                                                "top_k": 2, "tokens": [1, 8]},
            "weight": {"gate_up": {"bits": 4}, "down": {"bits": 4}},
            "activation": {"dtype": "fp16"}, "epilogue": {"activation": "silu", "gated": True}}
    return {**spec, **fields}


def dequantize(n=64, k=256):
    """One kernel, which compiles in a tenth of a second."""
    return {"heddle": 1, "op": "dequantize", "shape": {"n": n, "k": k}, "weight": {"bits": 4},
            "source": {"format": "heddle"}, "output": {"dtype": "fp16"}}


@pytest.fixture
def heddle():
    import heddle as package

    return package


@pytest.fixture(autouse=True)
def no_cache_of_the_user(monkeypatch, tmp_path):
    monkeypatch.setenv("HEDDLE_CACHE", str(tmp_path / "cache"))
    for name in ("HEDDLE_DUMP", "HEDDLE_LOG", "HEDDLE_RECORD", "HEDDLE_STATS", "HEDDLE_TUNED"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def runtime(heddle, tmp_path):
    """A runtime with NVRTC and an empty cache; skips where there is no NVRTC."""
    made = heddle.Runtime(cache_dir=tmp_path / "cache")
    try:
        made.compiler_identity()
    except heddle.DriverError as error:
        pytest.skip(str(error))
    return made


@pytest.fixture
def driver():
    """The fake driver, whose device 0 is an H200 with its primary context current."""
    import fake_driver

    fake_driver.reset()
    fake_driver.set_current(0)
    yield fake_driver
    fake_driver.heal()
    fake_driver.drop_current(0)


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture
def ht(heddle):
    pytest.importorskip("torch", reason="needs PyTorch: tools/test --torch")
    import heddle.torch as package

    return package


@pytest.fixture
def hx(heddle):
    pytest.importorskip("transformers", reason="needs Transformers: tools/test --torch")
    import heddle.transformers as package

    return package


@pytest.fixture(scope="module")
def on_the_host():
    """Operators compute on the host, as reference_ops.py says, and nothing wants gradients."""
    import reference_ops
    import torch

    with torch.no_grad():
        yield reference_ops.install()


@pytest.fixture
def gpu_torch(heddle):
    """heddle.torch with an empty cache of kernels; skips where PyTorch has no GPU."""
    import torch

    if not torch.cuda.is_available():
        pytest.skip("needs a GPU, and a PyTorch with CUDA")
    if "fake_driver" in sys.modules:
        pytest.skip("needs a process of its own: another test has loaded the fake driver")
    import heddle.torch as package

    torch.manual_seed(5)
    package.set_runtime(heddle.Runtime())
    return package
