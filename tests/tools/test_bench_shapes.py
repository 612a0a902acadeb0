"""tools/bench-shapes: the draw, means and worst shapes, bars. A stand-in for heddle gives the times."""

import sys
import unittest

from bench_script import ScriptTest
from command import ROOT

sys.path.insert(0, str(ROOT / "tools/lib"))

from bench import bars  # noqa: E402


class ShapesTest(ScriptTest):

    def means(self, group, *arguments, **fake):
        document = self.document("bench-shapes", "--shapes", 6, *arguments, **fake)
        rows = document["groups"][group]["means"]
        return document["groups"][group]["cells"], {row["m"]: row for row in rows}

    def test_few_tokens_are_held_against_the_floor(self):
        cells, means = self.means("few", "--quick", times=1.22)
        self.assertEqual(sorted(means), list(bars.RANDOM_FEW_M))
        self.assertEqual(len(cells), 6 * len(means))
        for row in means.values():
            self.assertAlmostEqual(row["times_mean"], 1.22)
            self.assertIsNone(row["passed"])  # the stand-in is no card with bars

    def test_a_card_with_bars_has_a_verdict(self):
        for times, passed in ((1.0, True), (1.3, False)):
            _, means = self.means("few", "--quick", times=times, device="NVIDIA H200")
            self.assertIs(means[1]["passed"], passed)

    def test_the_worst_shape_is_named_and_small_ones_are_not_judged(self):
        cells, means = self.means("few", "--quick", times=1.2, spike={"8": 1.5})
        self.assertAlmostEqual(means[8]["times_worst"], 1.8)
        large = {f"{cell['n']} x {cell['k']}" for cell in cells
                 if cell["n"] * cell["k"] / 2 >= bars.RANDOM_LEAST_BYTES}
        self.assertLess(len(large), 6)
        self.assertIn(means[8]["worst_shape"], large)

    def test_many_tokens_are_held_against_cublas(self):
        _, means = self.means("many", "--groups", "many", times=1)
        self.assertEqual(sorted(means), list(bars.RANDOM_MANY_M))
        self.assertTrue(all(row["passed"] is not None for row in means.values()))
        done = self.script("bench-shapes", "--groups", "many", "--shapes", 2, check=1, times=1,
                           cublas=False)
        self.assertIn("without cuBLAS", done.stderr)

    def test_the_same_seed_draws_the_same_shapes(self):
        def drawn(*arguments):
            return [(cell["n"], cell["k"]) for cell in self.means("few", "--quick", *arguments,
                                                                  times=1)[0]]
        self.assertEqual(drawn(), drawn())
        self.assertNotEqual(drawn(), drawn("--seed", 2))
        for n, k in drawn():
            self.assertTrue(n % 64 == 0 and k % 128 == 0)


if __name__ == "__main__":
    unittest.main()
