"""The examples of docs/checkpoints.md and, of packed files, docs/engine.md, and examples/pack_c: compiled and run."""

import os
import re
import shutil
import subprocess
import unittest

from command import CommandTest, ROOT

PAGE = (ROOT / "docs/checkpoints.md").read_text()
ENGINE = (ROOT / "docs/engine.md").read_text()
C_EXAMPLE = (ROOT / "examples/pack_c/main.c").read_text()
CHECKPOINT = ROOT / "tests/golden/gptq4_k128_n32_g32"
LIBRARY = os.environ.get("HEDDLE_LIBRARY", "")


def blocks(language, page=PAGE):
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.M | re.S)


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
                damaged = self.file("damaged.safetensors", "no tensors")
                self.assertIn(str(damaged), self.run_on(program, damaged).stderr)
                failed = self.run_on(program, self.folder / "nowhere")
                self.assertEqual(failed.returncode, 1)
                self.assertIn("nowhere", failed.stderr)

    def test_what_repack_wrote_is_read_alike(self):
        packed = self.folder / "packed.safetensors"
        self.heddle("repack", CHECKPOINT, "-o", packed, check=0)
        [example, _] = blocks("cpp")
        for program in (self.cpp(example), self.c(C_EXAMPLE)):
            with self.subTest(program.name):
                done = self.run_on(program, packed)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout, self.run_on(program, CHECKPOINT).stdout)

    def test_the_engine_opens_what_repack_wrote(self):
        packed = self.folder / "packed.safetensors"
        self.heddle("repack", CHECKPOINT, "-o", packed, check=0)
        [example] = [block for block in blocks("cpp", ENGINE) if "open_packed" in block]
        program = self.cpp("#include <heddle/heddle.hpp>\n#include <cstdio>\n" + example + '''
            int main(int, char** argv) try {
              std::puts(open_packed(argv[1]).layers().at(0).name.c_str());
              return 0;
            } catch (const heddle::Error& error) {
              std::fprintf(stderr, "%s\\n", error.what());
              return 1;
            }''')
        done = self.run_on(program, packed)
        self.assertEqual((done.returncode, done.stdout), (0, "model.proj\n"), done.stderr)
        content = packed.read_bytes()
        cut = self.file("cut.safetensors", content[:-64])
        done = self.run_on(program, cut)
        self.assertEqual(done.returncode, 1)
        self.assertIn("truncated", done.stderr)

    def test_the_one_that_needs_a_gpu_compiles(self):
        [_, example] = blocks("cpp")
        self.cpp(example + "\nint main() { return 0; }\n")


if __name__ == "__main__":
    unittest.main()
