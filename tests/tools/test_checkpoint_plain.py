"""heddle repack and build of layers that are not quantised: --dense and --lm-head."""

import json
import random
import unittest

from checkpoint_forms import tensor
from command import ROOT, CommandTest, inline
from safetensors_file import load, save

LAYER = "model.layers.0."
CONFIG = {
    "model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 64, "intermediate_size": 96,
    "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 128,
    "rms_norm_eps": 1e-5, "hidden_act": "silu",
}
SHAPES = {
    LAYER + "self_attn.q_proj": [64, 64], LAYER + "self_attn.k_proj": [32, 64],
    LAYER + "self_attn.v_proj": [32, 64], LAYER + "self_attn.o_proj": [64, 64],
    LAYER + "mlp.gate_proj": [96, 64], LAYER + "mlp.up_proj": [96, 64],
    LAYER + "mlp.down_proj": [64, 96], "lm_head": [128, 64], "model.embed_tokens": [128, 64],
}
PACKED = {LAYER + "self_attn.qkv_proj", LAYER + "self_attn.o_proj", LAYER + "mlp.gate_up_proj",
          LAYER + "mlp.down_proj", "lm_head"}

# Where checkpoints of other model types have their layers, head, embeddings, and what is in no
# layer; the configs are those of tests/models.
PLACES = {
    "bloom": ("transformer.h", "lm_head", "transformer.word_embeddings", ""),
    "chatglm": ("transformer.encoder.layers", "transformer.output_layer", "", ""),
    "deepseek_v3": ("model.layers", "lm_head", "", ""),
    "falcon": ("transformer.h", "lm_head", "transformer.word_embeddings", ""),
    "gemma3": ("language_model.model.layers", "lm_head", "language_model.model.embed_tokens", ""),
    "gpt2": ("transformer.h", "lm_head", "transformer.wte", ""),
    "gpt_neox": ("gpt_neox.layers", "embed_out", "", ""),
    "internlm2": ("model.layers", "output", "", ""),
    "nemotron_h": ("backbone.layers", "lm_head", "", ""),
    "opt": ("model.decoder.layers", "lm_head", "model.decoder.embed_tokens", "model.decoder."),
}


def plain_config(config):
    """The config of the model before it was quantised, in BF16."""
    plain = {key: plain_config(value) if isinstance(value, dict) else value
             for key, value in config.items() if key not in ("quantization_config", "dtype")}
    typed = "torch_dtype" in config or "dtype" in config
    return {**plain, "torch_dtype": "bfloat16"} if typed else plain


def modules_of(report, name):
    """Every dense linear layer of a listed model: the module that has its weights in a checkpoint,
    the one that has its bias, the shape of the weights there, and the rows of the bias."""
    layers, head, embeddings, outside = PLACES[name]
    for layer in report["layers"]:
        if layer["kind"] != "linear":
            continue
        for part in layer["parts"]:
            shape = [part["n"], layer["k"]]
            rows = part["n"] if layer["bias"] else 0
            if layer["name"] == "lm_head":
                yield embeddings or head, head, shape, rows
            elif not layer["layers"]:
                module = outside + part["module"].removeprefix(outside)
                yield module, module, shape, rows
            for index in layer["layers"]:
                module = f"{layers}.{index}.{part['module']}"
                yield module, module, shape[::-1] if name == "gpt2" else shape, rows


