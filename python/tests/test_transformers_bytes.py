"""heddle.torch and heddle.transformers with checkpoints whose activations have eight bits: layers
take 16 bits, and what was packed for eight is refused by name."""

import os
import shutil
import subprocess

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: tools/test --torch")
transformers = pytest.importorskip("transformers", reason="needs Transformers: tools/test --torch")

import small_models  # noqa: E402
from small_models import close, pair, tokens  # noqa: E402

pytestmark = pytest.mark.usefixtures("on_the_host", "hx")


def test_layers_take_sixteen_bits(hx, tmp_path):
    model, ours = pair(tmp_path, "llama", "w8a8")
    ids = tokens(2)
    close(ours(ids).logits, model(ids).logits)
    cache = hx.HeddleCache(ours, 2, 64, "fp16")
    close(ours(ids, past_key_values=cache).logits, model(ids).logits)


def test_a_layer_that_takes_eight_bits_is_refused(heddle, ht, tmp_path):
    folder = small_models.write(small_models.plain("llama"), tmp_path, "w8a8")
    reader = heddle.CheckpointReader(folder)
    with pytest.raises(heddle.UsageError, match=r"open the checkpoint with activation_bits=16"):
        ht.Linear.from_checkpoint(reader, reader.layers[0])
    reader = heddle.CheckpointReader(folder, activation_bits=16)
    ht.Linear.from_checkpoint(reader, reader.layers[0])


def test_a_folder_that_is_packed_for_eight_bits_is_refused(heddle, tmp_path):
    command = os.environ.get("HEDDLE_COMMAND")
    if not command:
        pytest.skip("needs the command heddle; ctest names it in HEDDLE_COMMAND")
    _, ours = pair(tmp_path, "llama", "w8a8")
    folder = tmp_path / "packed"
    folder.mkdir()
    shutil.copy(tmp_path / "model/config.json", folder)
    load = transformers.AutoModelForCausalLM.from_pretrained

    def repack(*options):
        subprocess.run([command, "repack", tmp_path / "model", "--gated", *options, "-o",
                        folder / "model.safetensors"], check=True, capture_output=True)

    repack()
    with pytest.raises(heddle.UnsupportedError, match=r"heddle repack --activations 16"):
        load(folder, dtype=torch.float16)
    repack("--activations", "16")
    ids = tokens(2)
    assert torch.equal(load(folder, dtype=torch.float16)(ids).logits, ours(ids).logits)
