#!/usr/bin/env python3
"""Which files tools/lint --changed checks."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/lib/lint/changed.py"


class Changed(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        for name, text in (("deep.h", ""), ("a/middle.h", '#include "deep.h"\n'),
                           ("a/top.cc", '#include "a/middle.h"\n'), ("b/near.h", ""),
                           ("b/near.cc", '#include "near.h"\n'), ("alone.cc", "int one;\n"),
                           ("b/also.cc", '#include "near.h"\n#include "deep.h"\n'),
                           ("page.md", "text\n"), (".clang-tidy", "Checks: some\n")):
            self.write(name, text)
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit()
        self.git("checkout", "--quiet", "-b", "change")

    def write(self, name, text):
        (self.root / name).parent.mkdir(exist_ok=True)
        (self.root / name).write_text(text)

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *arguments],
                       cwd=self.root, check=True, capture_output=True)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=m")

    def changed(self):
        done = subprocess.run([sys.executable, SCRIPT, "main"], cwd=self.root, text=True,
                              capture_output=True, check=True)
        return done.stdout.split()

    def test_nothing(self):
        self.assertEqual(self.changed(), [])
        self.write("page.md", "another text\n")
        self.assertEqual(self.changed(), [])

    def test_sources_committed_or_not(self):
        self.write("alone.cc", "int two;\n")
        self.commit()
        self.write("new.cc", "")
        self.assertEqual(self.changed(), ["alone.cc", "new.cc"])

    def test_comments_alone(self):
        self.write("alone.cc", 'const char* one = "// no comment";  // at first\n')
        self.git("checkout", "--quiet", "main")
        self.commit()
        self.git("checkout", "--quiet", "-B", "change")
        self.write("alone.cc", '// Another one.\nconst char* one = "// no comment";\n')
        self.assertEqual(self.changed(), [])
        self.write("alone.cc", 'const char* one = "// no comment";  // NOLINT: it is fine\n')
        self.assertEqual(self.changed(), ["alone.cc"])
        self.write("alone.cc", 'const char* one = "// another text";\n')
        self.assertEqual(self.changed(), ["alone.cc"])

    def test_a_header_by_way_of_another(self):
        self.write("a/middle.h", '#include "deep.h"\nint middle;\n')
        self.assertEqual(self.changed(), ["a/top.cc"])

    def test_one_file_for_a_header(self):
        self.write("deep.h", "int deep;\n")
        self.assertEqual(self.changed(), ["a/top.cc"])

    def test_a_header_in_the_file_of_its_name(self):
        self.write("b/near.h", "int near;\n")
        self.assertEqual(self.changed(), ["b/near.cc"])

    def test_a_header_that_a_changed_file_includes(self):
        self.write("b/near.h", "int near;\n")
        self.write("b/also.cc", '#include "near.h"\nint also;\n')
        self.assertEqual(self.changed(), ["b/also.cc"])

    def test_what_is_gone_counts(self):
        (self.root / "alone.cc").unlink()
        (self.root / "a/middle.h").unlink()
        self.assertEqual(self.changed(), ["a/top.cc"])

    def test_other_checks_are_for_all(self):
        self.write(".clang-tidy", "Checks: others\n")
        self.assertEqual(self.changed(), ["a/top.cc", "alone.cc", "b/also.cc", "b/near.cc"])

    def test_what_landed_meanwhile_does_not_count(self):
        self.git("checkout", "--quiet", "main")
        self.write("alone.cc", "int landed;\n")
        self.commit()
        self.git("checkout", "--quiet", "change")
        self.write("b/near.cc", '#include "near.h"\nint changed;\n')
        self.assertEqual(self.changed(), ["b/near.cc"])


if __name__ == "__main__":
    unittest.main()
