"""Models from their configs, and checkpoints as packed weights."""

import json
import os
import subprocess

import numpy as np
import pytest

NAMES = ("gptq4_k128_n32_g32", "awq_k128_n64_g32", "gptq4_k256_n32_g128_actorder")


@pytest.fixture
def config(root):
    return (root / "examples/models/llama-3-8b-awq/config.json").read_text()


def test_a_model_is_its_kernels(heddle, config):
    model = heddle.Model.from_config(config)
    assert (model.model_type, model.quant_method) == ("llama", "awq")
    assert [kernel.spec.name for kernel in model.kernels] == [
        "qkv_proj", "o_proj", "gate_up_proj", "down_proj"]
    assert model.kernels[0].layers == 32
    assert "q_proj" in model.kernels[0].covers
    assert model == heddle.Model.from_config(json.loads(config))
    assert model.specs == [one.spec for one in (*model.kernels, *model.rows)]
    served = next(layer for layer in model.layers if layer.name == "qkv_proj")
    assert (served.kind, served.kernel) == ("linear", 0)
    assert {part.path for part in served.parts} == {
        f"self_attn.{name}_proj" for name in "qkv"}
    assert model.facts()["hidden"] == 4096


def test_options_change_the_kernels(heddle, config):
    gated = heddle.Model.from_config(config, gated=True)
    spec = next(one.spec for one in gated.kernels if one.spec.name == "gate_up_proj")
    assert spec.to_dict()["epilogue"]["gated"] is True
    dense = heddle.Model.from_config(config, dense=True)
    assert "lm_head" in {one.spec.name for one in dense.kernels}
    plain = {key: value for key, value in json.loads(config).items()
             if key != "quantization_config"}
    with pytest.raises(heddle.UnsupportedError):
        heddle.Model.from_config(plain)
    assert heddle.Model.from_config(plain, plain_too=True).model_type == "llama"


def test_a_cache_is_named_in_words_or_as_a_block(heddle, config):
    words = heddle.Model.cache_from_config(config, "int8:head")
    assert [kernel.spec.op for kernel in words.kernels] == ["kv_append", "decode_attention"]
    block = {"dtype": "int8", "granularity": "head"}
    assert heddle.Model.cache_from_config(config, block) == words
    with pytest.raises(heddle.SpecError):
        heddle.Model.cache_from_config(config, "int9")


def test_what_is_no_config_is_refused(heddle):
    for config, error in (("{", heddle.SpecError), ({}, heddle.Error), (3, TypeError)):
        with pytest.raises(error):
            heddle.Model.from_config(config)


@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_is_read_as_packed_layers(heddle, root, name):
    reader = heddle.CheckpointReader(root / "tests/golden" / name)
    layer = reader.layers[0]
    packed = reader.pack(layer)
    assert (packed.dtype, packed.nbytes) == (np.uint8, layer.packed.bytes)
    assert packed.nbytes == heddle.weight_layout(layer.spec).total_bytes
    assert heddle.unpack_weights(layer.spec, packed).codes.any()
    assert layer == reader.layer(layer.name)
    assert layer.packed.type == "U8"
    heddle.check_packed_weights(layer.spec, layer.spec, layer.layout_version)
    assert (layer.permutation is not None) == ("actorder" in name)
    if layer.permutation:
        order = reader.read(layer.permutation).view(np.int32)
        assert sorted(order) == list(range(layer.spec.weight_shape[1]))
    for tensor in reader.tensors:
        assert reader.read(reader.tensor(tensor.name)).nbytes == tensor.bytes


@pytest.mark.parametrize("name", NAMES)
def test_what_repack_wrote_is_read_as_its_checkpoint(heddle, root, tmp_path, name):
    command = os.environ.get("HEDDLE_COMMAND")
    if not command:
        pytest.skip("needs the command heddle; ctest names it in HEDDLE_COMMAND")
    packed = tmp_path / "packed.safetensors"
    subprocess.run([command, "repack", root / "tests/golden" / name, "-o", packed], check=True,
                   capture_output=True)
    want = heddle.CheckpointReader(root / "tests/golden" / name)
    reader = heddle.CheckpointReader(packed)
    for layer, other in zip(reader.layers, want.layers, strict=True):
        assert (layer.name, layer.spec, layer.parts) == (other.name, other.spec, other.parts)
        np.testing.assert_array_equal(reader.pack(layer), want.pack(other))
    with pytest.raises(heddle.UsageError) as caught:
        heddle.CheckpointReader(packed, gated=True)
    assert caught.value.code == "checkpoint.packed_options"


