#!/usr/bin/env python3
"""What tools/lint remembers: units that were clean, until anything that the checker sees changes."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/lib/lint/clean_units.py"
CHECKER = """#!/bin/sh
if [ "$1" = --version ]; then echo 1; exit 0; fi
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
        unit = str(self.root / "one.cc")
        self.write("commands.json", json.dumps([{
            "directory": str(self.root), "file": unit,
            "command": f"ccache c++ -MD -MT one.o -MF one.d -o one.o -c {unit}"}]))

    def write(self, name, text):
        (self.root / name).write_text(text)

    def lint(self):
        """The exit status, and how often the checker has run so far."""
        done = subprocess.run(
            [sys.executable, SCRIPT, "commands.json", "clean", "2", str(self.root / "checker")],
            cwd=self.root, input="one.cc\n", text=True, capture_output=True, check=False)
        self.output = done.stdout
        return done.returncode, (self.root / "runs").read_text().count("run")

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


if __name__ == "__main__":
    unittest.main()
