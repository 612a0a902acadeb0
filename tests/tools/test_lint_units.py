#!/usr/bin/env python3
"""What tools/lint remembers: units that were clean, until anything that the checker sees changes;
and what it takes for one unit."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/lib/lint/clean_units.py"
CHECKER = """#!/bin/sh
if [ "$1" = --version ]; then echo 1; exit 0; fi
if [ "$1" = --dump-config ]; then exit 0; fi
echo run >> runs
for file; do :; done
! grep -n bad "$file"
"""


class CleanUnits(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name).resolve()
        self.write("checker", CHECKER)
        (self.root / "checker").chmod(0o755)
        self.write(".clang-tidy", "Checks: some\n")
        self.write("one.h", "int one();\n")
        self.write("one.cc", '#include "one.h"\nint one() { return 1; }\n')
        self.write("two.cc", "namespace {\nint helper() { return 2; }\n}  // namespace\n")
        self.write_commands()

    def write_commands(self, flags=""):
        units = [(name, str(self.root / f"{name}.cc")) for name in ("one", "two")]
        self.write("commands.json", json.dumps([{
            "directory": str(self.root), "file": unit,
            "command": f"ccache c++ {flags if name == 'two' else ''} -MD -MT {name}.o -MF {name}.d "
                       f"-o {name}.o -c {unit}"} for name, unit in units]))

    def write(self, name, text):
        (self.root / name).write_text(text)

    def lint(self, *units, clean="clean"):
        """The exit status, and how often the checker has run so far."""
        done = subprocess.run(
            [sys.executable, SCRIPT, "commands.json", clean, "2", str(self.root / "checker")],
            cwd=self.root, input="\n".join(units or ["one.cc"]), text=True, capture_output=True,
            check=False)
        self.output = done.stdout
        return done.returncode, self.runs()

    def runs(self):
        path = self.root / "runs"
        return path.read_text().count("run") if path.exists() else 0

    def test_a_clean_unit_is_checked_once(self):
        self.assertEqual(self.lint(), (0, 1))
        self.assertEqual(self.lint(), (0, 1))

    def test_findings_are_reported_each_time(self):
        self.write("one.cc", "int bad();\n")
        self.assertEqual(self.lint(), (1, 1))
        self.assertIn("1:int bad();", self.output)
        self.assertEqual(self.lint(), (1, 2))
        self.assertIn("1:int bad();", self.output)

    def test_all_that_the_checker_sees_counts(self):
        runs = 1
        self.assertEqual(self.lint(), (0, runs))
        for name, text in (("one.h", "int one();\n#define UNUSED 1\n"),
                           ("one.cc", '#include "one.h"\nint one() { return 1; }  // NOLINT\n'),
                           (".clang-tidy", "Checks: others\n"),
                           ("checker", CHECKER.replace("echo 1;", "echo 2;"))):
            self.write(name, text)
            runs += 1
            self.assertEqual(self.lint(), (0, runs), name)

    def test_nothing_is_remembered_where_nobody_asks_again(self):
        self.assertEqual(self.lint(clean=""), (0, 1))
        self.assertEqual(self.lint(clean=""), (0, 2))
        self.assertFalse((self.root / "clean").exists())

    def test_units_are_checked_as_one(self):
        self.assertEqual(self.lint("one.cc", "two.cc"), (0, 1))
        self.assertEqual(self.lint("one.cc", "two.cc"), (0, 1))
        self.assertEqual(self.lint("two.cc"), (0, 1))

    def test_a_finding_is_told_of_its_unit(self):
        self.write("two.cc", "int good();\nint bad();\n")
        self.assertEqual(self.lint("one.cc", "two.cc"), (1, 3))
        self.assertEqual(self.output, "2:int bad();\n")
        self.assertEqual(self.lint("one.cc", "two.cc"), (1, 4))

    def test_units_are_not_one(self):
        for what, two, flags in (("a name of both", "static int one() { return 1; }\n", ""),
                                 ("another name of one.h's", "#define one 1\n", ""),
                                 ("other flags", "int two();\n", "-O1")):
            self.write("two.cc", two)
            self.write_commands(flags)
            before = self.runs()
            self.assertEqual(self.lint("one.cc", "two.cc", clean=""), (0, before + 2), what)


if __name__ == "__main__":
    unittest.main()
