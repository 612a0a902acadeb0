"""examples/transformers/generate.py, from a model with random weights to tokens."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT

torch = pytest.importorskip("torch", reason="needs PyTorch: tools/test --torch")
pytest.importorskip("transformers", reason="needs Transformers: tools/test --torch")


def run(**environment):
    done = subprocess.run([sys.executable, ROOT / "examples/transformers/generate.py"],
                          capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_without_a_gpu_it_shows_a_plan(heddle):
    lines = run(CUDA_VISIBLE_DEVICES="")
    assert lines[0].startswith("8 layers of Heddle, ")
    assert "self_attn.o_proj on an H100" in lines[0]
    assert any("h100" in line for line in lines[1:])
    assert lines[-1] == "no GPU: nothing is generated"


def test_on_a_gpu_it_generates(heddle):
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU, and a PyTorch with CUDA")
    tokens = [int(token) for token in run()[-1].strip("[]").split(",")]
    assert tokens[:8] == list(range(2, 10))
    assert len(tokens) == 24
