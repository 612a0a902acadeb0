#!/usr/bin/env python3
"""tools/lib/lint/commands.py: a command for each file of a build that compiles several together."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/lib/lint/commands.py"


class LintCommandsTest(unittest.TestCase):
    def test_files_that_are_compiled_together_have_a_command_each(self):
        with tempfile.TemporaryDirectory(prefix="heddle-test-") as name:
            together = pathlib.Path(name, "Unity/unity_0_cxx.cxx")
            together.parent.mkdir()
            together.write_text('/* NOLINT */\n#include "/x/a.cc"\n\n#include "/x/b.cc"\n')
            commands = pathlib.Path(name, "compile_commands.json")
            commands.write_text(json.dumps([
                {"directory": "/x", "file": str(file), "command": f"c++ -O2 -o {file}.o -c {file}"}
                for file in (together, "/x/alone.cc")]))
            done = subprocess.run([sys.executable, "-B", SCRIPT, commands], check=True,
                                  capture_output=True, text=True)
        made = json.loads(done.stdout)
        self.assertEqual([entry["file"] for entry in made], ["/x/a.cc", "/x/b.cc", "/x/alone.cc"])
        for entry in made:
            self.assertTrue(entry["command"].endswith(f"-c {entry['file']}"), entry)
            self.assertEqual(entry["directory"], "/x")


if __name__ == "__main__":
    unittest.main()
