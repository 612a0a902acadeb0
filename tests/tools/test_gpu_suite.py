#!/usr/bin/env python3
"""tools/gpu-suite over programs that only pretend: kernels are made first, every test runs, the verdict is one."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SUITE = pathlib.Path(__file__).resolve().parents[2] / "tools/gpu-suite"
# A program of two tests: it notes what it is asked for, and writes gtest's XML.
PROGRAM = """#!{python}
import os, pathlib, sys
options = dict(word.lstrip("-").split("=", 1) for word in sys.argv[1:] if "=" in word)
if "--gtest_list_tests" in sys.argv:
    print("Suite.\\n  Fine\\n  Other/0  # GetParam() = 1")
    sys.exit(0)
name = options["gtest_filter"]
target = os.environ.get("HEDDLE_TEST_TARGET")
with open(pathlib.Path(__file__).parent / "asked", "a") as asked:
    print(target, name, os.environ.get("HEDDLE_EVERY_KERNEL"), file=asked)
if target:
    print("made 3 kernels for device")
    sys.exit(77)
case = name.split(".")[1]
inside = {inside!r}
pathlib.Path(options["gtest_output"][4:]).write_text(
    f'<testsuites><testsuite><testcase name="{{case}}" status="run" time="1" classname="Suite">'
    f'{{inside.get(case, "")}}</testcase></testsuite></testsuites>')
sys.exit({status})
"""


class GpuSuiteTest(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="heddle-test-")
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)

    def suite(self, *options, inside=None, status=0):
        program = self.folder / "some_gpu_test"
        program.write_text(PROGRAM.format(python=sys.executable, inside=inside or {}, status=status))
        program.chmod(0o755)
        return subprocess.run([sys.executable, "-B", SUITE, "--programs", self.folder, "--jobs", "2",
                               *options], capture_output=True, text=True, check=False)

    def asked(self):
        return (self.folder / "asked").read_text().splitlines()

    def test_kernels_are_made_before_the_tests(self):
        done = self.suite()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        asked = self.asked()
        self.assertEqual(asked[:4], ["device * None"] * 4)
        self.assertEqual(sorted(asked[4:]), ["None Suite.Fine None", "None Suite.Other/0 None"])
        self.assertIn("gpu-suite: 12 kernels made", done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1], "2 passed, 0 failed, 0 skipped")

    def test_every_kernel_is_passed_on(self):
        self.suite("--every-kernel")
        self.assertTrue(all(line.endswith(" 1") for line in self.asked()))

    def test_a_failure_fails(self):
        done = self.suite(inside={"Fine": "<failure/>"}, status=1)
        self.assertEqual(done.returncode, 1)
        self.assertIn("failed: some_gpu_test: Suite.Fine", done.stdout)
        # The other one ends with an error behind its last case.
        self.assertEqual(done.stdout.splitlines()[-1], "0 passed, 2 failed, 0 skipped")

    def test_skipped_tests_are_told(self):
        done = self.suite(inside={"Fine": '<skipped message="f.cc:1&#x0A;needs two devices"/>'})
        self.assertEqual(done.returncode, 0)
        self.assertIn("skipped 1: needs two devices", done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1], "1 passed, 0 failed, 1 skipped")

    def test_a_program_that_cannot_list_its_tests_has_failed(self):
        broken = self.folder / "broken_gpu_test"
        broken.write_text("#!/bin/sh\necho no libnvrtc\nexit 127\n")
        broken.chmod(0o755)
        done = self.suite()
        self.assertEqual(done.returncode, 1)
        self.assertIn("failed: broken_gpu_test: cannot list its tests", done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1], "2 passed, 1 failed, 0 skipped")

    def test_no_programs_are_no_success(self):
        done = subprocess.run([sys.executable, "-B", SUITE, "--programs", self.folder],
                              capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no programs", done.stderr)


if __name__ == "__main__":
    unittest.main()
