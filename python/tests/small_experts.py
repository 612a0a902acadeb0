"""Checkpoints of small models of experts, with the names and forms of published ones."""

import zlib

import pytest
import small_models
from small_models import FORMATS, linears, mxfp4, save, torch, transformers

NAMES = {"mixtral": ("block_sparse_moe", ("w1", "w3"), "w2"),
         "qwen3_moe": ("mlp", ("gate_proj", "up_proj"), "down_proj")}
MXFP4 = {"quant_method": "mxfp4", "modules_to_not_convert": [
    "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]}


def matrices(model):
    """Weights [N, K] of single experts by their modules in a checkpoint: views of the model's."""
    block, first, down = NAMES[model.config.model_type]
    made = {}
    for index, layer in enumerate(model.model.layers):
        experts = layer.mlp.experts
        for expert in range(experts.num_experts):
            parts = (*experts.gate_up_proj.data[expert].chunk(2), experts.down_proj.data[expert])
            for name, part in zip((*first, down), parts, strict=True):
                made[f"model.layers.{index}.{block}.experts.{expert}.{name}"] = part
    return made


def stacks(model):
    """Weights [E, N, K] of gpt-oss, views of the model's, by their names there."""
    return {f"model.layers.{index}.mlp.experts.{name}": getattr(layer.mlp.experts, name).data.mT
            for index, layer in enumerate(model.model.layers)
            for name in ("gate_up_proj", "down_proj")}


def shared(path):
    """What is alike of matrices that multiply the same X."""
    parent, _, leaf = path.rpartition(".")
    return path if leaf in ("o_proj", "down_proj", "w2") else parent


@torch.no_grad()
def write(model, folder, name, dtype=torch.float16):
    """As small_models.write(); of gpt-oss the experts alone are quantised, as "mxfp4"."""
    for value in model.state_dict().values():
        value.copy_(value.to(dtype))
    tensors = {key: value.to(dtype) for key, value in model.state_dict().items()}
    if model.config.model_type == "gpt_oss":
        assert name == "mxfp4"
        for path, w in stacks(model).items():
            del tensors[path]
            codes, values = zip(*(mxfp4(expert) for expert in w), strict=True)
            w.copy_(torch.stack(values))
            blocks = torch.stack([each["weight_packed"] for each in codes])
            tensors[path + "_blocks"] = blocks.unflatten(2, (-1, 16))
            tensors[path + "_scales"] = torch.stack([each["weight_scale"] for each in codes])
        return save(model, folder, tensors, dtype, MXFP4)
    block = NAMES[model.config.model_type][0]
    tensors = {key.replace(".mlp.", f".{block}."): value for key, value in tensors.items()
               if ".experts." not in key}
    dense = {path: module.weight.data for path, module in linears(model).items()}
    for path, w in {**dense, **matrices(model)}.items():
        options = {"seed": zlib.crc32(shared(path).encode())} if name == "gptq-act-order" else {}
        made, values = FORMATS[name][0](w, **options)
        w.copy_(values)
        tensors.pop(path + ".weight", None)
        tensors.update({f"{path}.{part}": tensor for part, tensor in made.items()})
    return save(model, folder, tensors, dtype, FORMATS[name][1])


def pair(folder, model_type, name, dtype=torch.float16, **loading):
    """As small_models.pair()."""
    import small_models

    model = small_models.plain(model_type)
    write(model, folder / "model", name, dtype)
    ours = transformers.AutoModelForCausalLM.from_pretrained(folder / "model", dtype=dtype,
                                                             **loading)
    return model, ours


def gap(model, ids):
    """By how much of a logit the routers' choices for these tokens are made, at least."""
    logits = []
    routers = [m for m in model.modules() if type(m).__name__.endswith("Router")]
    hooks = [m.register_forward_hook(
        lambda _m, _x, y: logits.append(y[0] if isinstance(y, tuple) else y)) for m in routers]
    model(ids)
    for hook in hooks:
        hook.remove()
    top = torch.cat(logits).topk(model.config.num_experts_per_tok + 1).values
    return float((top[:, -2] - top[:, -1]).min())


def tokens(model, sequences, columns, least=0.02):
    """Tokens for which rounding to 16 bits makes no other choice."""
    for seed in range(1000):
        made = torch.Generator().manual_seed(seed)
        ids = torch.randint(2, model.config.vocab_size, (sequences, columns), generator=made)
        ids = ids.to(model.device)
        if gap(model, ids) > least:
            return ids
    pytest.fail("no tokens whose choices are far enough apart")


def close(found, expected, tolerance=8e-3):
    """A weight of a choice has the errors of logits some times as large."""
    small_models.close(found, expected, tolerance)


def load(folder, **more):
    return transformers.AutoModelForCausalLM.from_pretrained(
        folder, **{"dtype": torch.float16, **more})
