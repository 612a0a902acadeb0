"""tests/package/reuse_objects.py: objects of the same command are copied, all others compiled."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

LAUNCHER = pathlib.Path(__file__).resolve().parents[1] / "package/reuse_objects.py"


class ReuseObjectsTest(unittest.TestCase):

    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="heddle-test-")
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        self.source = self.folder / "a.cc"
        self.source.write_text("")
        self.object = self.folder / "made.o"
        self.object.write_text("made")
        self.compiler = self.folder / "c++"
        self.compiler.write_text("#!/bin/sh\nprintf compiled > \"$TARGET\"\n")
        self.compiler.chmod(0o755)
        self.commands = self.folder / "compile_commands.json"
        command = (f"{self.compiler} -DA=\"\\\"b c\\\"\" -O2 -Wall -Werror -Winvalid-pch -include "
                   f"/x/cmake_pch.hxx -MD -MT made.o -MF made.o.d -o made.o -c {self.source}")
        self.commands.write_text(json.dumps(
            [{"directory": str(self.folder), "file": str(self.source), "command": command}]))

    def compiled(self, *words, source=None):
        """What the object holds after the launcher was called with these words."""
        target = self.folder / "other.o"
        subprocess.run([sys.executable, "-B", LAUNCHER, self.commands, self.compiler, *words, "-o",
                        target, "-c", source or self.source], check=True,
                       env={**os.environ, "TARGET": str(target)})
        return target.read_text()

    def test_the_same_command_is_copied(self):
        self.assertEqual(self.compiled('-DA="b c"', "-O2"), "made")
        self.assertEqual(self.compiled('-DA="b c"', "-O2", "-Wextra", "-MD", "-MF", "x.d"), "made")

    def test_another_command_is_compiled(self):
        for words in (['-DA="b c"'], ['-DA="b c"', "-O3"], ["-DA=b", "-O2"],
                      ['-DA="b c"', "-O2", "-fPIC"], ['-DA="b c"', "-O2", "-include", "/x/y.h"],
                      ['-DA="b c"', "-O2", "-Wa,--noexecstack"]):
            self.assertEqual(self.compiled(*words), "compiled", words)

    def unity(self, folder, *sources):
        """A file that CMake writes in a unity build."""
        path = self.folder / folder / "Unity/unity_0_cxx.cxx"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f'/* NOLINT */\n#include "{source}"\n' for source in sources))
        return path

    def test_the_same_files_together_are_copied(self):
        words = ('-DA="b c"', "-O2")
        other = self.folder / "b.cc"
        other.write_text("")
        together = self.unity("there", self.source, other)
        os.utime(self.object)
        self.commands.write_text(self.commands.read_text().replace(str(self.source), str(together)))
        self.assertEqual(self.compiled(*words, source=self.unity("here", self.source, other)), "made")
        self.assertEqual(self.compiled(*words, source=self.unity("here", self.source)), "compiled")
        self.assertEqual(self.compiled(*words), "compiled")
        os.utime(other, (2**31, 2**31))
        self.assertEqual(self.compiled(*words, source=self.unity("here", self.source, other)),
                         "compiled")

    def test_what_is_not_there_or_old_is_compiled(self):
        words = ('-DA="b c"', "-O2")
        self.assertEqual(self.compiled(*words, source=self.folder / "b.cc"), "compiled")
        os.utime(self.object, (1, 1))
        self.assertEqual(self.compiled(*words), "compiled")
        self.object.unlink()
        self.assertEqual(self.compiled(*words), "compiled")
        self.commands.unlink()
        self.assertEqual(self.compiled(*words), "compiled")


if __name__ == "__main__":
    unittest.main()
