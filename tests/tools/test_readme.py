"""Every example of the top README, copied out of it and run."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

from command import CommandTest, HEDDLE, ROOT

README = (ROOT / "README.md").read_text()
# The scripts around this test; running them from inside of it would not end.
SCRIPTS = ("tools/quickstart", "tools/test")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.M | re.S)


def commands():
    """Each command line of the shell examples, with its continuation lines."""
    lines = []
    for block in blocks("sh"):
        for line in block.splitlines():
            if line[0].isspace():
                lines[-1] += "\n" + line
            else:
                lines.append(line)
    return lines


class ReadmeTest(CommandTest):

    def setUp(self):
        super().setUp()
        self.environment["PATH"] = f"{pathlib.Path(HEDDLE).parent}:{os.environ['PATH']}"

    def test_every_use_has_an_example(self):
        shown = {line.split()[1] for line in commands() if line.startswith("heddle ")}
        self.assertLessEqual({"build", "render", "plan", "explain", "inspect", "run", "bench",
                              "tune", "schema", "targets", "cache"}, shown)

    def test_scripts_exist(self):
        named = [line.split()[0] for line in commands() if not line.startswith("heddle ")]
        self.assertEqual(tuple(named), SCRIPTS)
        for script in named:
            self.assertTrue(os.access(ROOT / script, os.X_OK), script)

    def test_files_that_are_named_exist(self):
        for path in re.findall(r"`((?:docs|examples|tools|\.ci)/[\w./-]+)`", README):
            self.assertTrue((ROOT / path).exists(), path)

    def test_shell_examples(self):
        gpu = self.has_gpu()
        for line in commands():
            with self.subTest(line):
                if line.startswith(SCRIPTS):
                    continue
                if line.split()[1] in ("run", "bench", "tune") and not gpu:
                    print(f"skipped, needs a GPU: {line}")
                    continue
                done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", line], cwd=ROOT,
                                      env=self.environment, capture_output=True, timeout=600)
                self.assertEqual(done.returncode, 0, done.stderr.decode()[:2000])
                self.assertTrue(done.stdout)

    def test_cpp_example_compiles_and_links(self):
        [example] = blocks("cpp")
        source = self.file("example.cc", example + "\nint main() { return 0; }\n")
        library = os.environ.get("HEDDLE_LIBRARY", "")
        if not library or not shutil.which(os.environ.get("CXX", "c++")):
            self.skipTest("needs the library and a compiler; ctest names them")
        if not library.endswith(".so") and ".so." not in library:
            self.skipTest("needs the shared library")
        subprocess.run([os.environ.get("CXX", "c++"), *os.environ.get("CXXFLAGS", "").split(),
                        "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}",
                        source, library, "-o", self.folder / "example"], check=True, timeout=300)


if __name__ == "__main__":
    unittest.main()
