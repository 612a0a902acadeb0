"""Quantises a small model of Transformers, shows the plan of one of its layers, and generates.

usage: generate.py [FOLDER]

FOLDER is a 16-bit model with a config.json; without one a small Llama with random weights is made.
Without a GPU the model is loaded and packed, and the plan is printed, but nothing is generated.
"""

import sys
import tempfile

import heddle
import heddle.transformers
import torch
from heddle.torch import Linear
from transformers import AutoModelForCausalLM, LlamaConfig


def small_model(folder):
    config = LlamaConfig(
        num_hidden_layers=2, hidden_size=256, intermediate_size=512, num_attention_heads=4,
        num_key_value_heads=2, vocab_size=512, pad_token_id=0, eos_token_id=None)
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(config, dtype=torch.float16).save_pretrained(folder)


def main(folder):
    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float16,
        quantization_config=heddle.transformers.HeddleConfig(bits=4, kv="int8:head"))
    linears = {name: module for name, module in model.named_modules() if isinstance(module, Linear)}
    name, layer = next(iter(linears.items()))
    packed = sum(linear.weights.numel() for linear in linears.values())
    print(f"{len(linears)} layers of Heddle, {packed} bytes; the plan of {name} on an H100:")
    print(heddle.resolve(layer.spec, "h100").describe())
    if model.device.type != "cuda":
        print("no GPU: nothing is generated")
        return
    heddle.transformers.compile(model)
    prompt = torch.arange(2, 10, device=model.device)[None]
    print(model.generate(prompt, max_new_tokens=16, do_sample=False)[0].tolist())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as made:
            small_model(made)
            main(made)
