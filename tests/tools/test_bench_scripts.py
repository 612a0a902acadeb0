"""tools/bench-decode, -prefill and -plans: bars, verdicts, tables, JSON, the plot; all scripts' specs.

A stand-in for heddle gives the times, so no GPU is needed.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

from bench_script import ScriptTest
from command import CommandTest, ROOT

sys.path.insert(0, str(ROOT / "tools/lib"))

from bench import bars  # noqa: E402


class DecodeTest(ScriptTest):

    def test_main_table(self):
        done = self.document("bench-decode", "--quick", times=1.22)
        self.assertEqual(list(done["groups"]), ["main"])
        main = done["groups"]["main"]
        self.assertEqual(main["read_tb_per_s"], 4.5)
        self.assertEqual(len(main["cells"]), len(bars.DECODE) * len(bars.DECODE_M))
        cells = {(cell["n"], cell["k"], cell["m"]): cell for cell in main["cells"]}
        for (n, k, m), passed in {(28672, 8192, 1): False, (8192, 8192, 8): False,
                                  (8192, 8192, 16): True, (14336, 4096, 4): True,
                                  (28672, 8192, 32): False, (6144, 4096, 32): True,
                                  (10240, 8192, 64): None}.items():
            self.assertEqual(cells[n, k, m]["passed"], passed, (n, k, m))
            self.assertAlmostEqual(cells[n, k, m]["times"], 1.22)
        self.assertAlmostEqual(cells[8192, 8192, 64]["bar"] * cells[8192, 8192, 64]["against_us"],
                               15.5)
        self.assertIn("cublas_us", cells[8192, 8192, 64])

    def test_a_rested_gpu_keeps_its_clock(self):
        for rest, mhz in ("0", 1755.4), ("3", 1980):
            done = self.document("bench-decode", "--quick", "--rest", rest, times=1)
            self.assertEqual({cell["sm_mhz"] for cell in done["groups"]["main"]["cells"]}, {mhz})

    def test_every_kind_is_in_the_main_table(self):
        cells = self.document("bench-decode", "--groups", "main", times=1)["groups"]["main"]["cells"]
        self.assertEqual({cell["what"] for cell in cells},
                         {"W4 FP16", "W4 zero points FP16", "W4 BF16", "W4 zero points BF16"})
        self.assertNotIn(False, {cell["passed"] for cell in cells})

    def test_tables_for_people(self):
        out = self.script("bench-decode", "--groups", "main,older", times=1.3).stdout
        self.assertIn("## main: W4 zero points BF16\n", out)
        self.assertRegex(out, r"\| 8192 x 8192 +\| +1 \| warpgroup \| +\d+\.\d \| +\d+\.\d \| +1\.30 "
                              r"\| 1\.20 \|  MISSED \|")
        self.assertRegex(out, r"main: \d+ of 216 pass; furthest from its bar: W4 ")
        self.assertRegex(out, r"\| 4096 x 4096 +\| +16 \| warpgroup .* 1\.30 \| 1\.25 \|  MISSED \|")
        self.assertIn("older: 0 of 40 pass", out)

    def test_other_weights_have_the_bars_of_theirs(self):
        for group, slack in (("w8", 1.0), ("narrow", 1.1), ("floats", 1.1)):
            cells = self.document("bench-decode", "--groups", group, times=1)["groups"][group][
                "cells"]
            few = {cell["bar"] for cell in cells if cell["n"] == 8192 and cell["m"] == 8}
            self.assertEqual(len(few), 1, group)
            self.assertAlmostEqual(few.pop(), 1.20 * slack)

    def test_odd_shapes(self):
        cells = self.document("bench-decode", "--groups", "odd", times=1.5)["groups"]["odd"]["cells"]
        by_shape = {(cell["n"], cell["k"], cell["m"]): cell for cell in cells}
        self.assertTrue(by_shape[4864, 896, 64]["passed"])
        self.assertEqual(by_shape[8192, 29568, 16]["bar"], 1.12)
        self.assertFalse(by_shape[8192, 29568, 16]["passed"])

    def test_layer(self):
        for times, passed in ((1.1, True), (1.5, False)):
            layers = self.document("bench-decode", "--groups", "layer", times=times)["groups"][
                "layer"]["layers"]
            self.assertEqual([(layer["layer"], layer["m"]) for layer in layers],
                             [(name, m) for name in bars.LAYERS for m in bars.LAYER_M])
            barred, *others = layers
            self.assertAlmostEqual(barred["bar_us"], 1.15 * barred["stream_us"] + 3)
            self.assertEqual(barred["passed"], passed)
            self.assertEqual({layer["passed"] for layer in others}, {None})
        text = self.script("bench-decode", "--groups", "layer", times=1.1).stdout
        self.assertIn("back to back in one graph", text)
        self.assertRegex(text, r"\| Llama-3-8B +\| +1 \|.* ok \|")

    def test_heddles_failure_is_passed_on(self):
        done = self.script("bench-decode", "--quick", check=2, fail=2)
        self.assertEqual(done.stderr, "heddle: something is wrong\n")
        self.assertEqual(done.stdout, "")

    def test_bad_options(self):
        self.assertIn("wibble", self.script("bench-decode", "--groups", "wibble", check=2).stderr)
        self.assertIn("no/such", self.script("bench-decode", "--heddle", "no/such",
                                             check=2).stderr)


class PrefillTest(ScriptTest):

    def test_ratio_to_cublas(self):
        document = self.document("bench-prefill", "--quick", times=1.98)
        cells = {(cell["n"], cell["k"], cell["m"]): cell
                 for cell in document["groups"]["main"]["cells"]}
        for (n, k, m), passed in {(8192, 8192, 128): False, (8192, 8192, 256): False,
                                  (8192, 8192, 512): True, (4096, 4096, 128): True,
                                  (28672, 8192, 65): None, (28672, 8192, 1025): None}.items():
            self.assertEqual(cells[n, k, m]["passed"], passed, (n, k, m))
            self.assertAlmostEqual(cells[n, k, m]["times"], 0.99)
        self.assertEqual(document["groups"]["main"]["steps"], [])

    def test_a_step_at_a_border_is_found(self):
        done = self.document("bench-prefill", "--quick", times=1, spike={"129": 1.6})
        steps = done["groups"]["main"]["steps"]
        self.assertEqual({(step["m"], step["n"]) for step in steps},
                         {(129, n) for n, _ in bars.PREFILL})
        for step in steps:
            self.assertGreater(step["times"], 1.05)
            self.assertGreater(step["larger_m"], 129)
        text = self.script("bench-prefill", "--quick", times=1, spike={"129": 1.6}).stdout
        self.assertIn("steps: 4 M takes more", text)
        self.assertIn("MISSED: W4 FP16 4096 x 4096, M = 129 takes", text)

    def test_formats_are_held_against_4_bits(self):
        cells = self.document("bench-prefill", "--groups", "formats", times=1)["groups"]["formats"][
            "cells"]
        self.assertEqual(len({cell["what"] for cell in cells}), len(bars.PREFILL_FORMATS))
        for cell in cells:
            self.assertGreaterEqual(cell["times"], 1)
            self.assertEqual(cell["bar"], 1.05 if "group" in cell["what"] else 1.03)

    def test_older_path(self):
        cells = self.document("bench-prefill", "--groups", "older", times=1)["groups"]["older"][
            "cells"]
        self.assertEqual({cell["family"] for cell in cells}, {"tiles"})
        self.assertEqual({cell["against_us"] for cell in cells if cell["n"] == 8192},
                         set(bars.OLDER_PREFILL[8192, 8192].values()))

    def test_without_cublas(self):
        done = self.script("bench-prefill", "--quick", check=1, times=1, cublas=False)
        self.assertIn("without cuBLAS", done.stderr)

    def test_plot(self):
        path = self.folder / "plot.svg"
        self.script("bench-prefill", "--quick", "--plot", path, times=1)
        root = xml.etree.ElementTree.parse(path).getroot()
        space = "{http://www.w3.org/2000/svg}"
        self.assertEqual(len(root.findall(f".//{space}polyline")), 3 * len(bars.PREFILL))
        self.assertIn("28672 x 8192, W4 FP16", {text.text for text in root.iter(f"{space}text")})


class PlansTest(ScriptTest):

    def test_counts_the_cells_within_each_bar(self):
        for times, within in ((1.04, "3 within 5 % of the fastest, 3 within 15 %"),
                              (1.1, "0 within 5 % of the fastest, 3 within 15 %"),
                              (1.2, "0 within 5 % of the fastest, 0 within 15 %")):
            lines = self.script("bench-plans", "--cells", 3, times=times).stdout.splitlines()
            self.assertEqual(len(lines), 6)
            self.assertIn("3 cells: " + within, lines[-2])

    def test_counts_the_predicted_fastest_apart_from_the_choice(self):
        for wrong, within in ((False, "3 within 5 %"), (True, "0 within 5 %")):
            lines = self.script("bench-plans", "--cells", 3, times=1.1, wrong=wrong).stdout
            self.assertIn("without a limit on a plan's kernels: " + within, lines.splitlines()[-1])

    def test_says_what_the_budget_has_left_out(self):
        out = self.script("bench-plans", "--cells", 3, "--budget", 1e-9, times=1).stdout
        self.assertIn("none of 3 cells measured", out)

    def test_the_same_seed_draws_the_same_cells(self):
        def drawn(*arguments):
            cells = self.document("bench-plans", *arguments, times=1)["cells"]
            return [(cell["spec"], cell["sweep"]["m"]) for cell in cells]
        self.assertEqual(drawn("--cells", 4), drawn("--cells", 4))
        self.assertEqual(drawn("--cells", 2, "--skip", 2), drawn("--cells", 4)[2:])
        self.assertNotEqual(drawn("--cells", 4), drawn("--cells", 4, "--seed", 2))

    def test_a_cell_that_fails_is_named_and_the_others_measured(self):
        first = self.document("bench-plans", "--cells", 3, times=1)["cells"][0]
        failing = {"times": 1, "fail": 1, "fail_n": first["spec"]["shape"]["n"]}
        lines = self.script("bench-plans", "--cells", 3, check=1, **failing).stdout.splitlines()
        self.assertRegex(lines[1], rf"{failing['fail_n']} .* failed$")
        self.assertIn("2 of 3 cells: 2 within 5 %", lines[-2])

    def test_stops_where_there_is_no_gpu(self):
        done = self.script("bench-plans", "--cells", 3, check=1, times=1, fail=1, no_gpu=True)
        self.assertEqual(done.stderr.count("something is wrong"), 1)
        self.assertNotIn("failed", done.stdout)

    def test_has_no_groups(self):
        self.assertIn("--groups", self.script("bench-plans", "--groups", "main", check=2).stderr)


class W8a8Test(ScriptTest):

    def cells(self, times, *more):
        done = self.document("bench-w8a8", "--shapes", "8192x8192", "--rounds", "2", *more,
                             times=times)
        return {(cell["what"], cell["m"]): cell for cell in done["groups"]["main"]["cells"]}

    def test_few_tokens_are_held_against_the_floor(self):
        for times, passed in ((1.0, True), (1.2, False)):
            cells = self.cells(times, "--python", "false")
            for what in ("FP8 fast", "FP8", "INT8", "FP8 blocks"):
                self.assertEqual(cells[what, 16]["passed"], passed, what)
                self.assertAlmostEqual(cells[what, 16]["times"], times)

    def test_without_pytorch_there_is_no_verdict_on_many(self):
        cells = self.cells(1, "--python", "false")
        self.assertIsNone(cells["FP8", 1024]["passed"])
        self.assertNotIn("cublas_us", cells["FP8", 1024])
        self.assertTrue(cells["INT8", 1024]["passed"], "as fast as FP8")
        self.assertTrue(cells["FP8 blocks", 1024]["passed"], "the same")

    def test_four_bits_are_held_against_16_bit_activations(self):
        cells = self.cells(1, "--python", "false")
        self.assertTrue(cells["W4A8 INT8", 16]["passed"])
        self.assertFalse(cells["W4A8 FP8", 1024]["passed"])
        self.assertAlmostEqual(cells["W4A8 FP8", 1024]["times"], 1)
        self.assertIsNone(cells["W4A8 INT8 g32", 64]["passed"])
        self.assertFalse(cells["W4A8 INT8 g32", 1024]["passed"])
        self.assertNotIn(("W4A16", 1024), cells)
        self.assertTrue(cells["W4A8 two levels", 16]["passed"])
        self.assertFalse(cells["W4A8 two levels", 1024]["passed"])
        self.assertIsNone(cells["W4A8 two levels g32", 64]["passed"])
        self.assertFalse(cells["W4A8 two levels g32", 1024]["passed"])

    def test_many_are_held_against_the_peer(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        peer = pathlib.Path(folder.name) / "peer"
        peer.write_text("#!/bin/sh\necho '{\"tensor fast\": {\"1024\": 1.0}, "
                        "\"tensor\": {\"1024\": 1e9}}'\n")
        peer.chmod(0o755)
        cells = self.cells(1, "--python", peer)
        self.assertFalse(cells["FP8 fast", 1024]["passed"])
        self.assertTrue(cells["FP8", 1024]["passed"])
        self.assertEqual(cells["FP8", 1024]["cublas_us"], 1e9)


class SpecsTest(CommandTest):

    def specs(self, name):
        done = subprocess.run([ROOT / "tools" / name, "--specs"], capture_output=True, check=True)
        return json.loads(done.stdout), done.stdout

    def test_heddle_takes_them(self):
        for name in ("bench-all", "bench-decode", "bench-prefill", "bench-kv", "bench-plans",
                     "bench-w8a8"):
            specs, text = self.specs(name)
            self.assertEqual(len({json.dumps(spec) for spec in specs}), len(specs))
            done = self.heddle("build", "-", "--print-specs", stdin=text, check=0)
            self.assertEqual(len(json.loads(done.out)), len(specs))

    def test_the_planner_serves_every_kind(self):
        kinds = {}
        for name in ("bench-decode", "bench-prefill", "bench-plans", "bench-w8a8"):
            for spec in self.specs(name)[0]:
                kinds[json.dumps([spec["weight"], spec["activation"], spec.get("path")])] = spec
        self.assertGreater(len(kinds), 12)
        for spec in kinds.values():
            self.heddle("plan", json.dumps(spec), "--target", "h200", check=0)
        for spec in self.specs("bench-kv")[0]:
            self.heddle("plan", json.dumps(spec), "--target", "h200", check=0)


if __name__ == "__main__":
    unittest.main()
