"""heddle sample-model: every format is a checkpoint that all other commands take."""

import json
import os
import pathlib
import subprocess
import unittest

from command import HEDDLE, CommandTest
from safetensors_file import load

H200 = ("--target", "h200")
FORMATS = ("awq", "gptq", "gptq-act-order", "w8a8", "fp8", "fp8-blocks")
DECODER = pathlib.Path(HEDDLE).parents[1] / "examples/decoder/heddle_decoder"
# What GEMMs of each format have to say of themselves.
SHAPES = {
    "awq": ("qweight", [256, 64]),
    "gptq": ("qweight", [32, 512]),
    "gptq-act-order": ("g_idx", [256]),
    "w8a8": ("weight_scale", [512, 1]),
    "fp8": ("weight", [512, 256]),
    "fp8-blocks": ("weight_scale_inv", [4, 2]),
}


class SampleModelTest(CommandTest):

    def sample(self, *options, name="sample"):
        folder = self.folder / name
        return folder, self.heddle_json("sample-model", folder, *options)

    def test_is_laid_out_like_a_real_one(self):
        for name, (part, shape) in SHAPES.items():
            with self.subTest(name):
                folder, report = self.sample("--format", name, name=name)
                self.assertEqual({path.name for path in folder.iterdir()},
                                 {"config.json", "model.safetensors"})
                config = json.loads((folder / "config.json").read_text())
                self.assertEqual(config["architectures"], ["LlamaForCausalLM"])
                self.assertIn("quant_method", config["quantization_config"])
                metadata, tensors = load(folder / "model.safetensors")
                self.assertEqual(metadata, {"format": "pt"})
                self.assertEqual(report["tensors"], len(tensors))
                self.assertLess(report["bytes"], 4e6)
                self.assertIn("lm_head.weight", tensors)
                self.assertEqual(tensors[f"model.layers.1.mlp.gate_proj.{part}"][1], shape)

    def test_the_same_options_make_the_same_bytes(self):
        def content(folder):
            return [(folder / name).read_bytes() for name in ("config.json", "model.safetensors")]
        first = content(self.sample(name="a")[0])
        self.assertEqual(content(self.sample(name="b")[0]), first)
        other = content(self.sample("--seed", "2", name="c")[0])
        self.assertEqual((other[0], other[1] == first[1]), (first[0], False))

    def test_memory_is_little_more_than_the_file(self):
        """Values in FP32 would be eight times as much as codes of 4 bits."""
        def peak_and_size(layers):
            folder = self.folder / str(layers)
            command = [HEDDLE, "sample-model", str(folder), "--layers", str(layers)]
            with subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                  env=self.environment) as child:
                _, status, usage = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(child.returncode, 0)
            return usage.ru_maxrss * 1024, (folder / "model.safetensors").stat().st_size
        few, many = peak_and_size(1), peak_and_size(60)
        self.assertLess(many[0] - few[0], 2 * (many[1] - few[1]))

    def test_every_command_takes_it(self):
        for name in FORMATS:
            for kind in ("llama", "qwen3"):
                with self.subTest(format=name, type=kind):
                    folder, _ = self.sample("--format", name, "--type", kind, "--layers", "1",
                                            name=f"{name}-{kind}")
                    layers = self.heddle_json("build", folder, *H200, "--list", "--gated", "--dense",
                                              "--kv", "int8:head", "--all")
                    self.assertEqual(layers["served"], layers["total"])
                    for convert in ("repack", "dequantize"):
                        out = self.folder / f"{name}-{kind}-{convert}.safetensors"
                        done = self.heddle_json(convert, folder, "-o", out)
                        self.assertEqual((done["unserved"], out.exists()), ([], True))

    def test_models_of_experts(self):
        """Every layer is served, and the experts of the config are those of the weights."""
        for kind, form in (("mixtral", "gptq"), ("mixtral", "gptq-act-order"),
                           ("mixtral", "fp8-blocks"), ("qwen3-moe", "awq"),
                           ("qwen3-moe", "gptq-act-order"), ("qwen3-moe", "fp8"),
                           ("gpt-oss", "mxfp4")):
            with self.subTest(format=form, type=kind):
                folder, report = self.sample("--format", form, "--type", kind,
                                             name=f"{kind}-{form}")
                self.assertLess(report["bytes"], 16e6)
                options = (*H200, "--dense", "--gated", "--list")
                packed = self.folder / f"{kind}-{form}.safetensors"
                done = self.heddle_json("repack", folder, "--dense", "--gated", "-o", packed)
                self.assertEqual(done["unserved"], [])
                specs = []
                for path in (folder / "config.json", folder, packed):
                    made = self.heddle_json("build", path, *options, "--all")
                    self.assertEqual(made["served"], made["total"])
                    told = self.heddle("build", path, "--dense", "--gated", "--print-specs",
                                       "--target", "h200", check=0).out
                    specs.append([json.dumps(spec) for spec in json.loads(told)
                                  if spec["op"] == "moe"])
                self.assertEqual(len(specs[0]), 1)
                self.assertEqual(specs[0], specs[1])
                self.assertEqual(specs[0], specs[2])
        self.assertIn("mxfp4", self.problem("sample-model", self.folder / "x", "--type", "gpt-oss",
                                            "--format", "awq", code=2))
        self.problem("sample-model", self.folder / "x", "--format", "mxfp4", code=2)

    def test_ranks_that_share_experts(self):
        """Each has its run of the stacks and the moe of it, in a file and from the checkpoint."""
        for kind in ("mixtral", "gpt-oss"):
            folder, _ = self.sample("--type", kind, name=kind)
            whole = self.folder / f"{kind}.safetensors"
            self.heddle("repack", folder, "-o", whole, check=0)
            stacks = {name: data for name, (_, shape, data) in load(whole)[1].items()
                      if name.endswith(".heddle") and len(shape) == 2}
            self.assertEqual(len(stacks), 4)
            joined = dict.fromkeys(stacks, b"")
            for rank in range(2):
                with self.subTest(kind, rank=rank):
                    option = ("--ep", f"{rank}/2")
                    file = self.folder / f"{kind}-{rank}.safetensors"
                    self.heddle("repack", folder, *option, "-o", file, check=0)
                    metadata, tensors = load(file)
                    self.assertEqual(metadata["heddle.ep"], f"{rank}/2")
                    for name in stacks:
                        joined[name] += tensors[name][2]
                    specs = [[spec for spec in json.loads(self.heddle(
                                  "build", *place, "--print-specs", *H200).out)
                              if spec["op"] == "moe"] for place in ((folder, *option), (file,))]
                    self.assertEqual(specs[0], specs[1])
                    self.assertEqual(specs[0][0]["shape"]["first_expert"], 4 * rank)
                    size = self.heddle_json("size", folder, *option, *H200, "--batch", "1",
                                            "--context", "64")
                    self.assertIn("down_proj of 4 experts",
                                  [weights["name"] for weights in size["weights"]])
            self.assertEqual(joined, stacks)
            out = self.folder / "out.safetensors"
            for option, words, code in ((("--ep", "0/3"), "8 experts cannot be shared", 1),
                                        (("--ep", "2/2"), "RANK", 2),
                                        (("--ep", "0/2", "--tp", "1/2"), "rank 0 of 2 with", 2),
                                        (("--ep", "0/2", "--no-fuse"), "--no-fuse", 2)):
                told = self.heddle("repack", folder, *option, "-o", out, check=code)
                self.assertIn(words, told.err)
                self.assertFalse(out.exists())

    def test_the_example_engine_has_its_specs(self):
        """Those of the config alone are those of the weights."""
        if not DECODER.exists():
            self.skipTest("the examples were not built")
        for name in FORMATS:
            for kind in ("llama", "qwen3"):
                with self.subTest(format=name, type=kind):
                    folder, _ = self.sample("--format", name, "--type", kind, name=f"{name}-{kind}")
                    specs = [self.specs(place) for place in (folder, folder / "config.json")]
                    self.assertEqual(specs[0], specs[1])
                    (folder / "model.safetensors").unlink()
                    self.assertEqual(self.specs(folder), specs[0])
                    path = self.file("specs.json", json.dumps(specs[0]))
                    printed = self.heddle("build", path, "--print-specs", check=0).out
                    self.assertEqual(len(json.loads(printed)), len(specs[0]))

    def specs(self, place):
        done = subprocess.run([DECODER, place, "--specs", "--batch", "4"], capture_output=True,
                              text=True, env=self.environment, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_what_it_refuses(self):
        mine = self.file("mine", "something")
        for place in (self.folder, mine):
            self.assertIn("name a new one", self.problem("sample-model", place, code=2))
        self.assertEqual(mine.read_text(), "something")
        line = self.problem("sample-model", self.folder / "x", "--format", "gptqq", code=2)
        self.assertIn('did you mean "gptq"?', line)
        self.problem("sample-model", self.folder / "x", "--type", "gemma", code=2)
        self.problem("sample-model", self.folder / "x", "--layers", "0", code=2)
        self.assertFalse((self.folder / "x").exists())


if __name__ == "__main__":
    unittest.main()
