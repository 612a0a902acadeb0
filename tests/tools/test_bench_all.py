"""tools/bench-all: what is timed, and what counts as slower than before.

A stand-in for heddle gives the times, so no GPU is needed.
"""

import json
import pathlib
import sys
import tempfile
import unittest

from bench_script import ScriptTest
from command import ROOT

sys.path.insert(0, str(ROOT / "tools/lib"))

from bench import main_cells  # noqa: E402
from results import data  # noqa: E402


class AllTest(ScriptTest):

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.stored = pathlib.Path(folder.name) / "all-fake.json"

    def store(self, *arguments, **fake):
        self.script("bench-all", "--quick", "--save", self.stored, *arguments, **fake)

    def compare(self, *groups, **fake):
        """What the script prints that compares with what it stored with 1.25 times the floor."""
        chosen = ("--quick", "--groups", ",".join(groups))
        self.script("bench-all", *chosen, "--save", self.stored, times=1.25)
        return self.script("bench-all", *chosen, "--against", self.stored, **fake).stdout

    def test_every_cell_of_every_operation_is_stored(self):
        self.store(times=1.25)
        tables = data.load(self.stored).tables
        self.assertEqual(list(tables), list(main_cells.GROUPS))
        for group, cases in main_cells.GROUPS.items():
            wanted = sum(len(case.m) or len(case.loads) or {"kv_append": 2}.get(case.spec["op"], 1)
                         for case in cases(True))
            rows = tables[group].records()
            self.assertEqual(len(rows), wanted, group)
            for row in rows:
                self.assertAlmostEqual(row["times"], 1.25)

    def test_no_cell_is_told_by_what_tells_another(self):
        for quick in (True, False):
            cases = [(group, case.what, case.shape, json.dumps(case.spec), size)
                     for group, all_cases in main_cells.GROUPS.items()
                     for case in all_cases(quick) for size in (*case.m, *case.loads)]
            told = {}
            for _, what, shape, spec, size in cases:
                self.assertEqual(told.setdefault((what, shape, size), spec), spec)

    def test_as_fast_as_before_passes(self):
        out = self.compare("many_tokens", "attention", "append", "rows", "weights", times=1.30)
        cells = sum(len(table.rows) for table in data.load(self.stored).tables.values())
        self.assertIn(f"{cells} cells; 0 of {cells} that are stored are slower\n", out)
        self.assertNotIn("SLOWER", out)

    def test_slower_cells_are_named_and_fail(self):
        out = self.compare("few_tokens", "gated", check=1, times=1.25, spike={"4": 1.06})
        slower = [line for line in out.splitlines() if line.startswith("SLOWER: ")]
        self.assertIn("SLOWER: W4 FP16 10240 x 8192, M = 4: 1.32 times the floor, 1.25 before", slower)
        self.assertTrue(all(", M = 4: " in line for line in slower), slower)

    def test_results_of_other_scripts_can_be_compared_with(self):
        out = self.script("bench-all", "--quick", "--groups", "few_tokens", "--against",
                          ROOT / "results/all-h200.json", check=1, times=1.2).stdout
        self.assertIn("56 cells; ", out)
        self.assertIn(" of 56 that are stored are slower", out)
        self.assertIn("SLOWER: W4 FP16 28672 x 8192, M = 1: 1.20 times the floor, 1.03 before", out)

    def test_nothing_to_compare_with_is_no_success(self):
        out = self.script("bench-all", "--quick", "--groups", "weights", check=1, times=1).stdout
        self.assertIn("nothing was compared", out)
        out = self.script("bench-all", "--quick", "--groups", "weights", "--against",
                          ROOT / "results/prefill-h200.json", check=1, times=1).stdout
        self.assertIn("nothing was compared", out)
        weights = ("--quick", "--groups", "weights", "--against")
        done = self.script("bench-all", *weights, "no/such.json", check=2, times=1)
        self.assertEqual(done.stderr, "bench-all: there is no no/such.json\n")
        self.stored.write_text("{}")
        done = self.script("bench-all", *weights, self.stored, check=2, times=1)
        self.assertIn("expected the members", done.stderr)

    def test_heddles_failure_is_passed_on(self):
        done = self.script("bench-all", "--quick", "--groups", "rows", check=2, times=1, fail=2)
        self.assertEqual(done.stderr, "heddle: something is wrong\n")


if __name__ == "__main__":
    unittest.main()
