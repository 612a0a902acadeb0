"""tools/chart: the README's chart and sentence are what the measurements say."""

import json
import subprocess
import sys
import unittest
import xml.dom.minidom

from command import CommandTest, ROOT


class ChartTest(CommandTest):

    def chart(self, *arguments):
        return subprocess.run([sys.executable, "-B", ROOT / "tools/chart", *map(str, arguments)],
                              capture_output=True, text=True, check=False)

    def test_is_what_the_data_say(self):
        done = self.chart("--check")
        self.assertEqual(done.returncode, 0, done.stderr)
        readme = " ".join((ROOT / "README.md").read_text().split())
        self.assertIn(" ".join(done.stdout.split()), readme)

    def test_numbers_are_geometric_means(self):
        columns = {"n": "count", "k": "count", "m": "count", "heddle_us": "us", "marlin_us": "us",
                   "machete_us": "us", "humming_us": "us", "cublas_us": "us"}
        rows = [[64, 64, 1, 1, 4, 5, 6, 4], [128, 64, 1, 1, 9, 16, 16, 4], [64, 64, 128, 1, 9, 9, 9, 1]]
        data = {"card": "NVIDIA H100 SXM, 80 GB", "date": "2026-01-02", "versions": {"heddle": "x"},
                "tables": {"w4": {"columns": columns, "rows": rows}}}
        drawn = self.folder / "chart.svg"
        done = self.chart("--data", self.file("data.json", json.dumps(data)), "--to", drawn)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("On an H100 SXM (2026-01-02)", done.stdout)
        self.assertIn("**6.00 times**", done.stdout)
        self.assertIn("of 2 cases", done.stdout)
        lines = xml.dom.minidom.parse(str(drawn)).getElementsByTagName("polyline")
        # cuBLAS is the line at 1, and heddle is four times as fast with one token.
        heights = {line.getAttribute("class"): [float(point.split(",")[1]) for point
                                                in line.getAttribute("points").split()]
                   for line in lines}
        self.assertEqual(len(heights), 5)
        self.assertEqual(len(set(heights["cublas"])), 1)
        self.assertEqual(heights["heddle"][1], heights["cublas"][1])
        self.assertLess(heights["heddle"][0], heights["marlin"][0])

    def test_a_chart_of_other_data_is_out_of_date(self):
        data = json.loads((ROOT / "results/peers-h100.json").read_text())
        at = list(data["tables"]["w4"]["columns"]).index("heddle_us")
        for row in data["tables"]["w4"]["rows"]:
            row[at] *= 2
        done = self.chart("--check", "--data", self.file("other.json", json.dumps(data)))
        self.assertEqual(done.returncode, 1)
        self.assertIn("out of date", done.stderr)

    def test_refuses_what_is_no_data(self):
        for text in ("", "{}", '{"tables": {"w4": {"columns": {}, "rows": [[1]]}}}'):
            with self.subTest(text):
                done = self.chart("--data", self.file("bad.json", text), "--to", self.folder / "x")
                self.assertEqual(done.returncode, 2)
                self.assertIn("bad.json", done.stderr)


if __name__ == "__main__":
    unittest.main()
