"""Models of experts on the host, with the operators of reference_ops.py, against Transformers' own
in FP32 on the weights that a checkpoint stands for."""

import json
import os
import shutil
import subprocess

import pytest
import small_experts
import small_models
from small_experts import close, load, pair, tokens
from small_models import torch

pytestmark = pytest.mark.usefixtures("on_the_host", "hx")

EVERY = [("mixtral", "awq"), ("mixtral", "fp8"), ("mixtral", "compressed-tensors"),
         ("mixtral", "gptq-act-order"),
         ("qwen3_moe", "gptq"), ("qwen3_moe", "nvfp4"), ("gpt_oss", "mxfp4")]
ONE = [("mixtral", "awq"), ("qwen3_moe", "awq"), ("gpt_oss", "mxfp4")]
PROMPT, COLUMNS = 9, 15


@pytest.fixture
def launches():
    """Notes of each launch of experts whether the kernel has chosen them."""
    from torch.utils._python_dispatch import TorchDispatchMode

    noted = []

    class Calls(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func._schema.name == "heddle::moe":
                noted.append(args[3] is None)
            return func(*args, **(kwargs or {}))

    with Calls():
        yield noted


@pytest.mark.parametrize(("model_type", "name"), EVERY)
def test_a_checkpoint_gives_the_logits_of_its_weights(hx, tmp_path, launches, model_type, name):
    model, ours = pair(tmp_path, model_type, name)
    ids = tokens(model, 2, COLUMNS)
    expected = model(ids).logits
    close(ours(ids).logits, expected)
    assert launches == [False] * 2
    launches.clear()
    cache = hx.HeddleCache(ours, 2, 128, "fp16")
    close(ours(ids[:, :PROMPT], past_key_values=cache).logits, expected[:, :PROMPT])
    for i in range(PROMPT, PROMPT + 3):
        logits = ours(ids[:, i:i + 1], past_key_values=cache).logits
        close(logits[:, 0], expected[:, i])
    close(ours(ids[:, PROMPT + 3:], past_key_values=cache).logits, expected[:, PROMPT + 3:])
    assert launches == [True] * 10


@pytest.mark.parametrize(("model_type", "name"), ONE)
def test_ragged_prompts_and_greedy_tokens(hx, tmp_path, model_type, name):
    """Contexts that cross a page's border, and gpt-oss's windows."""
    model, ours = pair(tmp_path, model_type, name,
                       quantization_config=hx.HeddleConfig(kv="fp16"))
    ids = tokens(model, 3, 60, least=0.004)
    mask = torch.ones_like(ids)
    mask[0, :30] = mask[2, :59] = 0
    ids[mask == 0] = 0
    given = {"attention_mask": mask, "max_new_tokens": 12, "do_sample": False, "pad_token_id": 0}
    expected = model.generate(ids, **given)
    assert torch.equal(ours.generate(ids, **given), expected)
    hx.compile(ours)
    assert torch.equal(ours.generate(ids, **given), expected)


@pytest.mark.parametrize(("model_type", "name"), [
    ("mixtral", "awq"), ("qwen3-moe", "awq"), ("qwen3-moe", "gptq-act-order"),
    ("gpt-oss", "mxfp4")])
def test_sample_models(hx, tmp_path, model_type, name):
    """As they are, and as `heddle repack` packs them, against what `heddle dequantize` writes."""
    command = os.environ.get("HEDDLE_COMMAND")
    if not command:
        pytest.skip("needs the command heddle; ctest names it in HEDDLE_COMMAND")

    def run(*words):
        subprocess.run([command, *words], check=True, capture_output=True)

    sample, packed, plain = (tmp_path / name for name in ("sample", "packed", "plain"))
    run("sample-model", "--type", model_type, "--format", name, sample)
    for folder, words in ((packed, ("repack", sample, "--gated")), (plain, ("dequantize", sample))):
        folder.mkdir()
        shutil.copy(sample / "config.json", folder)
        run(*words, "-o", folder / "model.safetensors")
    config = json.loads((plain / "config.json").read_text())
    del config["quantization_config"]
    (plain / "config.json").write_text(json.dumps(config))
    as_gpt_oss_has_them(plain / "model.safetensors")
    model = load(plain, dtype=torch.float32, experts_implementation="eager")
    ids = tokens(model, 2, COLUMNS, least=0.02)
    ours, from_packed = load(sample), load(packed)
    close(ours(ids).logits, model(ids).logits)
    assert torch.equal(from_packed(ids).logits, ours(ids).logits)
    cache = hx.HeddleCache(from_packed, 2, 64, "fp16")
    close(from_packed(ids, past_key_values=cache).logits, model(ids).logits)


def repacked(folder, **sizes):
    """A Mixtral, and its checkpoint as `heddle repack` packs it: path, metadata and tensors."""
    command = os.environ.get("HEDDLE_COMMAND")
    if not command:
        pytest.skip("needs the command heddle; ctest names it in HEDDLE_COMMAND")
    model = small_models.plain("mixtral", **sizes)
    small_experts.write(model, folder / "model", "awq")
    path = folder / "packed/model.safetensors"
    path.parent.mkdir()
    shutil.copy(folder / "model/config.json", path.parent)
    subprocess.run([command, "repack", folder / "model", "--gated", "-o", path], check=True,
                   capture_output=True)
    with small_models.safetensors.safe_open(path, "pt") as file:
        metadata = file.metadata()
    return model, path, metadata, small_models.safetensors.torch.load_file(path)


@pytest.mark.parametrize("stacked", ["", "down_proj", "gate_up_proj", "proj"])
def test_one_expert_of_a_layer(hx, tmp_path, stacked):
    """Its products are packed as [bytes], and [1, bytes] are read as well."""
    model, path, metadata, tensors = repacked(tmp_path, num_local_experts=1,
                                              num_experts_per_tok=1)
    for key in tensors:
        if stacked and key.endswith(stacked + ".heddle") and ".experts." in key:
            tensors[key] = tensors[key][None]
    small_models.safetensors.torch.save_file(tensors, path, metadata)
    ours = load(path.parent)
    ids = torch.arange(2, 2 + PROMPT)[None]
    close(ours(ids).logits, model(ids).logits)
    cache = hx.HeddleCache(ours, 1, 16, "fp16")
    close(ours(ids, past_key_values=cache).logits, model(ids).logits)


def test_a_product_of_packed_experts_that_is_in_no_file(heddle, hx, tmp_path):
    from heddle.transformers._names import Names

    model, path, metadata, tensors = repacked(tmp_path)
    metadata = {key: value for key, value in metadata.items()
                if not key.endswith("1.block_sparse_moe.experts.down_proj.heddle")}
    part = path.parent / "part.safetensors"
    small_models.safetensors.torch.save_file(tensors, part, metadata)
    with pytest.raises(heddle.UnsupportedError, match=r"1\S*experts: \S*1\S*down_proj is in none"):
        hx._packed.PackedSource(model, [str(part)], torch.float16, Names(model))


def as_gpt_oss_has_them(path):
    from safetensors.torch import load_file, save_file

    tensors = load_file(path)
    for name in [name for name in tensors if name.endswith("experts.gate_up_proj.weight")
                 or name.endswith("experts.down_proj.weight")]:
        tensors[name.removesuffix(".weight")] = tensors.pop(name).mT.contiguous()
    save_file(tensors, path, {"format": "pt"})


@pytest.mark.parametrize("model_type", ["mixtral", "qwen3_moe", "gpt_oss"])
def test_what_transformers_has_saved_is_quantised_at_load(heddle, hx, tmp_path, model_type):
    model = small_models.plain(model_type)
    model.half().save_pretrained(tmp_path)
    ours = load(tmp_path, quantization_config=hx.HeddleConfig(bits=4, group_size=64, kv="fp16"))
    model.float()
    gemms = heddle.moe_gemms(ours.model.layers[0].mlp.experts.spec)
    for theirs, layer in zip(model.model.layers, ours.model.layers, strict=True):
        experts = layer.mlp.experts
        for gemm, name, packed in zip(gemms, ("gate_up_proj", "down_proj"),
                                      (experts.gate_up, experts.down), strict=True):
            w = getattr(theirs.mlp.experts, name).data
            w = w.mT if model_type == "gpt_oss" else w
            for expert, found in zip(w, packed, strict=True):
                rows = expert
                if model_type == "gpt_oss" and name == "gate_up_proj":
                    rows = torch.cat([expert[0::2], expert[1::2]])
                codes = heddle.quantize(gemm, rows.half().contiguous().numpy())
                wanted = heddle.pack_weights(gemm, *codes)
                assert found.numpy().tobytes() == wanted.tobytes()
    ids = tokens(model, 2, PROMPT)
    assert ours.generate(ids, max_new_tokens=3, do_sample=False).shape == (2, PROMPT + 3)


@pytest.mark.parametrize(("model_type", "sizes"), [
    ("mixtral", {}), ("qwen3_moe", {"norm_topk_prob": False}),
    ("gpt_oss", {"num_experts_per_tok": 4}),
    ("qwen3_moe", {"decoder_sparse_step": 2}), ("qwen3_moe", {"mlp_only_layers": [1]}),
    ("qwen2_moe", {"shared_expert_intermediate_size": 128, **small_models.MODELS["qwen3_moe"]}),
    ("glm4_moe", {"n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 256,
                  "n_group": 2, "topk_group": 1, "n_shared_experts": 1,
                  "first_k_dense_replace": 1, "routed_scaling_factor": 1.5})])
def test_routers_and_shared_experts(hx, monkeypatch, tmp_path, model_type, sizes):
    """Those that the kernel does not know are Transformers' own."""
    monkeypatch.setitem(small_models.MODELS, model_type,
                        small_models.MODELS.get(model_type, {}))
    model = small_models.plain(model_type, **sizes)
    for name, tensor in model.named_buffers():
        if name.endswith("e_score_correction_bias"):
            tensor.copy_(torch.randn(tensor.shape) * 0.1)
    model.half().save_pretrained(tmp_path)
    ours = load(tmp_path, quantization_config=hx.HeddleConfig(weight={"type": "fp16"}))
    model.float()
    ids = tokens(model, 2, COLUMNS)
    close(ours(ids).logits, model(ids).logits)
    cache = hx.HeddleCache(ours, 2, 64, "fp16")
    close(ours(ids, past_key_values=cache).logits, model(ids).logits)


def test_a_router_that_has_a_linear_layer_keeps_its_bits(hx, monkeypatch, tmp_path):
    monkeypatch.setitem(small_models.MODELS, "gemma4_text", {})
    model = small_models.plain("gemma4_text", enable_moe_block=True, num_experts=8,
                               top_k_experts=2, moe_intermediate_size=128)
    model.half().save_pretrained(tmp_path)
    ours = load(tmp_path, quantization_config=hx.HeddleConfig(weight={"type": "fp16"}))
    layer = ours.model.layers[1]
    assert type(layer.router.proj) is torch.nn.Linear
    assert type(layer.mlp.down_proj) is not torch.nn.Linear
    ids = torch.arange(2, 41)[None]
    expected = model.float()(ids).logits
    errors = (ours(ids).logits - expected).abs().amax(-1)
    assert errors.median() < 8e-3 * expected.abs().max()  # of some tokens rounding chooses


def test_who_watches_a_router_sees_it(heddle, hx, tmp_path, launches):
    model, ours = pair(tmp_path, "mixtral", "awq")
    ids = tokens(model, 2, PROMPT)
    given, wanted = (each(ids, output_router_logits=True).router_logits for each in (ours, model))
    for found, expected in zip(given, wanted, strict=True):
        close(found, expected)
    with pytest.raises(heddle.UsageError, match="output_router_logits is True"):
        ours(ids, past_key_values=hx.HeddleCache(ours, 2, 16, "fp16"), output_router_logits=True)
    expected = model(ids).logits
    seen = []
    block = ours.model.layers[0].mlp
    block.gate.forward = type(block.gate).forward.__get__(block.gate)
    launches.clear()
    close(ours(ids, past_key_values=hx.HeddleCache(ours, 2, 16, "fp16")).logits, expected)
    assert launches == [False, True]
    del block.gate.forward
    for module in (block, block.gate, block.experts):
        launches.clear()
        hook = module.register_forward_hook(lambda module, _given, _y: seen.append(module))
        close(ours(ids, past_key_values=hx.HeddleCache(ours, 2, 16, "fp16")).logits, expected)
        hook.remove()
        assert seen == [module]
        assert not launches[0]
        seen.clear()


def test_tensors_that_transformers_loads_in_another_dtype(hx, tmp_path):
    """What it renames, as Mixtral's routers, keeps the checkpoint's; norms of gpt-oss get FP32."""
    _, ours = pair(tmp_path / "gpt-oss", "gpt_oss", "mxfp4")
    assert {each.dtype for each in ours.parameters()} == {torch.float16}
    model, ours = pair(tmp_path, "mixtral", "awq")
    ours = load(tmp_path / "model", dtype=torch.bfloat16)
    assert {each.dtype for each in ours.parameters()} == {torch.bfloat16}
    ids = tokens(model, 1, 5, least=0.2)
    close(ours(ids).logits, model(ids).logits, 0.1)
    cache = hx.HeddleCache(ours, 1, 16, "bf16")
    close(ours(ids, past_key_values=cache).logits, model(ids).logits, 0.1)


def test_biases_of_zeros(hx, tmp_path):
    model = small_models.plain("gpt_oss")
    for name, tensor in model.named_parameters():
        if "experts" in name and name.endswith("bias"):
            tensor.zero_()
    small_experts.write(model, tmp_path, "mxfp4")
    ours = load(tmp_path)
    assert ours.model.layers[0].mlp.experts.down_bias is None
    ids = tokens(model, 2, PROMPT)
    close(ours(ids).logits, model(ids).logits)


def test_sinks_that_were_replaced_count(hx, tmp_path):
    model, ours = pair(tmp_path, "gpt_oss", "mxfp4")
    hx.compile(ours, kv="fp16")
    ids = tokens(model, 2, PROMPT)
    given = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
    assert torch.equal(ours.generate(ids, **given), model.generate(ids, **given))
    for each in (model, ours):
        for layer in each.model.layers:
            layer.self_attn.sinks.data.fill_(4)
    assert torch.equal(ours.generate(ids, **given), model.generate(ids, **given))
