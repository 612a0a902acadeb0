"""heddle repack and dequantize: known checkpoints of one layer, bad files, options."""

import json
import shutil
import struct
import subprocess
import unittest

from command import CommandTest, HEDDLE, ROOT
from safetensors_file import load, save

GOLDEN = sorted((ROOT / "tests/golden").iterdir())


class CheckpointTest(CommandTest):

    def setUp(self):
        super().setUp()
        self.out = self.folder / "out.safetensors"

    def test_dequantize_gives_the_expected_bits(self):
        self.assertEqual(len(GOLDEN), 9)
        for folder in GOLDEN:
            with self.subTest(folder.name):
                report = self.heddle_json("dequantize", folder / "model.safetensors", "--config",
                                          folder / "config.json", "-o", self.out)
                self.assertEqual(report["layers"], 1)
                self.assertEqual(load(self.out)[1], load(folder / "expected.safetensors")[1])

    def test_dequantize_one_layer(self):
        folder = GOLDEN[0]
        self.heddle("dequantize", folder, "--layer", "model.proj", "-o", self.out, check=0)
        self.assertEqual(list(load(self.out)[1]), ["model.proj.weight"])
        line = self.problem("dequantize", folder, "--layer", "model.wibble", "-o", self.out, code=2)
        self.assertIn("model.wibble", line)
        self.assertIn("model.proj", line)

    def test_a_name_cannot_disturb_the_terminal(self):
        folder = ROOT / "tests/golden/gptq4_k128_n32_g32"
        content = (folder / "model.safetensors").read_bytes()
        length, = struct.unpack("<Q", content[:8])
        header = json.loads(content[8:8 + length])
        name = "model.\x1b[31m\n\u009b2J\u202eproj"
        renamed = {key.replace("model.proj", name): value for key, value in header.items()}
        text = json.dumps(renamed).encode()
        path = self.file("model.safetensors", struct.pack("<Q", len(text)) + text +
                         content[8 + length:])
        done = self.heddle("repack", path, "--config", folder / "config.json", "-o", self.out,
                           check=0)
        self.assertIn("model.\\x1b[31m\\x0a\\xc2\\x9b2J\\xe2\\x80\\xaeproj", done.err)
        self.assertEqual(len(done.err.splitlines()), 1)
        self.assertTrue(done.err.rstrip("\n").isprintable(), done.err)
        report = self.heddle("repack", path, "--config", folder / "config.json", "-o",
                             self.folder / "\x1b[2J.safetensors", "--json", check=0).out
        self.assertTrue(report.isascii())
        self.assertNotIn("\x1b", report)

    def test_a_file_that_may_not_become_so_large(self):
        """The work has failed, and nothing is left of it."""
        folder = self.folder / "outputs"
        folder.mkdir()
        bundle = ROOT / "tests/fuzz/corpus/bundle/three"
        first = self.file("first.hdl", bundle.read_bytes())
        for command in (("repack", GOLDEN[0], "-o", folder / "x.safetensors"),
                        ("dequantize", GOLDEN[0], "-o", folder / "x.safetensors"),
                        ("bundle", "merge", first, "-o", folder / "x.hdl")):
            with self.subTest(command[0]):
                limited = ["bash", "-c", 'ulimit -f 1 && exec "$@"', "-", HEDDLE]
                done = subprocess.run([*limited, *map(str, command)], capture_output=True,
                                      cwd=ROOT, env=self.environment, timeout=300)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(b"File too large", done.stderr)
                self.assertEqual(list(folder.iterdir()), [])

    def test_repack(self):
        for folder in GOLDEN:
            with self.subTest(folder.name):
                done = self.heddle("repack", folder, "-o", self.out, check=0)
                self.assertIn("1 layers packed", done.out)
                self.assertIn("model.proj", done.err)
                metadata, tensors = load(self.out)
                spec = json.loads(metadata["model.proj.heddle"])
                self.assertEqual(tensors["model.proj.heddle"][0], "U8")
                self.assertEqual(metadata["heddle.layout"], "6")
                self.assertEqual("model.proj.heddle_perm" in tensors, "actorder" in folder.name)
                self.assertEqual(spec["activation"]["act_order"], "actorder" in folder.name)
                self.assertEqual(
                    f"k{spec['shape']['k']}_n{spec['shape']['n']}" in folder.name, True)
                # The spec is one that the other commands take.
                self.heddle("plan", metadata["model.proj.heddle"], "--target", "h200", check=0)

    def test_what_is_packed_is_built_but_not_packed_again(self):
        for folder in GOLDEN:
            with self.subTest(folder.name):
                self.heddle("repack", folder, "-o", self.out, check=0)
                specs = [self.heddle("build", place, "--print-specs", "--target", "h200",
                                     check=0).out for place in (folder, self.out)]
                self.assertEqual(*specs)
        report = self.heddle_json("build", self.out, "--list", "--target", "h200")
        self.assertEqual((report["served"], report["total"]), (1, 1))
        again = self.folder / "again.safetensors"
        for command in ("repack", "dequantize"):
            line = self.problem(command, self.out, "-o", again, code=1)
            self.assertIn("packed already", line)
            self.assertFalse(again.exists())
        line = self.problem("build", self.out, "--gated", "--list", "--target", "h200", code=2)
        self.assertIn("packed without --gated", line)
        line = self.problem("build", self.out, "--kv", "int8:head", "--target", "h200", code=2)
        self.assertIn("config.json", line)
        # Without its metadata nothing says what the bytes are.
        _, tensors = load(self.out)
        bare = self.folder / "bare"
        bare.mkdir()
        shutil.copy(GOLDEN[0] / "config.json", bare)
        save(bare / "model.safetensors", tensors)
        line = self.heddle("build", bare, "--list", "--target", "h200", check=1).err
        self.assertIn("heddle repack has written", line)

    def test_never_replaces_what_it_reads(self):
        for command in ("repack", "dequantize"):
            with self.subTest(command):
                shutil.copytree(GOLDEN[0], self.folder / command)
                weights = self.folder / command / "model.safetensors"
                link = self.folder / f"{command}.safetensors"
                link.symlink_to(weights)
                before = weights.read_bytes()
                for source in (weights, weights.parent):
                    for output in (weights, link):
                        line = self.problem(command, source, "-o", output, code=2)
                        self.assertIn("is a file of the checkpoint", line)
                self.assertEqual(weights.read_bytes(), before)
                config = weights.parent / "config.json"
                quantisation = json.loads(config.read_text())["quantization_config"]
                for name in (config.name, "quantize_config.json", "quant_config.json"):
                    place = config.with_name(name)
                    if place != config:
                        place.write_text(json.dumps(quantisation))
                    before = place.read_bytes()
                    line = self.problem(command, weights.parent, "-o", place, code=2)
                    self.assertIn("is the model's config", line)
                    self.assertEqual(place.read_bytes(), before)
                    if place != config:
                        place.unlink()

    def test_tensors_in_a_file_of_any_name(self):
        for name in ("p.st", "tensors", "tensors.json"):
            folder = self.folder / name
            folder.mkdir()
            shutil.copy(GOLDEN[0] / "config.json", folder)
            shutil.copy(GOLDEN[0] / "model.safetensors", folder / name)
            usual = folder / "usual.safetensors"
            shutil.copy(GOLDEN[0] / "model.safetensors", usual)
            for command in (("build", "--print-specs"), ("size",)):
                want = self.heddle(command[0], usual, *command[1:])
                got = self.heddle(command[0], folder / name, *command[1:])
                self.assertEqual((got.returncode, got.out), (want.returncode, want.out), got.err)

    def test_a_checkpoint_without_quantised_layers(self):
        self.heddle("dequantize", GOLDEN[0], "-o", self.out, check=0)
        config = GOLDEN[0] / "config.json"
        again = self.folder / "again.safetensors"
        for command in ("repack", "dequantize"):
            with self.subTest(command):
                line = self.problem(command, self.out, "--config", config, "-o", again, code=1)
                self.assertIn("no layer with quantised weights", line)
                self.assertFalse(again.exists())

    def test_patterns_may_be_sets_and_several(self):
        line = self.problem("repack", GOLDEN[0], "-o", self.out, "--keep", "[a-z]odel.pro[a-z]",
                            "--skip", "[x]", code=2)
        self.assertIn('--skip "[x]" names no tensor', line)
        done = self.heddle("repack", GOLDEN[0], "-o", self.out, "--keep", "[a-z]odel.pro[a-z]",
                           "--keep", "model.*", check=0)
        self.assertIn("0 layers packed", done.out)

    def test_a_missing_checkpoint_is_named(self):
        missing = self.folder / "no-such.safetensors"
        for command in ("repack", "dequantize"):
            with self.subTest(command):
                line = self.problem(command, missing, "-o", self.out, code=2)
                self.assertIn("no-such.safetensors", line)

    def test_bad_files(self):
        config = GOLDEN[0] / "config.json"
        whole = (GOLDEN[0] / "model.safetensors").read_bytes()
        for command in ("repack", "dequantize"):
            with self.subTest(command):
                cut = self.file("cut.safetensors", whole[:-1])
                line = self.problem(command, cut, "--config", config, "-o", self.out, code=2)
                self.assertIn("cut.safetensors", line)
                self.assertIn("model.proj.", line)
                self.problem(command, "no/such.safetensors", "--config", config, "-o", self.out,
                             code=2)
                self.problem(command, GOLDEN[0], "--config", "no/such.json", "-o", self.out, code=2)
                self.problem(command, GOLDEN[0], "--config", self.file("c.json", "{"), "-o",
                             self.out, code=2)
                self.problem(command, GOLDEN[0], "-o", self.folder / "no/such/folder", code=2)
                self.problem(command, GOLDEN[0], code=2)
                self.assertFalse(self.out.exists())

    def test_nothing_is_left_of_a_failure(self):
        self.heddle("dequantize", GOLDEN[0], "--layer", "x", "-o", self.out, check=2)
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