def test_layers_of_experts_are_two_stacks(heddle, tmp_path):
    """Of 16 bits, as Transformers stacks them: [experts, N, K]."""
    config = {"model_type": "qwen3_moe", "torch_dtype": "float16", "hidden_size": 32,
              "vocab_size": 32, "num_hidden_layers": 1, "num_attention_heads": 1,
              "num_key_value_heads": 1, "head_dim": 32, "intermediate_size": 32,
              "moe_intermediate_size": 32, "decoder_sparse_step": 1, "num_experts": 2,
              "num_experts_per_tok": 1, "rms_norm_eps": 1e-6}
    (tmp_path / "config.json").write_text(json.dumps(config))
    at = "model.layers.0.mlp.experts."
    stacks = {at + "gate_up_proj": np.arange(2 * 64 * 32, dtype=np.uint16).reshape(2, 64, 32),
              at + "down_proj": np.arange(2 * 32 * 32, dtype=np.uint16).reshape(2, 32, 32)}
    header, data = {}, b""
    for name, stack in stacks.items():
        end = len(data) + stack.nbytes
        header[name] = {"dtype": "F16", "shape": stack.shape, "data_offsets": [len(data), end]}
        data += stack.tobytes()
    text = json.dumps(header).encode()
    (tmp_path / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
    reader = heddle.CheckpointReader(tmp_path, dense=True)
    [experts] = reader.experts
    assert isinstance(experts, heddle.CheckpointExperts)
    assert (experts.name, experts.spec.op) == (at[:-1], "moe")
    gemms = heddle.moe_gemms(experts.spec)
    for name, gemm in zip((experts.gate_up, experts.down), gemms, strict=True):
        layer = reader.layer(name)
        assert (layer.matrices, layer.spec) == (2, gemm)
        packed = reader.pack(layer).reshape(layer.packed.shape)
        for expert, plain in zip(packed, stacks[name], strict=True):
            codes = heddle.unpack_weights(layer.spec, expert).codes
            np.testing.assert_array_equal(codes.view(np.uint16).reshape(plain.shape), plain)
    model = heddle.Model.from_config(config, dense=True)
    [first, second] = (layer for layer in model.layers if layer.kind == "experts")
    assert (first.is_down, second.is_down) == (False, True)
    assert model.kernels[first.kernel].spec == experts.spec


def test_a_models_size_is_told_from_its_config(heddle, config):
    model = heddle.Model.from_config(config, dense=True)
    cache = heddle.Model.cache_from_config(config, "int8:head")
    size = heddle.model_size(model, cache, "h200", sequences=8, context=8192)
    layers = {one.name: one for one in size.weights}
    packed = next(one.spec for one in model.kernels if one.spec.name == "down_proj")
    assert layers["down_proj"].each == heddle.weight_layout(packed).total_bytes
    assert layers["down_proj"].count == 32
    assert size.cache_bytes == 32 * 8 * 8192 * 8 * 2 * (128 + 2)
    assert size.bytes == size.weight_bytes + size.cache_bytes + size.workspace_bytes
    assert heddle.model_size(model, None, "h200").cache_bytes == 0
    with pytest.raises(heddle.UsageError):
        heddle.model_size(model, cache, "h200", sequences=0)


def test_packing_fills_memory_of_the_callers(heddle, root):
    reader = heddle.CheckpointReader(str(root / "tests/golden" / NAMES[0]))
    layer = reader.layers[0]
    out = np.zeros(layer.packed.bytes + 16, np.uint8)
    assert reader.pack(layer, out) is out
    np.testing.assert_array_equal(out[:-16], reader.pack(layer))
    assert not out[-16:].any()
    with pytest.raises(heddle.UsageError) as caught:
        reader.pack(layer, out[:32])
    assert caught.value.code == "checkpoint.too_small"
    out.flags.writeable = False
    with pytest.raises(heddle.UsageError, match="out is"):
        reader.pack(layer, out)
    with pytest.raises(heddle.UsageError, match="not contiguous"):
        reader.pack(layer, np.zeros((8192, 2), np.uint8)[:, 0])


def test_a_layer_outlives_its_reader(heddle, root):
    layer = heddle.CheckpointReader(root / "tests/golden" / NAMES[0]).layers[0]
    part = layer.parts[0]
    assert (layer.name, part.rows) == (part.name, layer.spec.weight_shape[0])


def test_every_layer_in_parallel(heddle, root):
    reader = heddle.CheckpointReader(root / "tests/golden" / NAMES[0])
    packed, told = {}, []
    reader.for_each_layer(lambda layer: packed.update({layer.name: reader.pack(layer)}),
                          lambda layer, done, total: told.append((layer.name, done, total)), jobs=2)
    assert set(packed) == {layer.name for layer in reader.layers}
    assert told[-1][1:] == (len(packed), len(packed))

    def fail(layer):
        raise KeyError(layer.name)

    with pytest.raises(KeyError):
        reader.for_each_layer(fail)
    with pytest.raises(heddle.CancelledError) as caught:
        reader.for_each_layer(lambda layer: None, lambda *_: False)
    assert caught.value.code == "checkpoint.cancelled"
    with pytest.raises(heddle.UsageError):
        reader.for_each_layer(lambda layer: None, jobs=-1)


def test_files_that_are_none_are_refused(heddle, tmp_path):
    with pytest.raises(heddle.FileError) as caught:
        heddle.CheckpointReader(tmp_path / "nothing")
    assert caught.value.code.startswith("checkpoint.")
    with pytest.raises(TypeError):
        heddle.CheckpointReader(3)


def test_an_upload_arrives(heddle, driver, root):
    reader = heddle.CheckpointReader(root / "tests/golden" / NAMES[0])
    layer = reader.layers[0]
    stream = driver.make_stream()
    uploader = heddle.Uploader(stream, staging_bytes=4096)
    memory = heddle.DeviceMemory(driver.allocate(layer.packed.bytes), layer.packed.bytes)
    uploader.pack(reader, layer, memory)
    uploader.finish()
    assert driver.read(memory.pointer, memory.bytes) == reader.pack(layer).tobytes()
    uploader.write(np.arange(256, dtype=np.uint8), memory)
    uploader.finish()
    assert driver.read(memory.pointer, 256) == bytes(range(256))
    tensor = heddle.CheckpointReader(root / "tests/golden" / NAMES[2])
    order = tensor.layers[0].permutation
    uploader.read(tensor, order, memory)
    uploader.finish()
    assert driver.read(memory.pointer, order.bytes) == tensor.read(order).tobytes()
    small = heddle.DeviceMemory(memory.pointer, 16)
    with pytest.raises(heddle.UsageError) as caught:
        uploader.pack(reader, layer, small)
    assert caught.value.code == "upload.too_small"
    assert driver.live_host_bytes() > 0
    del uploader
    assert driver.live_host_bytes() == 0


def test_activations_of_eight_bits_follow_the_model_and_the_gpu(heddle, config):
    config = {**json.loads(config), "quantization_config": {"quant_method": "fbgemm_fp8"}}

    def activation(**options):
        model = heddle.Model.from_config(config, **options)
        return model.kernels[0].spec.to_dict()["activation"]["dtype"]

    assert activation() == activation(arch=90) == "fp8_e4m3"
    assert activation(arch=80) == activation(activation_bits=16) == "fp16"
    with pytest.raises(heddle.UsageError):
        activation(activation_bits=8)
    for arch in (-1, 91, 10**9):
        with pytest.raises(heddle.UsageError, match=f"arch = {arch} is that of no target"):
            activation(arch=arch)
