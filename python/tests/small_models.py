"""Small random models of Transformers, and checkpoints of their weights in every format.

Each writer returns the weights that its codes stand for: what a model must compute with.
"""

import json

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: tools/test --torch")
transformers = pytest.importorskip("transformers", reason="needs Transformers: tools/test --torch")

import safetensors.torch  # noqa: E402
from transformers import AutoConfig, AutoModelForCausalLM  # noqa: E402

SIZES = {"num_hidden_layers": 2, "hidden_size": 256, "intermediate_size": 512,
         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 320,
         "max_position_embeddings": 1024, "pad_token_id": 0, "bos_token_id": 1,
         "eos_token_id": None, "tie_word_embeddings": False}
MODELS = {
    "llama": {}, "qwen2": {}, "qwen3": {}, "mistral": {"sliding_window": 96},
    "gemma2": {"sliding_window": 96, "query_pre_attn_scalar": 100, "tie_word_embeddings": True,
               "attn_implementation": "eager"},
    "phi3": {"sliding_window": None, "original_max_position_embeddings": 1024},
    "mixtral": {"num_local_experts": 8, "num_experts_per_tok": 2},
    "qwen3_moe": {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 256},
    "gpt_oss": {"num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": 20,
                "attn_implementation": "eager"},
}


def plain(model_type, seed=0, **changes):
    """A model with random weights, in FP32, whose logits are far enough apart."""
    torch.manual_seed(seed)
    config = AutoConfig.for_model(model_type, **{**SIZES, **MODELS[model_type], **changes})
    model = AutoModelForCausalLM.from_config(
        config, dtype=torch.float32, experts_implementation="eager",
        attn_implementation=MODELS[model_type].get("attn_implementation", "sdpa")).eval()
    for name, tensor in model.named_parameters():
        noise = torch.randn_like(tensor)
        if name.endswith("norm.weight") or "layernorm" in name:
            tensor.data = (noise * 0.1 + (0 if model_type == "gemma2" else 1)).half().float()
        elif tensor.dim() == 3:  # experts, of gpt-oss [E, K, N]
            k = tensor.shape[1 if model_type == "gpt_oss" else 2]
            tensor.data = (noise * 1.5 / k ** 0.5).half().float()
        elif name.endswith(("gate.weight", "router.weight")):
            tensor.data = (noise * 3 / tensor.shape[1] ** 0.5).half().float()
        elif tensor.dim() == 2 and "embed" not in name:
            tensor.data = (noise * 1.5 / tensor.shape[1] ** 0.5).half().float()
        else:
            tensor.data = noise.half().float() * (1 if "embed" in name else 0.2)
    return model


def linears(model):
    return {name: module for name, module in model.named_modules()
            if isinstance(module, torch.nn.Linear) and name != "lm_head"}


def words(codes, bits=4):
    """Codes [R, C] as int32 [R, C * bits / 32], low bits first."""
    lanes = 32 // bits
    made = torch.zeros(codes.shape[0], codes.shape[1] // lanes, dtype=torch.int64)
    for i in range(lanes):
        made |= codes[:, i::lanes].long() << (bits * i)
    return torch.where(made >= 2**31, made - 2**32, made).to(torch.int32)


def grouped(w, group):
    """Codes [N, K], zero points and scales [N, G] of 4 unsigned bits."""
    parts = w.unflatten(1, (-1, group))
    low, high = parts.amin(-1).clamp(max=0), parts.amax(-1).clamp(min=0)
    scales = ((high - low) / 15).clamp(min=1e-6).half().float()
    zeros = (-low / scales).round().clamp(0, 15)
    codes = (parts / scales[..., None] + zeros[..., None]).round().clamp(0, 15)
    return codes.flatten(1), zeros, scales


def expand(values, group):
    return values.repeat_interleave(group, 1)


def awq(w, group=128):
    codes, zeros, scales = grouped(w, group)
    order = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7])

    def rows(t):
        return words(t.T.unflatten(1, (-1, 8))[:, :, order].flatten(1))

    tensors = {"qweight": rows(codes), "qzeros": rows(zeros), "scales": scales.T.half()}
    return tensors, (codes - expand(zeros, group)) * expand(scales, group)


def gptq(w, group=128, seed=None):
    """seed: the columns of each group are scattered (act-order)."""
    k = w.shape[1]
    index = torch.arange(k) // group
    if seed is not None:
        index = index[torch.randperm(k, generator=torch.Generator().manual_seed(seed))]
    order = torch.argsort(index, stable=True)
    codes, zeros, scales = grouped(w[:, order], group)
    back = torch.argsort(order)
    codes = codes[:, back]
    tensors = {"qweight": words(codes).T.contiguous(), "qzeros": words(zeros.T) - 0x11111111,
               "scales": scales.T.half(), "g_idx": index.int()}
    return tensors, (codes - zeros[:, index]) * scales[:, index]


def compressed(w, group=128):
    parts = w.unflatten(1, (-1, group))
    scales = (parts.abs().amax(-1) / 7.5).clamp(min=1e-6).half().float()
    codes = (parts / scales[..., None]).round().clamp(-8, 7).flatten(1)
    tensors = {"weight_packed": words(codes + 8), "weight_scale": scales.half(),
               "weight_shape": torch.tensor(w.shape)}
    return tensors, codes * expand(scales, group)


def fp8(w, block=128):
    n, k = w.shape
    tiles = w.unflatten(1, (-1, block)).unflatten(0, (-1, block))
    scales = (tiles.abs().amax((1, 3)) / 448).clamp(min=1e-8)
    whole = expand(scales, block).repeat_interleave(block, 0)[:n, :k]
    codes = (w / whole).to(torch.float8_e4m3fn)
    return {"weight": codes, "weight_scale_inv": scales}, codes.float() * whole


