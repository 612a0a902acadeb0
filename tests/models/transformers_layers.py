#!/usr/bin/env python3
"""The layers of a config as Transformers builds its model, without weights (on the meta device).

    python3 tests/models/transformers_layers.py            compares with the kept lists
    python3 tests/models/transformers_layers.py --write    writes them again

A list has for each module of the decoder [path below a layer, or from the root; rows; columns;
matrices; layers that have it, as text]. Experts that Transformers keeps in one tensor are the matrices of
their layers. Needs Transformers and PyTorch; test_models.py compares Heddle with the lists."""

import argparse
import json
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
CONFIGS = HERE / "configs"
LISTS = HERE / "layers"

# Stacks of experts whose two last sides are inputs and outputs.
TRANSPOSED = ("gpt_oss", "llama4")
# Types that Transformers knows by another name.
TYPES = {"kimi_k2": "deepseek_v3"}
# Published with the language model's fields on top, which Transformers would ignore.
LEFT_OUT = ("step3p7-flat",)
# Tensors of two sides or more that are no matrix of a layer.
NO_MATRIX = re.compile(r"position_bias|_bias$|router_scale|correction_bias|per_expert_scale|^A_log$")
TOWERS = re.compile(r"(^|\.)(visual|vision|vision_tower|vision_model|audio|audio_tower|embed_vision|"
                    r"embed_audio|multi_modal_projector|mm_projector)")
LIST = re.compile(r"^(?P<body>.*?)\.?(layers|h|blocks)\.(?P<index>\d+)\.(?P<path>.+)$")


def load_config(path):
    from transformers import AutoConfig
    fields = json.loads(path.read_text())
    for part in (fields, fields.get("text_config", {})):
        part.pop("quantization_config", None)
        if part.get("model_type") in TYPES:
            part["model_type"] = TYPES[part["model_type"]]
    return AutoConfig.for_model(fields.pop("model_type"), **fields)


def build(config):
    import torch
    import transformers
    with torch.device("meta"):
        try:
            return transformers.AutoModelForCausalLM.from_config(config)
        except ValueError:
            return transformers.AutoModelForImageTextToText.from_config(config)
        except ImportError:  # what a tower needs is not installed
            return transformers.AutoModelForCausalLM.from_config(config.get_text_config())


def matrices_of(name, module):
    """(name, rows, columns, matrices) of what a module holds itself."""
    import torch
    kind = type(module).__name__
    if isinstance(module, torch.nn.Embedding):
        return
    if isinstance(module, torch.nn.Conv1d):
        yield name, module.weight.shape[0], module.weight.shape[-1], 1
    elif isinstance(module, torch.nn.Linear):
        groups = getattr(module, "n_groups", 1)
        yield name, module.weight.shape[0] // groups, module.weight.shape[1], groups
    elif kind == "Conv1D":  # GPT-2's: stored as inputs and outputs
        yield name, module.weight.shape[1], module.weight.shape[0], 1
    else:
        for own, tensor in module.named_parameters(recurse=False):
            if tensor.dim() < 2 or NO_MATRIX.search(own):
                continue
            path = name if own == "weight" else f"{name}.{own}"
            *stack, n, k = tensor.shape
            yield path, n, k, stack[0] if stack else 1


def ranges(indices):
    """[0, 1, 2, 5] as "0-2 5"."""
    text = []
    for index in indices:
        if text and index == text[-1][1] + 1:
            text[-1][1] = index
        else:
            text.append([index, index])
    return " ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in text)


def rows_of(found):
    """Rows of a list: `found` has (path, n, k, matrices, layer or None)."""
    layers = {}
    for path, n, k, matrices, layer in found:
        layers.setdefault((path, n, k, matrices), []).append(layer)
    return sorted([path, n, k, matrices,
                   "" if None in where else ranges(sorted(where))]
                  for (path, n, k, matrices), where in layers.items())


def list_of(path):
    config = load_config(path)
    transposed = config.model_type in TRANSPOSED or \
        getattr(config, "model_type", "").removesuffix("_text") in TRANSPOSED
    experts = getattr(config, "text_config", config)
    experts = getattr(experts, "ffn_config", experts)
    count = getattr(experts, "moe_num_experts", 1)
    found = []
    for name, module in build(config).named_modules():
        if TOWERS.search(name) or name.endswith("_norm"):
            continue
        for full, n, k, matrices in matrices_of(name, module):
            at = LIST.match(full)
            own, layer = (at["path"], int(at["index"])) if at else (full.split(".")[-1], None)
            if matrices > 1 and transposed:
                n, k = k, n
            if own.startswith("ffn.experts.mlp."):  # DBRX: all experts below each other
                n, matrices = n // count, count
                if own.endswith("w2"):
                    n, k = k, n
            found.append((own, n, k, matrices, layer))
    return rows_of(found)


def text_of(rows):
    return "[\n" + ",\n".join(" " + json.dumps(row) for row in rows) + "\n]\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the lists")
    options = parser.parse_args()
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    code = 0
    for path in sorted(CONFIGS.glob("*.json")):
        kept = LISTS / path.name
        if path.stem in LEFT_OUT or (not options.write and not kept.exists()):
            continue
        try:
            text = text_of(list_of(path))
        except Exception as error:  # pylint: disable=broad-except
            print(f"{path.stem}: not built: {type(error).__name__}: {str(error)[:200]}",
                  file=sys.stderr)
            code = code if options.write else 1
            continue
        if options.write:
            kept.parent.mkdir(exist_ok=True)
            kept.write_text(text)
        elif kept.read_text() != text:
            print(f"{path.stem}: Transformers builds other layers than {kept}", file=sys.stderr)
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
