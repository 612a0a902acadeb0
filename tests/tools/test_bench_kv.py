"""tools/bench-kv: bars, verdicts and tables.

A stand-in for heddle gives the times, so no GPU is needed.
"""

import sys
import unittest

from bench_script import ScriptTest
from command import ROOT

sys.path.insert(0, str(ROOT / "tools/lib"))

from bench import kv_bars  # noqa: E402


class KvTest(ScriptTest):

    def rows(self, group, *more, **fake):
        document = self.document("bench-kv", "--groups", group, *more, **fake)
        return {(row["what"], row["load"]): row for row in document["groups"][group]["rows"]}

    def test_main_table(self):
        rows = self.rows("main", "--quick", times=1.14)
        self.assertEqual(len(rows), 3 * len(kv_bars.LOADS))
        for (name, load), passed in {("INT8", "64x8192"): False, ("INT8", "256x1024"): True,
                                     ("E4M3", "64x8192"): False, ("INT4", "64x8192"): True,
                                     ("INT8", "1x8192"): True}.items():
            row = rows[f"{name} FP16 32 heads", load]
            self.assertEqual(row["passed"], passed, (name, load))
            self.assertAlmostEqual(row["times"], 1.14)
        row = rows["INT4 FP16 32 heads", "1x8192"]
        self.assertAlmostEqual(row["bar"] * row["against_us"], 8.0)
        self.assertEqual(len(self.rows("main", times=1)), 12 * len(kv_bars.LOADS))

    def test_variants_are_held_against_the_plain_kernel(self):
        rows = self.rows("variants", times=1.5)
        self.assertEqual({row["times"] for row in rows.values()}, {1.0})
        self.assertIsNone(rows["INT8, order nhd", "64x8192"]["passed"])
        self.assertTrue(rows["INT4, contiguous", "64x8192"]["passed"])

    def test_fewer_bits_are_never_slower(self):
        slow = self.rows("order", times=1, slow={"4x1024": 3.0})
        self.assertNotIn(False, {row["passed"] for row in slow.values()})
        self.assertEqual(len(slow), 2 * len(kv_bars.ORDER_LOADS))

    def test_other_groups(self):
        self.assertEqual({row["passed"] for row in self.rows("alone", times=1.13).values()},
                         {False, True})
        self.assertEqual({row["passed"] for row in self.rows("half", times=1.07).values()}, {False})
        self.assertEqual({row["passed"] for row in self.rows("ragged", times=1.1).values()}, {True})
        append = self.rows("append", times=1.3)
        self.assertFalse(append["INT8", "8192 tokens"]["passed"])
        self.assertTrue(append["INT8", "64x1"]["passed"])

    def test_tables_for_people(self):
        out = self.script("bench-kv", "--groups", "alone,half", times=1.3).stdout
        self.assertIn("## alone\nfake, streaming read 4.50 TB/s\n", out)
        self.assertIn("alone: 0 of 3 pass", out)
        self.assertRegex(out, r"\| FP16 cache +\| +64x8192 .* 1\.30 \| 1\.06 \|  MISSED \|")

    def test_heddles_failure_is_passed_on(self):
        self.assertEqual(self.script("bench-kv", "--groups", "half", check=2, fail=2).stdout, "")

    def test_clocks_and_rests(self):
        row = self.rows("half", times=1)["FP16 cache", "64x8192"]
        self.assertEqual(row["sm_mhz"], 1755.4)
        row = self.rows("half", "--rest", "3", times=1)["FP16 cache", "64x8192"]
        self.assertEqual(row["sm_mhz"], 1980)
        out = self.script("bench-kv", "--groups", "half", times=1).stdout
        self.assertRegex(out, r"verdict \| SM MHz \|")
        # For kv_append it is not known.
        self.assertNotIn("SM MHz", self.script("bench-kv", "--groups", "append", times=1).stdout)


if __name__ == "__main__":
    unittest.main()