def mxfp4(w, group=32):
    table = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    parts = w.unflatten(1, (-1, group))
    power = torch.ceil(torch.log2(parts.abs().amax(-1).clamp(min=1e-20) / 6)).clamp(-127, 127)
    scaled = parts / torch.exp2(power)[..., None]
    code = (scaled.abs()[..., None] - table).abs().argmin(-1)
    values = table[code] * scaled.sign() * torch.exp2(power)[..., None]
    code = (code + 8 * (scaled < 0)).flatten(1).to(torch.uint8)
    tensors = {"weight_packed": code[:, 0::2] | code[:, 1::2] << 4,
               "weight_scale": (power + 127).to(torch.uint8)}
    return tensors, values.flatten(1)


def nvfp4(w, group=16):
    table = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    parts = w.unflatten(1, (-1, group))
    whole = 448 * 6 / parts.abs().max()
    scales = (parts.abs().amax(-1) / 6 * whole).to(torch.float8_e4m3fn)
    factors = scales.float() / whole
    scaled = parts / factors[..., None]
    code = (scaled.abs()[..., None] - table).abs().argmin(-1)
    values = table[code] * scaled.sign() * factors[..., None]
    code = (code + 8 * (scaled < 0)).flatten(1).to(torch.uint8)
    tensors = {"weight_packed": code[:, 0::2] | code[:, 1::2] << 4, "weight_scale": scales,
               "weight_global_scale": whole.reshape(1)}
    return tensors, values.flatten(1)


def int8_rows(w):
    scales = (w.abs().amax(-1, keepdim=True) / 127).clamp(min=1e-6).half().float()
    codes = (w / scales).round().clamp(-127, 127)
    return {"weight": codes.to(torch.int8), "weight_scale": scales.half()}, codes * scales


def compressed_config(kind, weights, activations=None):
    return {"quant_method": "compressed-tensors", "format": kind, "quantization_status":
            "compressed", "ignore": ["lm_head"], "config_groups": {"group_0": {
                "targets": ["Linear"], "weights": weights, "input_activations": activations,
                "output_activations": None}}}


FORMATS = {
    "awq": (awq, {"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemm",
                  "zero_point": True}),
    "gptq": (gptq, {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False,
                    "sym": False}),
    "gptq-act-order": (gptq, {"quant_method": "gptq", "bits": 4, "group_size": 128,
                              "desc_act": True, "sym": False}),
    "compressed-tensors": (compressed, compressed_config(
        "pack-quantized", {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group",
                           "group_size": 128, "dynamic": False})),
    "fp8": (fp8, {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128],
                  "activation_scheme": "dynamic"}),
    "w8a8": (int8_rows, compressed_config(
        "int-quantized", {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "channel",
                          "dynamic": False},
        {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "token",
         "dynamic": True})),
    "mxfp4": (mxfp4, compressed_config(
        "mxfp4-pack-quantized", {"num_bits": 4, "type": "float", "symmetric": True,
                                 "strategy": "group", "group_size": 32, "dynamic": False,
                                 "scale_dtype": "torch.uint8"})),
    "nvfp4": (nvfp4, compressed_config(
        "nvfp4-pack-quantized", {"num_bits": 4, "type": "float", "symmetric": True,
                                 "strategy": "tensor_group", "group_size": 16,
                                 "dynamic": False})),
}


@torch.no_grad()
def write(model, folder, name, dtype=torch.float16):
    """Writes a checkpoint in the format `name` ("plain": 16 bits). From here on the model computes
    with the weights that it stands for."""
    inner = linears(model)
    tensors = {key: value.to(dtype) for key, value in model.state_dict().items()
               if not (key == "lm_head.weight" and model.config.tie_word_embeddings)}
    for seed, (path, module) in enumerate(inner.items() if name != "plain" else ()):
        options = {"seed": seed} if name == "gptq-act-order" else {}
        made, values = FORMATS[name][0](module.weight.data, **options)
        del tensors[path + ".weight"]
        tensors.update({f"{path}.{part}": tensor for part, tensor in made.items()})
        module.weight.data = values
    for key, value in model.state_dict().items():
        if name == "plain" or key.removesuffix(".weight") not in inner:
            value.copy_(value.to(dtype))
    return save(model, folder, tensors, dtype, None if name == "plain" else FORMATS[name][1])


def save(model, folder, tensors, dtype, quantization):
    """Tensors, and the model's config with a quantization_config."""
    folder.mkdir(parents=True, exist_ok=True)
    safetensors.torch.save_file({k: v.contiguous() for k, v in tensors.items()},
                                folder / "model.safetensors", {"format": "pt"})
    config = json.loads(model.config.to_json_string(use_diff=False))
    config.update(architectures=[type(model).__name__], dtype=str(dtype).split(".")[1],
                  torch_dtype=str(dtype).split(".")[1])
    if quantization is not None:
        config["quantization_config"] = quantization
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def pair(folder, model_type, name, seed=0, **loading):
    """The model that a checkpoint stands for, in FP32, and the checkpoint on Heddle."""
    model = plain(model_type, seed)
    write(model, folder / "model", name)
    return model, AutoModelForCausalLM.from_pretrained(folder / "model", dtype=torch.float16,
                                                       **loading)


def tokens(sequences, columns=9, seed=1):
    made = torch.Generator().manual_seed(seed)
    return torch.randint(2, SIZES["vocab_size"], (sequences, columns), generator=made)


def close(found, expected, tolerance=4e-3):
    """At most so much of the largest logit apart."""
    error = (found.float() - expected).abs().max()
    assert torch.isfinite(found).all()
    assert error <= tolerance * expected.abs().max(), float(error)
