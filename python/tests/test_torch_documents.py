"""The pages' examples for a GPU run: on one, or else on the host, with the operators of
reference_ops.py, those that name the device."""

import contextlib
import functools
import io

import pytest
from small_models import plain, torch, transformers, write
from test_documents import blocks

EXAMPLES = [pytest.param(block.values[1], id=block.id) for block in blocks()
            if block.values[0] == "gpu"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a checkpoint and a tokenizer in model-folder."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    made = write(plain("llama", intermediate_size=512), tmp_path / "model-folder", "awq")
    words = ["Warp", "and", "weft", *(f"w{i}" for i in range(317))]
    tokenizer = Tokenizer(models.WordLevel(dict(zip(words, range(320), strict=True)), "Warp"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="Warp", pad_token="Warp").save_pretrained(made)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(code):
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(code, "example", "exec"), {})
    return output.getvalue()


@pytest.mark.parametrize("code", EXAMPLES)
def test_on_a_gpu(gpu_torch, folder, code):
    printed = run(code)
    torch.cuda.synchronize()
    assert printed or "print(" not in code


@pytest.mark.parametrize("code", [each for each in EXAMPLES if each.id.startswith("pytorch.md")])
def test_on_the_host(hx, on_the_host, folder, monkeypatch, code):
    assert '"cuda"' in code
    # Inductor takes seconds, and is not what the page is about.
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="aot_eager"))
    # A step takes a twentieth of a second here.
    printed = run(code.replace('"cuda"', '"cpu"').replace("max_new_tokens=100", "max_new_tokens=4"))
    assert "Warp and weft" in printed or "print(" not in code
