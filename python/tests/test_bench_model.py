"""python -m heddle bench-model, as far as it needs no GPU; models that are quantised in memory."""

import json
import re
import subprocess
import sys

import pytest
from conftest import ROOT

torch = pytest.importorskip("torch", reason="needs PyTorch: tools/test --torch")
pytest.importorskip("transformers", reason="needs Transformers: tools/test --torch")

CONFIG = ROOT / "examples/models/llama-3-8b-awq/config.json"


@pytest.fixture
def command(heddle, capsys):
    """python -m heddle, in this process, because importing PyTorch takes seconds."""
    from heddle.__main__ import main

    def run(*arguments):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code
        return code, *capsys.readouterr()

    return run


def test_it_is_a_command():
    done = subprocess.run([sys.executable, "-m", "heddle", "--help"], capture_output=True,
                          text=True, check=True)
    assert done.stdout.startswith("usage: python -m heddle")


def test_what_the_command_line_takes(command):
    from heddle.__main__ import parser

    options = parser().parse_args(["bench-model", "folder", "--batch", "1,8", "--layers", "2"])
    assert (options.batch, options.context, options.kv, options.layers, options.lm_head) == (
        [1, 8], 1024, "int8:head", 2, 0)
    for wrong in (["bench-model"], ["bench-model", "x", "--batch", "0"],
                  ["bench-model", "x", "--context", "0"], ["other"], []):
        code, _, stderr = command(*wrong)
        assert code == 2, wrong
        assert "usage: python -m heddle" in stderr


def test_documents_give_it_options_that_it_has(heddle):
    from heddle.__main__ import parser

    lines = re.findall(r"^python -m heddle (.*)$", (ROOT / "docs/pytorch.md").read_text(),
                       re.MULTILINE)
    assert lines
    for line in lines:
        parser().parse_args(line.split())


def test_errors_are_one_line(command, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert command("bench-model", CONFIG) == (
        1, "", "heddle: bench-model needs a GPU: PyTorch finds none\n")
    wrong = json.loads(CONFIG.read_text())
    wrong["quantization_config"]["quant_method"] = "aqlm"
    for content, words in ((None, "config.json"), (json.dumps(wrong), "aqlm"), ("{", "config.json"),
                           ("[]", "config.json"), ('{"model_type": "nothing"}', "nothing")):
        if content is not None:
            (tmp_path / "config.json").write_text(content)
        code, stdout, stderr = command("bench-model", tmp_path)
        assert (code, stdout, stderr.count("\n")) == (1, "", 1), content
        assert words in stderr
    code, _, stderr = command("bench-model", CONFIG, "--kv", "int9")
    assert (code, stderr.count("\n")) == (1, 1)
    assert "int9" in stderr


def test_weights_are_the_configs(heddle):
    from heddle.transformers._bench import weights_of

    made = weights_of(json.loads(CONFIG.read_text()), 8)
    assert sorted(made) == ["down_proj", "gate_up_proj", "o_proj", "qkv_proj"]
    assert (made["qkv_proj"]["bits"], made["qkv_proj"]["zero_point"]) == (4, "int")
    assert weights_of({"model_type": "llama"}, 8) == {"bits": 8, "group_size": 128}


def test_a_model_in_memory_is_quantised(heddle, tmp_path):
    import reference_ops
    import small_models
    from heddle.transformers import HeddleCache, HeddleConfig
    from heddle.transformers._bench import floor_ms
    from heddle.transformers._convert import convert
    from transformers import AutoModelForCausalLM

    model = small_models.plain("qwen2")
    folder = small_models.write(model, tmp_path, "plain")
    loaded = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float16, quantization_config=HeddleConfig(bits=4))
    plain = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float16)
    made = convert(plain, {"bits": 4, "group_size": 128})
    ids = torch.arange(2, 9)[None]
    with torch.no_grad():
        library = reference_ops.install()
        assert torch.equal(made(ids).logits, loaded(ids).logits)
        del library
    cache = HeddleCache(made, 3, 100, "int8:head")

    class Target:
        memory_gb_per_s = 1000.0

    class Runtime:
        device_target = staticmethod(Target)

    from heddle.transformers import _bench

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_bench, "runtime", Runtime)
        packed = sum(m.weights.numel() for m in made.modules() if hasattr(m, "weights"))
        wanted = packed + 320 * 256 * 2 + 3 * 100 * 2 * (2 * 2 * (64 + 2))
        assert floor_ms(made, cache, 100) == pytest.approx(wanted / 1e9)


@pytest.mark.parametrize("tied", [False, True])
def test_lm_head_in_memory_is_that_of_a_checkpoint(heddle, tmp_path, tied):
    import small_models
    from heddle.transformers import HeddleConfig
    from heddle.transformers._convert import convert
    from transformers import AutoModelForCausalLM

    model = small_models.plain("llama", tie_word_embeddings=tied)
    folder = small_models.write(model, tmp_path, "plain")
    loaded = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float16, quantization_config=HeddleConfig(bits=4, lm_head=4))
    made = convert(model.half(), {"bits": 4, "group_size": 128}, 4)
    assert made.lm_head.spec == loaded.lm_head.spec
    assert torch.equal(made.lm_head.weights, loaded.lm_head.weights)


def test_the_report(heddle):
    from heddle.transformers._bench import busy_ms, text_of

    assert busy_ms([(0, 1000), (500, 1500), (3000, 4000)]) == 2.5
    text = text_of({"gpu": "h100", "gb_per_s": 3350.0, "torch": "2", "kv": "int8:head",
                    "context": 9, "layers": 1,
                    "rows": [{"batch": 8, "what": "plain", "ms": 4.0},
                             {"batch": 8, "what": "Heddle", "ms": 2.0, "floor_ms": 1.0,
                              "times_the_floor": 2.0, "kernels": {"heddle_gemm": 1.5},
                              "between_kernels": 0.25}]})
    assert "at the 3350 GB/s of the data sheet" in text
    assert "    8     2.000      4000     2.00  Heddle" in text
    assert "25.0 % between kernels" in text
    assert "     1.500  heddle_gemm" in text
