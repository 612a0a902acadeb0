"""C and C++ of the documents compiles as a user's would, and links with the library."""

import os
import shutil
import subprocess
import unittest

from command import CommandTest, ROOT
from pages import pages

LIBRARY = os.environ.get("HEDDLE_LIBRARY", "")
# By language: the compiler, its options, the suffix, and what a block without includes stands behind.
LANGUAGES = {
    "cpp": (os.environ.get("CXX", "c++"), ["-std=c++17"], ".cc",
            "#include <heddle/heddle.hpp>\n#include <heddle/inspect.hpp>\n"),
    "c": (os.environ.get("CC", "cc"), ["-std=c99", "-pedantic"], ".c", "#include <heddle/heddle.h>\n"),
}


class CodeTest(CommandTest):

    def test_examples_compile_and_link(self):
        if not LIBRARY.endswith(".so") and ".so." not in LIBRARY:
            self.skipTest("needs the shared library; ctest names it")
        blocks = [block for page in pages() for block in page.blocks if block.language in LANGUAGES]
        self.assertLessEqual(set(LANGUAGES), {block.language for block in blocks})
        for number, block in enumerate(blocks):
            compiler, options, suffix, headers = LANGUAGES[block.language]
            if not shutil.which(compiler):
                self.skipTest(f"needs {compiler}")
            text = block.text if "#include" in block.text else headers + block.text
            if "int main(" not in text:
                text += "\nint main(void) { return 0; }\n"
            source = self.file(f"example{number}{suffix}", text)
            with self.subTest(str(block)):
                done = subprocess.run([compiler, *os.environ.get("CXXFLAGS", "").split(), *options,
                                       "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", source,
                                       LIBRARY, "-o", source.with_suffix("")],
                                      capture_output=True, text=True, timeout=300, check=False)
                self.assertEqual(done.returncode, 0, done.stderr[:4000])


if __name__ == "__main__":
    unittest.main()
