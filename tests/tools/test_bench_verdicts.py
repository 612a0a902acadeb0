"""What the tools/bench-* scripts share: floors, bars, verdicts, steps and plots, without a command."""

import sys
import unittest
import xml.etree.ElementTree

from command import ROOT

sys.path.insert(0, str(ROOT / "tools/lib"))

from bench import bars, svg_plot, verdict  # noqa: E402

# What heddle says of its device.
REPORT = {"floor_launch_us": 1.5, "floor_tflops": 790, "read_tb_per_s": 4.5}


class VerdictTest(unittest.TestCase):

    def test_bars_of_4_bits(self):
        def bar(shape, m):
            return verdict.decode_bar(bars.DECODE, bars.FEW, REPORT, shape, m)

        self.assertEqual([bar((8192, 8192), m) for m in (1, 8, 16, 32)], [1.2, 1.2, 1.25, 1.35])
        self.assertIsNone(bar((10240, 8192), 64))
        self.assertIsNone(bar((8192, 8192), 128))
        floor = verdict.floor_us(REPORT, 8192, 8192, 64)
        self.assertAlmostEqual(bar((8192, 8192), 64) * floor, 15.5)

    def test_floor(self):
        memory = 1.5 + (8192 * 8192 * (0.5 + 1 / 64) + 2 * (8192 + 8192)) / 4.5e6
        self.assertAlmostEqual(verdict.floor_us(REPORT, 8192, 8192, 1), memory)
        self.assertAlmostEqual(verdict.floor_us(REPORT, 8192, 8192, 4096),
                               2 * 4096 * 8192 * 8192 / 790e6)
        unknown = {**REPORT, "floor_launch_us": 0, "floor_tflops": 0}
        self.assertAlmostEqual(verdict.floor_us(unknown, 8192, 8192, 1), memory - 1.5)

    def test_steps(self):
        self.assertEqual(verdict.steps({64: 10, 65: 10.4, 128: 10, 256: 20}, 1.05), [])
        [(m, larger, times)] = verdict.steps({64: 10, 65: 12, 128: 11, 256: 20}, 1.05)
        self.assertEqual((m, larger), (65, 128))
        self.assertAlmostEqual(times, 12 / 11)
        # Not only neighbours count.
        self.assertEqual([m for m, _, _ in verdict.steps({1: 10, 2: 9.6, 4: 9.2, 8: 20}, 1.05)],
                         [1])

    def test_cell(self):
        cell = verdict.Cell(8192, 4096, "W4", 1, 12, 10, 1.2)
        self.assertTrue(cell.passed)
        self.assertFalse(verdict.Cell(8192, 4096, "W4", 1, 12.1, 10, 1.2).passed)
        self.assertIsNone(verdict.Cell(8192, 4096, "W4", 1, 12, 10).passed)
        self.assertEqual(cell.document()["times"], 1.2)
        self.assertNotIn("cublas_us", cell.document())

    def test_summary(self):
        good = verdict.Cell(8192, 8192, "W4", 1, 11, 10, 1.2)
        bad = verdict.Cell(4096, 4096, "W4", 8, 20, 10, 1.4)
        self.assertEqual(verdict.summary([good, bad]),
                         "1 of 2 pass; furthest from its bar: W4 4096 x 4096, M = 8, 2.00 where "
                         "1.40 is the bar\n")
        self.assertEqual(verdict.summary([]), "no bars are set here\n")

    def test_cells_with_a_clock_have_a_column_for_it(self):
        cell = verdict.Cell(8192, 8192, "W4", 1, 11, 10, 1.2)
        self.assertNotIn("MHz", verdict.cell_table([cell], "floor"))
        cell.sm_mhz = 1755.4
        self.assertRegex(verdict.cell_table([cell], "floor"), r"SM MHz \|\n.*\n.* 1755 \|\n$")

    def test_a_rule_has_a_dash_in_narrow_columns(self):
        self.assertEqual(verdict.table(["N", "M"], [["a", 1]]).splitlines()[1], "| -- | -: |")

    def test_table(self):
        self.assertEqual(verdict.table(["a", "long"], [["x", 1], ["yy", 20]]),
                         "| a  | long |\n| -- | ---: |\n| x  |    1 |\n| yy |   20 |\n")


class SvgTest(unittest.TestCase):

    def test_axes(self):
        axis = svg_plot.Axis(1, 100, 0, 200)
        self.assertAlmostEqual(axis.pixel(1), 0)
        self.assertAlmostEqual(axis.pixel(10), 100)
        self.assertAlmostEqual(axis.pixel(100), 200)
        from_zero = svg_plot.Axis(0, 100, 200, 0)
        self.assertEqual([from_zero.pixel(y) for y in (0, 25, 100)], [200, 150, 0])

    def test_ticks(self):
        self.assertEqual(svg_plot.ticks(830), [100.0 * i for i in range(9)])
        self.assertEqual(svg_plot.ticks(4.2), [0.5 * i for i in range(9)])
        for high in (1, 1.99, 2, 9.99, 10, 777):
            self.assertTrue(4 <= len(svg_plot.ticks(high)) <= 11, high)
        self.assertEqual(svg_plot.powers_of_two(64, 300), [64, 128, 256])

    def test_names_are_escaped_and_points_lie_inside(self):
        panel = svg_plot.Panel("a < b & c", "x", "y", {"one": [(2, 8), (1, 4)], "two": [(1, 9)]})
        root = xml.etree.ElementTree.fromstring(svg_plot.svg([panel, panel, panel]))
        self.assertEqual(root.get("height"), str(2 * svg_plot.HEIGHT))
        lines = root.findall(".//{http://www.w3.org/2000/svg}polyline")
        self.assertEqual(len(lines), 6)
        points = [tuple(map(float, point.split(","))) for point in lines[0].get("points").split()]
        self.assertEqual(points, sorted(points))
        for x, y in points:
            self.assertTrue(svg_plot.LEFT <= x <= svg_plot.WIDTH - svg_plot.RIGHT)
            self.assertTrue(svg_plot.TOP <= y <= svg_plot.HEIGHT - svg_plot.BOTTOM)


if __name__ == "__main__":
    unittest.main()
