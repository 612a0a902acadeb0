"""Activations of 8 bits: build, repack and bundle decide alike, and --activations 16 undoes it."""

import copy
import json
import unittest

from checkpoint_cases import FP8, MLP, PLAIN, compressed, floats, model, named
from checkpoint_forms import Bytes
from command import CommandTest, ROOT
from safetensors_file import load, save

W8A8 = ROOT / "examples/models/llama-3-8b-w8a8/config.json"
FP8_MODEL = ROOT / "examples/models/llama-3-8b-fp8/config.json"
CONFIG = model(compressed("float-quantized", None, config_groups={"all": {
    "targets": ["Linear"], "weights": floats(),
    "input_activations": {"num_bits": 8, "type": "float", "strategy": "token",
                          "dynamic": True}}}))
SMALL = {**named(MLP, Bytes(96).tensors()), **PLAIN}
BLOCKS = model({**FP8, "weight_block_size": [128, 128], "scale_fmt": "ue8m0"})
RAGGED = {**named(MLP, Bytes(97, n=136, k=352, block=(128, 128), scale="BF16").tensors(
    scale_name=".weight_scale_inv")), **PLAIN}


class ActivationsTest(CommandTest):

    def folder_of(self, config, tensors=None):
        folder = self.folder / "model"
        folder.mkdir(exist_ok=True)
        save(folder / "model.safetensors", tensors or SMALL)
        (folder / "config.json").write_text(json.dumps(config))
        return folder

    def specs(self, *arguments):
        done = self.heddle("build", *arguments, "--print-specs", check=0)
        return json.loads(done.out), done.err

    def test_build_of_a_config(self):
        bytes_, notes = self.specs(W8A8, "--target", "h200")
        gemms = [spec for spec in bytes_ if spec["op"] == "gemm"]
        self.assertEqual({spec["activation"]["dtype"] for spec in gemms}, {"int8"})
        self.assertEqual([spec["name"] for spec in bytes_ if spec["op"] == "row_transform"],
                         ["norm", "add_norm", "add_norm", "activation", "quantize"])
        self.assertIn("activations have 8 bits (int8 per token)", notes)
        self.assertEqual(self.specs(W8A8)[0], bytes_)  # no GPU is named, and none is asked for
        sixteen, notes = self.specs(W8A8, "--target", "h200", "--activations", "16")
        self.assertEqual({spec["activation"]["dtype"] for spec in sixteen
                          if spec["op"] == "gemm"}, {"bf16"})
        self.assertIn("in 16 bits", notes)
        self.assertEqual(self.specs(W8A8, "--target", "a100")[0], bytes_)
        other, notes = self.specs(FP8_MODEL, "--target", "a100")
        self.assertEqual(other, self.specs(FP8_MODEL, "--activations", "16")[0])
        self.assertIn("sm_80 has no kernel that takes fp8_e4m3 per ", notes)

    def test_the_list_says_what_layers_take_and_rows_write(self):
        done = self.heddle("build", W8A8, "--list", "--target", "h200")
        lines = [" ".join(line.split()) for line in done.out.splitlines()]
        self.assertTrue(any("int8 token qkv_proj" in line for line in lines), done.out)
        self.assertIn("add_norm 4096 bf16, residual int8 token", lines)
        self.assertIn("add_norm 4096 bf16, residual bf16", lines)
        done = self.heddle("build", W8A8, "--list", "--target", "h200", "--activations", "16")
        self.assertNotIn("ROWS", done.out)
        self.assertRegex(done.out, r"bf16 +qkv_proj")

    def check_agreement(self, config, tensors, plain):
        """`plain` is the config without what it says of activations."""
        folder = self.folder_of(config, tensors)
        out = self.folder / "out.safetensors"
        files = {}
        for options, activations in (((), "8"), (("--target", "h200"), "8"),
                                     (("--target", "sm_80"), None), (("--activations", "16"), None)):
            self.heddle("repack", folder, *options, "-o", out, check=0)
            metadata, _ = load(out)
            self.assertEqual(metadata.get("heddle.activations"), activations)
            packed = json.loads(metadata[MLP + ".heddle"])
            gemm = self.specs(folder, *options)[0][0]
            self.assertEqual({key: value for key, value in gemm.items() if key != "name"}, packed)
            files[options] = out.read_bytes()
        self.assertEqual(len(set(files.values())), 2)
        self.heddle("repack", self.folder_of(plain, tensors), "-o", out, check=0)
        self.assertEqual(out.read_bytes(), files["--activations", "16"])

    def test_repack_agrees_with_build(self):
        plain = copy.deepcopy(CONFIG)
        del plain["quantization_config"]["config_groups"]["all"]["input_activations"]
        self.check_agreement(CONFIG, SMALL, plain)

    def test_repack_of_blocks_agrees_with_build(self):
        plain = copy.deepcopy(BLOCKS)
        del plain["quantization_config"]["activation_scheme"]
        self.check_agreement(BLOCKS, RAGGED, plain)
        gemm, *rows = self.specs(self.folder_of(BLOCKS, RAGGED))[0]
        self.assertEqual((gemm["weight"]["group_rows"], gemm["weight"]["scale_dtype"],
                          gemm["activation"]["granularity"], gemm["activation"]["scale_dtype"]),
                         (128, "fp32", "group", "e8m0"))
        self.assertIn({"dtype": "fp8_e4m3", "granularity": "group", "scale_dtype": "e8m0",
                       "scale_layout": "column_major"}, [row["output"] for row in rows])

    def test_words_that_cannot_be_meant(self):
        for command in (["build", W8A8, "--print-specs"],
                        ["repack", self.folder_of(CONFIG), "-o", self.folder / "no"]):
            for bits in ("8", "4", ""):
                self.heddle(*command, "--activations", bits, check=2)
        self.problem("build", ROOT / "examples/specs/llama-3-8b-down.json", "--activations", "16",
                     "--print-specs", code=2)
        self.heddle("repack", self.folder_of(CONFIG), "--target", "h2000", "-o", "no", check=2)

    def test_a_bundle_for_gpus_that_differ_reads_the_model_for_each(self):
        path = self.folder / "model.hdl"
        self.heddle("bundle", "create", "--specs", self.folder_of(CONFIG), "--targets",
                    "a100,rtx4090,h200", "-o", path, check=0)
        gemms = [entry for entry in self.heddle_json("bundle", "list", path)["entries"]
                 if "gemm" in entry["kernel"]]
        self.assertEqual({(entry["arch"], "fp8_e4m3_token" in entry["kernel"]) for entry in gemms},
                         {("sm_80", False), ("sm_89", True), ("sm_90a", True)})
        done = self.heddle("bundle", "create", "--specs", "-", "--targets", "h200,a100", "-o",
                           self.folder / "model.hdl", stdin=FP8_MODEL.read_bytes(), check=2)
        self.assertIn("--activations 16", done.err)


if __name__ == "__main__":
    unittest.main()
