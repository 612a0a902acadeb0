"""tools/bench-moe: the layers, their bars and verdicts. A stand-in for heddle gives the times."""

import sys
import unittest

from bench_script import ScriptTest
from command import ROOT

sys.path.insert(0, str(ROOT / "tools/lib"))

from bench import moe_bars  # noqa: E402


class MoeTest(ScriptTest):

    def layers(self, **fake):
        """Those that are given ids and weights."""
        return self.document("bench-moe", "--groups", "layers", **fake)["groups"]

    def groups_named(self, group, word, **fake):
        """Of a run of this group alone those with the word in their names."""
        groups = self.document("bench-moe", "--groups", group, **fake)["groups"]
        return {name: groups[name] for name in groups if word in name}

    def routed(self, **fake):
        return self.groups_named("logits", "from logits", **fake)

    def test_every_layer_is_timed_at_every_number_of_tokens(self):
        layers = self.layers(times=1.5)
        self.assertEqual(list(layers), list(moe_bars.LAYERS))
        for layer in layers.values():
            self.assertEqual([cell["tokens"] for cell in layer["cells"]], list(moe_bars.TOKENS))
            for cell in layer["cells"]:
                self.assertAlmostEqual(cell["times"], 1.5)
                self.assertIsNone(cell["passed"])  # the stand-in is no card with bars

    def test_a_card_with_bars_has_verdicts(self):
        self.assertEqual(set(moe_bars.H200), set(moe_bars.LAYERS))
        for times, passed in ((1.0, True), (2.0, False)):
            for layer in self.layers(times=times, device="NVIDIA H200").values():
                self.assertTrue(all(cell["passed"] is passed for cell in layer["cells"]))

    def test_one_slow_cell_is_missed_alone(self):
        layers = self.layers(times=1, device="NVIDIA H200", spike={"64": 2})
        for layer in layers.values():
            self.assertEqual([cell["tokens"] for cell in layer["cells"] if not cell["passed"]], [64])

    def test_a_choice_by_logits_is_what_both_take_beyond_their_floors(self):
        for choice_us, passed in ((1.5, True), (2.5, False)):
            routed = self.routed(times=1.5, device="NVIDIA H200", choice_us=choice_us)
            self.assertEqual(len(routed), len(moe_bars.ROUTINGS))
            for layer in routed.values():
                self.assertEqual([cell["tokens"] for cell in layer["cells"]],
                                 list(moe_bars.ROUTED_TOKENS))
                for cell in layer["cells"]:
                    self.assertAlmostEqual(cell["more_us"], choice_us)
                    self.assertIs(cell["passed"], passed)
        for layer in self.routed(times=1.5, choice_us=1).values():
            self.assertTrue(all(cell["passed"] is None for cell in layer["cells"]))

    def test_a_skewed_choice_is_held_against_the_uniform_one(self):
        for skewed, passed in ((1.1, True), (1.2, False)):
            groups = self.groups_named("skewed", "skewed", times=1.5, skewed=skewed,
                                       device="NVIDIA H200")
            self.assertEqual(len(groups), len(moe_bars.LAYERS))
            for layer in groups.values():
                self.assertEqual([cell["tokens"] for cell in layer["cells"]],
                                 list(moe_bars.SKEWED_TOKENS))
                for cell in layer["cells"]:
                    self.assertAlmostEqual(cell["times_uniform"], skewed)
                    self.assertIs(cell["passed"], passed)

    def test_layers_by_the_rows_of_an_expert(self):
        groups = self.document("bench-moe", "--groups", "rows", times=1.25,
                               device="NVIDIA H200")["groups"]
        self.assertEqual(list(groups), list(moe_bars.BY_ROWS))
        for layer in groups.values():
            self.assertEqual([cell["rows"] for cell in layer["cells"]], list(moe_bars.ROWS))
            self.assertEqual([cell["passed"] for cell in layer["cells"]],
                             [1.25 <= bar for bar in moe_bars.H200_BY_ROWS])
        for spec, tokens in moe_bars.BY_ROWS.values():
            self.assertEqual(spec["shape"]["experts"] // spec["shape"]["top_k"], tokens)
            self.assertLessEqual(max(moe_bars.ROWS) * tokens, spec["shape"].get("tokens", [1, 4096])[1])

    def test_without_pytorch_it_says_so_and_goes_on(self):
        done = self.script("bench-moe", "--groups", "cublas,rows", "--python", "false", times=1)
        self.assertIn("without cuBLAS", done.stderr)
        self.assertIn("DeepSeek", done.stdout)
        self.assertNotIn("times faster", done.stdout)


if __name__ == "__main__":
    unittest.main()
