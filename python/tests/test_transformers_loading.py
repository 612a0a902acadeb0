"""heddle.transformers on the host: loading checkpoints, and what it refuses."""

import itertools
import json
import os
import shutil
import subprocess
import sys

import pytest
import small_models
from small_models import close, pair, tokens, torch, transformers

pytestmark = pytest.mark.usefixtures("on_the_host", "hx")

PROMPT = 9


def test_every_kind_of_layer_finds_its_place(tmp_path):
    from heddle.torch import Linear
    from heddle.transformers._modules import GatedMlp, Part

    _, ours = pair(tmp_path / "a", "llama", "awq")
    layer = ours.model.layers[0]
    assert isinstance(layer.self_attn.q_proj, Part)
    assert layer.self_attn.qkv_proj.linear.split == (256, 128, 128)
    assert isinstance(layer.mlp, GatedMlp)
    # Columns in another order in each matrix: nothing can be fused.
    _, ours = pair(tmp_path / "b", "llama", "gptq-act-order")
    layer = ours.model.layers[0]
    assert isinstance(layer.self_attn.q_proj, Linear)
    assert layer.self_attn.q_proj.permutation is not None
    assert isinstance(layer.mlp.gate_proj, Linear)
    _, ours = pair(tmp_path / "c", "phi3", "awq")
    assert isinstance(ours.model.layers[0].self_attn.qkv_proj, Linear)


def test_plain_weights_are_quantised_at_load(heddle, hx, tmp_path):
    model = small_models.plain("llama")
    folder = small_models.write(model, tmp_path, "plain")
    ours = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float16,
        quantization_config=hx.HeddleConfig(bits=8, group_size=64, kv="fp16"))
    linear = ours.model.layers[0].self_attn.qkv_proj.linear
    weight = json.loads(linear.spec)["weight"]
    assert (weight["bits"], weight["group_size"]) == (8, 64)
    whole = torch.cat([getattr(model.model.layers[0].self_attn, f"{p}_proj").weight for p in "qkv"])
    wanted = heddle.pack_weights(linear.spec, *heddle.quantize(linear.spec, whole.half().numpy()))
    assert linear.weights.numpy().tobytes() == wanted.tobytes()
    ids = tokens(2)
    close(ours(ids).logits, model(ids).logits, 0.05)
    greedy = ours.generate(ids, max_new_tokens=3, do_sample=False)
    assert greedy.shape == (2, PROMPT + 3)


def test_what_loading_refuses(heddle, hx, tmp_path):
    model = small_models.plain("llama")
    folder = small_models.write(model, tmp_path, "awq")
    load = transformers.AutoModelForCausalLM.from_pretrained
    with pytest.raises(heddle.UsageError, match=r"dtype is torch.float32; allowed: torch.float16"):
        load(folder, dtype=torch.float32)
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"]["version"] = "marlin"
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(heddle.UnsupportedError, match="marlin"):
        load(folder, dtype=torch.float16)
    plain = small_models.write(small_models.plain("llama"), tmp_path / "plain", "plain")
    with pytest.raises(heddle.UsageError, match="neither bits nor weight"):
        load(plain, dtype=torch.float16, quantization_config=hx.HeddleConfig(kv="fp16"))
    for given, words in (({"bits": 4, "weight": {"bits": 4}}, "both given"),
                         ({"bits": 16}, "bits is 16; allowed: 1 to 8"),
                         ({"bits": 4.5}, "bits is 4.5"), ({"lm_head": 5}, "lm_head is 5")):
        with pytest.raises(heddle.UsageError, match=words):
            hx.HeddleConfig(**given)


def test_what_loading_refuses_by_name(heddle, hx, tmp_path):
    folder = small_models.write(small_models.plain("llama"), tmp_path, "awq")
    load = transformers.AutoModelForCausalLM.from_pretrained
    with pytest.raises(heddle.UnsupportedError, match=r"LlamaModel no module model\.layers\.0"):
        transformers.AutoModel.from_pretrained(folder, dtype=torch.float16)
    with pytest.raises(heddle.UsageError, match=r"'bits': 8.*is quantised already"):
        load(folder, dtype=torch.float16, quantization_config=hx.HeddleConfig(bits=8))
    bare = small_models.plain("llama").half()
    del bare.model.layers
    with pytest.raises(heddle.UnsupportedError, match="its LlamaModel has no layers"):
        hx.HeddleCache(bare, 1, 16, "fp16")


