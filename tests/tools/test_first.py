"""heddle build --first: the kernels that decoding needs before all others."""

import json
import unittest

from command import CommandTest, SPEC, inline

H100 = ("--target", "h100", "--jobs", 1)
WIDE = inline(shape={"n": 256, "k": 512, "m": [1, 100]})
MANY_ROWS = json.dumps([{"heddle": 1, "op": "row_transform", "shape": {"columns": 512},
                         "input": {"dtype": "fp16"}, "norm": {"type": "rms", "epsilon": 1e-5}},
                        {**SPEC, "shape": {"n": 256, "k": 512, "m": [1, 100]}}])


class FirstTest(CommandTest):

    def test_urgent_and_general_kernels_are_made_first(self):
        report = self.heddle_json("build", WIDE, *H100, "--first", "1-16")
        first, kernels = report["first"], report["kernels"]
        urgent = [kernel for kernel in kernels if kernel["m"][0] <= 16]
        self.assertLess(len(urgent), len(kernels))
        self.assertEqual(first["m"], [1, 16])
        self.assertEqual(first["general"], 1)
        self.assertEqual(first["kernels"], len(urgent) + 1)
        self.assertEqual(first["compiled"], first["kernels"])
        self.assertTrue(0 < first["ms"] < report["total_ms"])
        self.assertTrue(0 < first["processor_ms"] < report["processor_ms"])
        self.assertEqual({kernel["cache"] for kernel in kernels}, {"miss"})
        entries = self.heddle_json("cache", "list")["entries"]
        self.assertEqual(len(entries), len(kernels) + 1)

    def test_makes_what_a_build_without_it_makes(self):
        self.heddle_json("build", WIDE, *H100, "--first", "1-16")
        again = self.heddle_json("build", WIDE, *H100)
        self.assertNotIn("first", again)
        self.assertEqual({kernel["cache"] for kernel in again["kernels"]}, {"hit"})

    def test_nothing_stands_in_for_what_is_in_the_cache(self):
        kernels = self.heddle_json("build", WIDE, *H100)["kernels"]
        report = self.heddle_json("build", WIDE, *H100, "--first", "1-16")
        self.assertEqual(report["first"]["general"], 0)
        self.assertEqual(report["first"]["compiled"], 0)
        self.assertEqual(report["first"]["kernels"], len(kernels))
        self.heddle("build", WIDE, *H100, "--first", "1-16", "--strict", check=0)

    def test_says_when_they_are_there(self):
        done = self.heddle("build", MANY_ROWS, *H100, "--first", "8", check=0)
        lines = done.err.splitlines()
        said = [i for i, line in enumerate(lines) if line.startswith("M 8 first: ")]
        self.assertEqual(len(said), 1, done.err)
        self.assertTrue(any("compiled in" in line for line in lines[:said[0]]))
        self.assertTrue(any("compiled in" in line for line in lines[said[0] + 1:]))
        self.assertIn("1 of them general", lines[said[0]])
        self.assertNotIn("first: ", done.out)

    def test_one_kernel(self):
        dequantize = {"heddle": 1, "op": "dequantize", "shape": {"n": 64, "k": 128},
                      "weight": {"bits": 4, "group_size": 64}, "output": {"dtype": "fp16"}}
        done = self.heddle("build", json.dumps(dequantize), *H100, "--first", "1-16", check=0)
        self.assertIn("M 1 to 16 first: 1 kernel, 0 of them general, 1 compiled", done.err)
        self.assertRegex(done.out, r"(?m)^1 kernel for h100 ")

    def test_ranges_that_no_spec_has(self):
        for more in ((), ("--strict",)):
            line = self.problem("build", WIDE, *H100, "--first", "101-200", *more, code=2)
            self.assertRegex(line, r"/shape/m: .*101 to 200.*1 to 100")
        self.assertFalse((self.folder / "cache").exists())
        layer = json.dumps({
            "heddle": 1, "op": "moe", "shape": {"hidden": 256, "intermediate": 128, "experts": 8,
                                                "top_k": 2, "tokens": [1, 50]},
            "weight": {"gate_up": {"bits": 4}, "down": {"bits": 4}},
            "activation": {"dtype": "fp16"}})
        line = self.problem("build", layer, *H100, "--first", "101-200", code=2)
        self.assertRegex(line, r"/shape/tokens: .*101 to 200.*1 to 50")
        both = json.dumps([json.loads(WIDE), {**SPEC, "shape": {"n": 256, "k": 512, "m": [1, 8]}}])
        self.heddle("build", both, *H100, "--first", "100", check=0)

    def test_ranges_that_are_none(self):
        for text in ("0-16", "16-1", "-4", "1-", "x", "1-16-32", "1,16", "1 - 16",
                     "99999999999999999999"):
            line = self.problem("build", WIDE, *H100, f"--first={text}", code=2)
            self.assertIn("1-16", line)
            self.assertFalse((self.folder / "cache").exists())
        self.assertIn("--first", self.problem("build", WIDE, *H100, "--first=", code=2))


if __name__ == "__main__":
    unittest.main()
