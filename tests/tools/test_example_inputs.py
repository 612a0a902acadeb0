"""examples/minimal, compile_c and pack_c on wrong input: they name the file and say why."""

import os
import subprocess
import unittest

from command import CommandTest, ROOT

EXAMPLES = ROOT / "build/release/examples"
MINIMAL = os.environ.get("HEDDLE_MINIMAL", EXAMPLES / "minimal/heddle_minimal")
COMPILE_C = os.environ.get("HEDDLE_COMPILE_C", EXAMPLES / "compile_c/heddle_compile_c")
PACK_C = os.environ.get("HEDDLE_PACK_C", EXAMPLES / "pack_c/heddle_pack_c")


class ExampleInputTest(CommandTest):

    def run_it(self, program, *arguments):
        return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                              env=self.environment, timeout=300)

    def test_a_file_that_is_refused_is_named_with_the_reason(self):
        missing = self.folder / "nowhere"
        broken = self.file("broken.json", "{")
        append = ROOT / "examples/specs/kv-append-mixed.json"
        for program, *arguments in ((PACK_C, missing), (PACK_C, broken), (MINIMAL, missing),
                                    (MINIMAL, broken), (MINIMAL, append), (MINIMAL, self.folder),
                                    (COMPILE_C, missing, "a100", self.folder),
                                    (COMPILE_C, broken, "a100", self.folder)):
            with self.subTest((program, arguments)):
                done = self.run_it(program, *arguments)
                self.assertIn(done.returncode, (1, 2), done.stderr)
                self.assertRegex(done.stderr, f"{arguments[0]}: .*\\w")

    def test_arguments_that_are_missing_are_named(self):
        for program in (PACK_C, COMPILE_C):
            done = self.run_it(program)
            self.assertEqual(done.returncode, 2)
            self.assertIn("usage: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
