"""tools/bench-model: verdicts and the data file. Stand-ins give the times."""

import json
import pathlib
import subprocess
import tempfile
import unittest

from command import ROOT

STEP = {"device": "GPU", "steps": [{"batch": 1, "us": 2000.0}, {"batch": 8, "us": 2500.0}]}


def report(ms, between=0.05):
    rows = [{"batch": batch, "what": "Transformers, BF16, compiled", "ms": 8.0} for batch in (1, 8)]
    rows += [{"batch": batch, "what": "Heddle, in a graph", "ms": ms, "floor_ms": ms / 2,
              "times_the_floor": 2.0, "between_kernels": between} for batch in (1, 8)]
    return {"torch": "2.11", "context": 1024, "rows": rows}


class BenchModelTest(unittest.TestCase):

    def run_it(self, found, *more):
        with tempfile.TemporaryDirectory() as folder:
            programs = {}
            for name, document in (("heddle", STEP), ("python", found)):
                programs[name] = pathlib.Path(folder) / name
                programs[name].write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(document)}\nEND\n")
                programs[name].chmod(0o755)
            done = subprocess.run([ROOT / "tools/bench-model", "--heddle", programs["heddle"],
                                   "--python", programs["python"], *more],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

    def cells(self, found):
        document = json.loads(self.run_it(found, "--json"))
        return {cell["batch"]: cell for cell in document["groups"]["main"]["cells"]}

    def test_batch_1_is_held_against_the_step_and_compiled_bf16(self):
        for ms, between, passed in ((2.09, 0.05, True), (2.11, 0.05, False), (2.09, 0.11, False)):
            cells = self.cells(report(ms, between))
            self.assertEqual(cells[1]["passed"], passed, (ms, between))
            self.assertIsNone(cells[8]["passed"], "it has no bar")
        self.assertAlmostEqual(cells[1]["times_step"], 1.045)
        self.assertAlmostEqual(cells[1]["times_compiled"], 2.09 / 8)

    def test_slower_than_the_bar_of_compiled_bf16(self):
        found = report(2.09)
        found["rows"][0]["ms"] = 6.0
        self.assertFalse(self.cells(found)[1]["passed"])

    def test_table_and_data_file(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "found.json"
            out = self.run_it(report(2.09), "--save", file)
            saved = json.loads(file.read_text())
        self.assertRegex(out, r"\n +1 +2090 +1\.04 +0\.26 +5\.0% +2\.00 +ok\n")
        self.assertEqual(saved["card"], "GPU")
        self.assertEqual(saved["tables"]["main"]["columns"]["times_compiled"], "ratio")
        self.assertEqual(len(saved["tables"]["main"]["rows"]), 2)


if __name__ == "__main__":
    unittest.main()
