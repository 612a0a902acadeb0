"""--save of tools/bench-*: data files that tools/results can read, with what the tables say.

A stand-in for heddle gives the times, so no GPU is needed.
"""

import datetime
import json
import sys
import unittest

from bench_script import ScriptTest
from command import HEDDLE, ROOT

sys.path.insert(0, str(ROOT / "tools/lib"))

from bench import bars  # noqa: E402
from results import data  # noqa: E402


class SaveTest(ScriptTest):

    def saved(self, name, *arguments, **fake):
        path = self.folder / "saved.json"
        out = self.script(name, *arguments, "--save", path, **fake).stdout
        return data.load(path), out

    def test_decode(self):
        saved, out = self.saved("bench-decode", "--groups", "main,layer", times=1.22)
        self.assertIn("## main", out)
        self.assertEqual((saved.what, saved.card), ("GEMM at decode sizes", "fake"))
        self.assertEqual(saved.command, "tools/bench-decode --groups main,layer")
        self.assertEqual(saved.date, datetime.date.today().isoformat())
        self.assertEqual({name: saved.versions.get(name) for name in ("heddle", "nvrtc")},
                         {"heddle": "0.1.0", "nvrtc": "13.0"})
        self.assertEqual(list(saved.tables), ["main", "layer"])
        self.assertEqual(saved.tables["main"].conditions, {"read_tb_per_s": 4.5})
        cells = self.document("bench-decode", "--groups", "main", times=1.22)["groups"]["main"][
            "cells"]
        self.assertEqual([{name: record[name] for name in cell} for record, cell in
                          zip(saved.tables["main"].records(), cells, strict=True)], cells)
        self.assertEqual(saved.tables["main"].columns["us"], "us")
        self.assertEqual(saved.tables["main"].columns["passed"], "yes/no")

    def test_prefill(self):
        saved, _ = self.saved("bench-prefill", "--quick", times=1, spike={"129": 1.6})
        self.assertEqual(list(saved.tables), ["main", "main steps"])
        self.assertEqual(len(saved.tables["main steps"].rows), len(bars.PREFILL))

    def test_kv(self):
        saved, _ = self.saved("bench-kv", "--groups", "half,append", times=1)
        self.assertEqual(list(saved.tables), ["half", "append"])
        self.assertEqual([record["what"] for record in saved.tables["half"].records()],
                         ["FP16 cache", "BF16 cache"])

    def test_plans(self):
        saved, _ = self.saved("bench-plans", "--cells", 3, times=1.1)
        cells = saved.tables["cells"]
        self.assertEqual(cells.conditions, {"cells_drawn": 3})
        self.assertEqual([record["times_best"] for record in cells.records()], [1.1] * 3)
        self.assertEqual({record["best_family"] for record in cells.records()}, {"tiles"})

    def test_any_bench(self):
        step = {"device": "fake", "read_tb_per_s": 3.0, "steps": [
            {"batch": 1, "us": 9.5, "kernels": [{"name": "o_proj", "in_step_us": 2.5}]}]}
        saved, out = self.saved("bench-command", "config.json", "--step", "--batch", "1",
                                document=step)
        self.assertEqual(out, "")
        self.assertEqual(saved.command, "heddle bench config.json --step --batch 1")
        self.assertEqual(saved.tables["steps"].rows, [[1, 9.5]])
        self.assertEqual(saved.tables["steps kernels"].rows, [[1, "o_proj", 2.5]])
        self.assertEqual(saved.tables["steps"].conditions, {"read_tb_per_s": 3.0})

    def test_any_bench_that_fails_saves_nothing(self):
        path = self.folder / "saved.json"
        self.script("bench-command", "config.json", "--save", path, check=2, document={}, fail=2)
        self.assertFalse(path.exists())

    def test_compile(self):
        program = self.folder / "program"
        report = {"target": "h200",
                  "models": [{"config": "c.json", "kernels": 28, "cold_ms": 2240.0,
                              "cached_ms": 3.5}]}
        program.write_text(f"#!/bin/sh\necho '{json.dumps(report)}'\n")
        program.chmod(0o755)
        specs = self.folder / "specs.json"
        spec = json.loads((ROOT / "examples/specs/symmetric-g128.json").read_text())
        spec["shape"]["m"] = [1, 8]
        specs.write_text(json.dumps([spec]))
        saved, out = self.saved("bench-compile", specs, "a100", "--program", program, "--heddle",
                                HEDDLE, "--against", HEDDLE, "--repeats", "1")
        self.assertRegex(out, r"\| the largest GEMM +\| +1 \|")
        self.assertRegex(out, r"\| c\.json +\| +28 \| +2\.24 \| +3\.5 \| +0\.12 \|")
        self.assertRegex(saved.card, r"\d+ cores$")
        self.assertEqual(saved.tables["models"].rows, [["c.json", 28, 2240.0, 3.5]])
        for row in saved.tables["cold"].records():
            self.assertLess(row["to_ptx_ms"], row["ms"])
            self.assertEqual(row["kernels"], row["against_kernels"])
            self.assertGreater(row["times"], 0)


if __name__ == "__main__":
    unittest.main()
