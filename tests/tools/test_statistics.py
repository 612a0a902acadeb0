"""HEDDLE_STATS: what a process counted, as a file when it exits."""

import json
import unittest

from command import CommandTest, inline

BUILD = ("build", inline(), "--target", "h200")


class StatisticsTest(CommandTest):

    def setUp(self):
        super().setUp()
        self.stats = self.folder / "stats.json"
        self.environment["HEDDLE_STATS"] = str(self.stats)

    def run_build(self, *more, check=0):
        done = self.heddle(*BUILD, *more, check=check)
        return done, json.loads(self.stats.read_text())

    def test_misses_and_hits(self):
        kernels = len(self.heddle_json(*BUILD)["kernels"])
        first = json.loads(self.stats.read_text())
        self.assertEqual((first["cache_misses"], first["cache_hits"], first["compilations"]),
                         (kernels, 0, kernels))
        self.assertGreater(first["compile_seconds"], 0)
        _, second = self.run_build()
        self.assertEqual((second["cache_misses"], second["cache_hits"], second["compilations"]),
                         (0, kernels, 0))
        self.assertEqual((second["kernels_loaded"], second["launches"]), (0, {}))

    def test_a_process_that_fails_writes_too(self):
        _, told = self.run_build("--strict", check=1)
        self.assertGreater(told["cache_misses"], 0)
        self.assertEqual(told["compilations"], 0)

    def test_a_place_that_cannot_be_written_is_an_error(self):
        for place in (self.folder, self.folder / "absent" / "stats.json", "/dev/null"):
            self.environment["HEDDLE_STATS"] = str(place)
            self.assertIn("HEDDLE_STATS", self.problem(*BUILD, code=2))
        self.environment["HEDDLE_STATS"] = ""
        self.heddle(*BUILD, check=0)


if __name__ == "__main__":
    unittest.main()