class PlainTest(CommandTest):

    def write(self, name, without=(), dtype="BF16", **config):
        """A small Llama of 16 bits."""
        folder = self.folder / name
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({**CONFIG, **config}))
        rng = random.Random(1)
        tensors = {
            module + ".weight": tensor(dtype, [n, k], "H",
                                       [rng.randrange(0x3000, 0x3F00) for _ in range(n * k)])
            for module, (n, k) in SHAPES.items() if module not in without}
        tensors["model.norm.weight"] = tensor(dtype, [64], "H", [0x3C00] * 64)
        save(folder / "model.safetensors", tensors)
        return folder

    def repack(self, folder, *options, check=0):
        out = self.folder / "out.safetensors"
        self.heddle("repack", folder, *options, "-o", out, check=check)
        return load(out)

    def specs(self, *arguments):
        """The gemm specs of build, by their names: a config alone has those of norms, too."""
        printed = self.heddle("build", *arguments, "--print-specs", check=0).out
        return {spec.pop("name"): spec for spec in json.loads(printed) if spec["op"] == "gemm"}

    def test_a_whole_checkpoint(self):
        folder = self.write("whole")
        for options in ([], ["--gated"], ["--lm-head", 8], ["--lm-head", 4, "--gated"]):
            with self.subTest(options):
                metadata, tensors = self.repack(folder, "--dense", *options)
                packed = {name.removesuffix(".heddle"): json.loads(text)
                          for name, text in metadata.items() if name.endswith(".heddle")}
                self.assertEqual(set(packed), PACKED)
                self.assertEqual(set(tensors), {name + ".heddle" for name in PACKED} |
                                 {"model.embed_tokens.weight", "model.norm.weight"})
                specs = {name.rsplit(".", 1)[-1]: spec for name, spec in packed.items()}
                self.assertEqual(self.specs(folder, "--dense", *options), specs)
                self.assertEqual(self.specs(folder / "config.json", "--dense", *options), specs)
                self.assertEqual(metadata.get("heddle.lm_head"),
                                 str(options[1]) if "--lm-head" in options else None)
                self.assertEqual(len(tensors["model.layers.0.self_attn.o_proj.heddle"][2]),
                                 64 * 128 * 2)  # K is padded to 128
                report = self.heddle_json("build", folder, "--dense", *options, "--list",
                                          "--target", "sm_80")
                self.assertEqual((report["served"], report["total"]), (8, 8))
                self.assertEqual([layer["reason"] for layer in report["layers"]
                                  if layer["kernel"] is None], [])

    def test_the_tensors_of_each_model_type_give_the_kernels_of_its_config(self):
        for name in PLACES:
            folder = self.folder / name
            folder.mkdir()
            config = json.loads((ROOT / f"tests/models/configs/{name}.json").read_text())
            path = folder / "config.json"
            path.write_text(json.dumps(plain_config(config)))
            report = self.heddle_json("build", path, "--dense", "--list", "--target", "sm_80")
            tensors = {}
            for weights, bias, (n, k), rows in modules_of(report, name):
                tensors[weights + ".weight"] = tensor("BF16", [n, k], "H", [0x3C00] * (n * k))
                if rows:
                    tensors[bias + ".bias"] = tensor("BF16", [rows], "H", [0x3C00] * rows)
            want = [self.kernels(path, *options) for options in ([], ["--lm-head", 8])]
            # Experts are in the other shard.
            shard = folder / "model-00001-of-00002.safetensors"
            save(shard, tensors)
            for options, kernels in zip(([], ["--lm-head", 8]), want):
                with self.subTest(name, options=options):
                    self.assertEqual(self.kernels(shard, *options), kernels)

    def kernels(self, path, *options):
        """The gemm specs of build without their names, each once."""
        printed = self.heddle("build", path, "--dense", *options, "--print-specs", check=0).out
        return sorted({json.dumps({**spec, "name": ""}) for spec in json.loads(printed)
                       if spec["op"] == "gemm"})

    def test_a_head_that_shares_the_embeddings(self):
        folder = self.write("tied", without=["lm_head"], tie_word_embeddings=True)
        own = self.write("own")
        for options in (["--dense"], ["--lm-head", 8], ["--lm-head", 4]):
            with self.subTest(options):
                metadata, tensors = self.repack(folder, *options)
                self.assertIn("model.embed_tokens.weight", tensors)
                head = json.loads(metadata["lm_head.heddle"])
                self.assertEqual(self.specs(folder, *options)["lm_head"], head)
                self.assertEqual(self.specs(folder / "config.json", *options)["lm_head"], head)
        # These values as a head of its own give the same bytes.
        content = load(folder / "model.safetensors")[1]
        content["lm_head.weight"] = content["model.embed_tokens.weight"]
        save(own / "model.safetensors", content)
        self.assertEqual(self.repack(own, *options)[1]["lm_head.heddle"],
                         self.repack(folder, *options)[1]["lm_head.heddle"])

    def test_without_the_options_nothing_is_packed(self):
        folder = self.write("plain")
        out = self.folder / "no.safetensors"
        for command in (["repack", folder, "-o", out], ["build", folder, "--print-specs"]):
            self.assertIn("--dense", self.problem(*command, code=1))
        self.assertFalse(out.exists())

    def test_another_type_than_the_configs_is_refused_by_name(self):
        folder = self.write("half", dtype="F16")
        out = self.folder / "no.safetensors"
        done = self.heddle("repack", folder, "--dense", "-o", out, check=1)
        self.assertIn('layer "lm_head": the tensor lm_head.weight is F16 [128, 64], but the '
                      "config's torch_dtype is bf16", done.err)
        self.assertFalse(out.exists())
        metadata, tensors = self.repack(folder, "--lm-head", 8, "--keep", "model.layers")
        self.assertEqual(json.loads(metadata["lm_head.heddle"])["weight"]["scale_dtype"], "bf16")
        self.assertIn("model.layers.0.mlp.up_proj.weight", tensors)

    def test_the_command_line(self):
        folder = self.write("line")
        for option in ("5", "16", "x", "-8", ""):
            self.problem("repack", folder, "--lm-head", option, "-o", self.folder / "no", code=2)
        for option in (["--dense"], ["--lm-head", 8]):
            line = self.problem("build", inline(), *option, "--print-specs", code=2)
            self.assertIn(option[0], line)
        line = self.problem("repack", self.write("none", model_type="no_such_type"), "--dense",
                            "-o", self.folder / "no", code=1)
        self.assertIn('"no_such_type"', line)

    def test_layers_that_are_missing(self):
        folder = self.write("missing", without=[LAYER + "mlp.down_proj"])
        done = self.heddle("repack", folder, "--dense", "-o", self.folder / "out", check=0)
        self.assertIn("no tensor of 1 linear layers", done.err)
        for options, code in (([], 0), (["--all"], 1)):
            report = self.heddle_json("build", folder, "--dense", "--list", "--target", "sm_80",
                                      *options, check=code)
            self.assertEqual((report["served"], report["total"]), (7, 8))

    def test_a_head_that_is_kept_and_quantised(self):
        folder = self.write("both")
        for option in ("--keep", "--skip"):
            line = self.problem("repack", folder, "--lm-head", 8, option, "lm_head", "-o",
                                self.folder / "no", code=2)
            self.assertIn(option, line)
            self.assertIn("--lm-head", line)

    def test_a_head_that_is_quantised_already(self):
        quantization = {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": False,
                        "sym": True, "lm_head": True}
        config = self.file("config.json", json.dumps({**CONFIG, "torch_dtype": "float16",
                                                      "quantization_config": quantization}))
        line = self.problem("build", config, "--lm-head", 8, "--print-specs", code=1)
        self.assertIn("lm_head is quantised already", line)


if __name__ == "__main__":
    unittest.main()