def test_configs_of_transformers_go_to_its_own_quantizers(heddle, hx):
    from transformers.quantizers.auto import AutoHfQuantizer

    made = AutoHfQuantizer.from_config(transformers.FineGrainedFP8Config())
    assert type(made).__name__ == "FineGrainedFP8HfQuantizer"
    assert isinstance(AutoHfQuantizer.from_config(hx.HeddleConfig(bits=4)), hx.HeddleQuantizer)
    with pytest.raises(heddle.UsageError, match="is a BitsAndBytesConfig; allowed: HeddleConfig"):
        hx.HeddleQuantizer(transformers.BitsAndBytesConfig(load_in_8bit=True))


def test_a_config_beside_the_config(hx, tmp_path):
    model = small_models.plain("llama")
    folder = small_models.write(model, tmp_path, "gptq")
    config = json.loads((folder / "config.json").read_text())
    beside = config.pop("quantization_config")
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "quantize_config.json").write_text(json.dumps(beside))
    ours = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float16, quantization_config=hx.HeddleConfig())
    ids = tokens(2)
    close(ours(ids).logits, model(ids).logits)


@pytest.mark.parametrize(("model_type", "name"), [
    ("qwen2", "awq"), ("llama", "gptq-act-order"), ("phi3", "compressed-tensors")])
def test_a_folder_that_heddle_repack_has_written(heddle, hx, tmp_path, model_type, name):
    command = os.environ.get("HEDDLE_COMMAND")
    if not command:
        pytest.skip("needs the command heddle; ctest names it in HEDDLE_COMMAND")
    model, ours = pair(tmp_path, model_type, name)
    folder = tmp_path / "packed"
    folder.mkdir()
    shutil.copy(tmp_path / "model/config.json", folder)
    subprocess.run([command, "repack", tmp_path / "model", "--gated", "-o",
                    folder / "model.safetensors"], check=True, capture_output=True)
    packed = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float16)
    ids = tokens(2)
    assert torch.equal(packed(ids).logits, ours(ids).logits)
    close(packed(ids).logits, model(ids).logits)
    cache = hx.HeddleCache(packed, 2, 64, "fp16")
    close(packed(ids, past_key_values=cache).logits, model(ids).logits)
    with pytest.raises(heddle.UsageError, match="repack --lm-head 8"):
        transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float16, quantization_config=hx.HeddleConfig(lm_head=8))


@pytest.mark.parametrize("tied", [False, True])
def test_lm_head_is_quantised_on_request(hx, tmp_path, tied):
    """Also one that has the weights of the embeddings, which stay as they are."""
    from heddle.torch import Linear

    model = small_models.plain("llama", tie_word_embeddings=tied)
    folder = small_models.write(model, tmp_path, "awq")
    ours = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float16, quantization_config=hx.HeddleConfig(lm_head=8))
    assert isinstance(ours.lm_head, Linear)
    ids = tokens(1)
    close(ours.get_input_embeddings()(ids), model.get_input_embeddings()(ids), 0)
    close(ours(ids).logits, model(ids).logits, 0.02)


@pytest.mark.parametrize(("lacking", "tied"), [
    ("model.layers.1.mlp.down_proj", True), ("model.norm", True), ("lm_head", False)])
def test_what_the_checkpoint_lacks(heddle, hx, tmp_path, lacking, tied):
    """Transformers gives it random weights."""
    from safetensors.torch import load_file, save_file

    model = small_models.plain("llama", tie_word_embeddings=tied)
    folder = small_models.write(model, tmp_path, "awq")
    tensors = load_file(folder / "model.safetensors")
    kept = {name: tensor for name, tensor in tensors.items() if not name.startswith(lacking)}
    assert len(kept) < len(tensors)
    save_file(kept, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(heddle.UnsupportedError, match=f"does not have {lacking}.weight$"):
        transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float16)


def test_a_head_that_no_checkpoint_has(hx, tmp_path):
    folder = small_models.write(small_models.plain("llama"), tmp_path, "awq")
    made = transformers.AutoModelForSequenceClassification.from_pretrained(
        folder, dtype=torch.float16)
    assert made(tokens(1)).logits.shape == (1, 2)


def test_the_import_can_be_taken_back(hx):
    from transformers.quantizers import auto

    before = auto.AUTO_QUANTIZER_MAPPING["awq"]
    assert before is hx.HeddleQuantizer
    hx.unregister()
    assert auto.AUTO_QUANTIZER_MAPPING["awq"] is not hx.HeddleQuantizer
    assert "heddle" not in auto.AUTO_QUANTIZER_MAPPING
    hx.register()
    assert auto.AUTO_QUANTIZER_MAPPING["awq"] is hx.HeddleQuantizer


