#!/usr/bin/env python3
"""What tools/count-constants takes for a number of the code."""

import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/count-constants"


def load():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("count_constants", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def numbers(text):
    return [number for _, number in load().numbers_of(text)]


class Numbers(unittest.TestCase):
    def test_integers_and_floats_count(self):
        self.assertEqual(numbers("int a = 3; double b = 0.5, c = 1e3, d = 2.5f, e = .25;"),
                         ["3", "0.5", "1e3", "2.5f", ".25"])
        self.assertEqual(numbers("f(0x1F, 1'000'000, 10u, -7, x[4], 160<<10);"),
                         ["0x1F", "1'000'000", "10u", "7", "4", "160", "10"])

    def test_nothing_one_and_two_do_not(self):
        self.assertEqual(numbers("f(0, 1, 2, 0.0, 1.0, 2.0, 0x2, 1u);"), [])

    def test_names_do_not(self):
        self.assertEqual(numbers("int16_t m16n8k16 = sm_90a + kW4 + v3.x4;"), [])

    def test_comments_strings_characters_and_includes_do_not(self):
        self.assertEqual(numbers('#include "a9/b8.h"\n// 7 "6\n/* 5 \n 5 */ f("4 // 4 \\" 4", \'9\', 33);'
                                 '  // 3\nconst char* s = R"(8 " 8)"; g(44);'), ["33", "44"])

    def test_lines_are_those_of_the_file(self):
        self.assertEqual(list(load().numbers_of("// a\n/* b\n */\nint c = 5;\n")), [(4, "5")])


class Command(unittest.TestCase):
    def run_command(self, *arguments):
        return subprocess.run([sys.executable, "-B", SCRIPT, *arguments], capture_output=True, text=True)

    def test_prints_a_line_for_each_folder(self):
        done = self.run_command()
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines[1:]],
                         ["generator/planner", "generator/families", "together"])
        counts = [[int(word) for word in line.split()[1:]] for line in lines[1:]]
        self.assertEqual(counts[2], [a + b for a, b in zip(counts[0], counts[1])])
        self.assertGreater(min(counts[2]), 20)

    def test_lists_each_number(self):
        done = self.run_command("--list", "generator/planner")
        lines = done.stdout.splitlines()
        listed = [line for line in lines if line.startswith("generator/planner/")]
        self.assertEqual(len(listed), int(lines[-1].split()[-1]))

    def test_an_unknown_folder_is_an_error(self):
        self.assertEqual(self.run_command("generator/nowhere").returncode, 2)


if __name__ == "__main__":
    unittest.main()
