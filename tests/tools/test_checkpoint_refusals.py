"""Checkpoints that heddle build, size and repack refuse: what is said of them, and what to do."""

import json
import unittest

from checkpoint_forms import tensor
from command import CommandTest, ROOT
from safetensors_file import load, save


class CheckpointRefusalTest(CommandTest):

    def test_of_many_layers_that_cannot_be_converted_the_number_and_the_way_out_are_told(self):
        folder = self.folder / "many"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({
            "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 60,
            "num_attention_heads": 2, "intermediate_size": 64, "vocab_size": 128,
            "torch_dtype": "float16", "quantization_config": {
                "quant_method": "gptq", "bits": 4, "group_size": 64, "sym": False}}))
        # Scales of groups of 32 columns.
        save(folder / "model.safetensors", {
            f"model.layers.{i}.mlp.down_proj.{name}": tensor(dtype, shape, code, [0] * count)
            for i in range(60) for name, dtype, shape, code, count in (
                ("qweight", "I32", [8, 32], "i", 256), ("qzeros", "I32", [2, 4], "i", 8),
                ("scales", "F16", [2, 32], "H", 64))})
        for command in (["build", folder, "--target", "h200"],
                        ["size", folder, "--target", "h200"],
                        ["repack", folder, "-o", self.folder / "packed.safetensors"]):
            lines = self.heddle(*command, check=1).err.splitlines()
            named = [line for line in lines if "layer \"model.layers." in line]
            self.assertIn(f"heddle: and {60 - len(named)} more that cannot be converted", lines)
            self.assertIn("--keep PATTERN", lines[-1])

    def test_tensors_without_a_config_are_told_what_they_lack(self):
        folder = self.folder / "alone"
        folder.mkdir()
        path = folder / "some.safetensors"
        save(path, {"weight": tensor("F16", [2], "H", [0, 0])})
        for command in (["build", path, "--target", "h200"], ["size", path, "--target", "h200"],
                        ["build", folder, "--target", "h200"],
                        ["repack", path, "-o", self.folder / "packed.safetensors"]):
            line = self.problem(*command, code=2)
            self.assertIn(str(command[1]), line)
            self.assertIn("heddle repack did not write", line)
            self.assertIn(f"no {folder / 'config.json'}", line)

    def test_a_packed_file_says_where_its_spec_is_wrong(self):
        packed = self.folder / "packed.safetensors"
        self.heddle("repack", ROOT / "tests/golden/gptq4_k128_n32_g32", "-o", packed, check=0)
        metadata, tensors = load(packed)
        [name] = [name for name, text in metadata.items() if '"op":"gemm"' in text]
        metadata[name] = metadata[name].replace('"bits":4', '"bits":44')
        save(packed, tensors, metadata)
        line = self.problem("build", packed, "--target", "h200", code=2)
        self.assertIn(f"{packed}: the spec of the layer \"model.proj\"", line)
        self.assertIn("/weight/bits: is out of range, got 44; allowed: ", line)


if __name__ == "__main__":
    unittest.main()