def test_a_part_is_computed_once_for_all(hx, tmp_path):
    _, ours = pair(tmp_path, "llama", "awq")
    attention = ours.model.layers[0].self_attn
    calls = []
    attention.qkv_proj.linear.register_forward_hook(lambda *_: calls.append(1))
    x = torch.randn(1, 3, 256).half()
    for part in (attention.q_proj, attention.k_proj, attention.v_proj):
        part(x)
    assert len(calls) == 1
    first, second = attention.k_proj(x), attention.k_proj(x)
    assert torch.equal(first, second)
    assert len(calls) == 3


def test_importing_the_package_needs_no_quantiser():
    code = ("import heddle.transformers, sys; print([n for n in sys.modules if n.split('.')[0] in "
            "('awq', 'gptqmodel', 'compressed_tensors', 'kernels')])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_each_format_of_the_writers_differs(tmp_path):
    """The weights that checkpoints stand for are not those of another format."""
    w = torch.randn(256, 256)
    values = [make(w)[1] for make, _ in small_models.FORMATS.values()]
    for a, b in itertools.combinations(values[2:], 2):
        assert not torch.equal(a, b)
    for value in values:
        assert (value - w).norm() < 0.2 * w.norm()


@pytest.mark.parametrize("where", ["cpu", "auto", "sequential", {"": "cpu"},
                                   {"model": "cpu", "lm_head": torch.device("cpu")}])
def test_device_maps(hx, tmp_path, where):
    """Those that name a device, and those that leave it to Heddle, which takes one."""
    model, ours = pair(tmp_path, "llama", "awq", device_map=where)
    ids = tokens(1)
    close(ours(ids).logits, model(ids).logits)


@pytest.mark.parametrize(("where", "words"), [
    ("balanced", '"balanced"; allowed: "auto" for the current GPU'),
    ({"model": 0, "lm_head": "disk"}, "names cuda:0, disk; Heddle's layers cannot be offloaded")])
def test_device_maps_that_are_refused(heddle, hx, tmp_path, where, words):
    with pytest.raises(heddle.UsageError, match=words):
        pair(tmp_path, "llama", "awq", device_map=where)


def test_caches_are_refused_before_layers_are_packed(heddle, hx, tmp_path, monkeypatch):
    monkeypatch.setattr(hx._quantizer, "fill", None)
    for kv, words in (("int9", "int9"), ("fp8_e4m3", "such as fp8_e4m3:head")):
        with pytest.raises(heddle.Error, match=words):
            pair(tmp_path, "llama", "awq", quantization_config=hx.HeddleConfig(kv=kv))


def test_weights_are_uploaded_where_their_device_is_the_current_one(hx, monkeypatch, tmp_path):
    """As PyTorch wants it, which exports no memory of another device; needs no device at all."""
    import contextlib

    import heddle.transformers._checkpoint as checkpoint
    from torch._subclasses.fake_tensor import FakeTensorMode

    small_models.write(small_models.plain("llama"), tmp_path / "model", "awq")
    current, uploaded = [0], []

    @contextlib.contextmanager
    def device(index):
        before, current[0] = current[0], torch.device(index).index
        yield
        current[0] = before

    class Uploader:
        def __init__(self, stream):
            uploaded.append(("made", current[0]))

        def pack(self, reader, layer, weights):
            assert weights.device.index == current[0]
            uploaded.append((layer.name, current[0]))

        def finish(self):
            uploaded.append(("finished", current[0]))

    monkeypatch.setattr(torch.cuda, "device", device)
    monkeypatch.setattr(torch.cuda, "current_stream",
                        lambda _: type("Stream", (), {"cuda_stream": 1}))
    monkeypatch.setattr(checkpoint, "Uploader", Uploader)
    source = checkpoint.CheckpointSource(tmp_path / "model", torch.float16, None, 0)
    layer = source.layers[0]
    with FakeTensorMode(allow_non_fake_inputs=True):
        for index in (1, 0, 1):
            made = source.make(layer, torch.device("cuda", index))
            assert made.weights.device == torch.device("cuda", index)
        source.finish()
    assert current == [0]
    assert uploaded == [("made", 1), (layer.name, 1), ("made", 0), (layer.name, 0),
                        (layer.name, 1), ("finished", 1), ("finished", 0)]
