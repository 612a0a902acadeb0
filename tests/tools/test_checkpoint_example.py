"""The examples of docs/checkpoints.md, copied out of it, and examples/pack_c: compiled and run."""

import os
import re
import shutil
import subprocess
import unittest

from command import CommandTest, ROOT

PAGE = (ROOT / "docs/checkpoints.md").read_text()
C_EXAMPLE = (ROOT / "examples/pack_c/main.c").read_text()
CHECKPOINT = ROOT / "tests/golden/gptq4_k128_n32_g32"
LIBRARY = os.environ.get("HEDDLE_LIBRARY", "")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)


class CheckpointExampleTest(CommandTest):

    def setUp(self):
        super().setUp()
        if not LIBRARY.endswith(".so") and ".so." not in LIBRARY:
            self.skipTest("needs the shared library; ctest names it")

    def compiled(self, compiler, suffix, text, *flags):
        if not shutil.which(compiler):
            self.skipTest(f"needs {compiler}")
        program = self.folder / f"example{suffix}.out"
        subprocess.run([compiler, *flags, "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}",
                        self.file(f"example{suffix}", text), LIBRARY,
                        f"-Wl,-rpath,{os.path.dirname(LIBRARY)}", "-o", program],
                       check=True, timeout=300)
        return program

    def cpp(self, text):
        return self.compiled(os.environ.get("CXX", "c++"), ".cc", text,
                             *os.environ.get("CXXFLAGS", "").split(), "-std=c++17")

    def c(self, text):
        return self.compiled(os.environ.get("CC", "cc"), ".c", text,
                             *os.environ.get("CXXFLAGS", "").split(), "-std=c99")

    def run_on(self, program, path):
        return subprocess.run([program, path], capture_output=True, text=True, timeout=300)

    def test_every_layer_is_packed(self):
        [example, _] = blocks("cpp")
        for program in (self.cpp(example), self.c(C_EXAMPLE)):
            with self.subTest(program.name):
                done = self.run_on(program, CHECKPOINT)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn('model.proj: {"heddle":1,"op":"gemm"', done.stdout)
                failed = self.run_on(program, self.folder / "nowhere")
                self.assertEqual(failed.returncode, 1)
                self.assertIn("nowhere", failed.stderr)

    def test_the_one_that_needs_a_gpu_compiles(self):
        [_, example] = blocks("cpp")
        self.cpp(example + "\nint main() { return 0; }\n")


if __name__ == "__main__":
    unittest.main()
