#!/usr/bin/env python3
"""tools/lib/tests/report.py: what is said of a run of the tests, from what ctest and gtest programs wrote."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/lib/tests/report.py"
CASE = '<testcase name="{}" status="{}" time="{}" classname="Suite">{}</testcase>'
SKIPPED = '<skipped message="tests/gpu/gpu_fixture.h:55&#x0A;no GPU: no driver&#x0A;"/>'


class ReportTest(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="heddle-test-")
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)

    def program(self, name, *cases):
        text = "".join(CASE.format(*case) for case in cases)
        (self.folder / f"{name}.xml").write_text(f"<testsuites><testsuite>{text}</testsuite></testsuites>")

    def report(self, *tests):
        """The lines for tests of ctest: names and what became of them."""
        inside = {"notrun": "<skipped message='SKIP_RETURN_CODE=77'/>", "fail": "<failure/>",
                  "missing": "<skipped message='Unable to find executable'/>"}
        junit = self.folder / "ctest.xml"
        junit.write_text("<testsuite>" + "".join(
            f'<testcase name="{name}" time="2" status="{status.replace("missing", "notrun")}">'
            f'{inside.get(status, "")}</testcase>'
            for name, status in tests) + "</testsuite>")
        done = subprocess.run([sys.executable, "-B", SCRIPT, self.folder, junit], check=False,
                              capture_output=True, text=True)
        lines = done.stdout.splitlines()
        self.assertEqual(done.returncode, 0 if ", 0 failed," in lines[-1] else 1, done.stderr)
        return lines

    def test_cases_are_counted_and_the_slowest_come_first(self):
        self.program("spec_test", ("Fast", "run", "0.1", ""), ("Slow", "run", "7.25", ""),
                     ("NotInThisShard", "notrun", "0", ""))
        lines = self.report(("spec_test", "run"), ("package.headers", "run"))
        self.assertEqual(lines[0], "the slowest of 3 cases, in seconds:")
        self.assertEqual([line.split(maxsplit=1) for line in lines[1:4]],
                         [["7.2", "spec_test: Suite.Slow"], ["2.0", "package.headers"],
                          ["0.1", "spec_test: Suite.Fast"]])
        self.assertEqual(lines[-1], "3 passed, 0 failed, 0 skipped")

    def test_skipped_cases_are_told_with_their_reason(self):
        self.program("gpu_test", ("One", "run", "0", SKIPPED), ("Two", "run", "0", SKIPPED))
        lines = self.report(("gpu_test", "notrun"), ("example", "notrun"))
        self.assertIn("skipped 2: no GPU: no driver", lines)
        self.assertIn("skipped 1: cannot run on this machine", lines)
        self.assertEqual(lines[-1], "0 passed, 0 failed, 3 skipped")

    def test_failures_are_named(self):
        self.program("spec_test", ("Bad", "run", "0", "<failure/>"), ("Good", "run", "0", ""))
        lines = self.report(("spec_test", "fail"))
        self.assertIn("failed: spec_test: Suite.Bad", lines)
        self.assertEqual(lines[-1], "1 passed, 1 failed, 0 skipped")

    def test_a_program_that_crashes_has_failed(self):
        self.assertEqual(self.report(("spec_test", "fail"))[-1], "0 passed, 1 failed, 0 skipped")

    def test_a_program_that_is_missing_has_failed(self):
        self.assertEqual(self.report(("spec_test", "missing"))[-1], "0 passed, 1 failed, 0 skipped")

    def test_a_program_that_chose_no_case_has_not_passed(self):
        self.program("spec_test", ("Filtered", "notrun", "0", ""))
        self.program("plan_test", ("One", "run", "0", ""))
        lines = self.report(("spec_test", "run"), ("plan_test", "run"))
        self.assertEqual(lines[-1], "1 passed, 0 failed, 0 skipped")

    def test_specs_that_a_machine_lacks_are_told(self):
        left_out = '<properties><property name="left_out" value="3"/></properties>'
        self.program("gpu_test", ("One", "run", "0", left_out))
        self.assertIn("left out 3 specs of other cases: this GPU has no instructions for them",
                      self.report(("gpu_test", "run")))

    def test_a_reason_may_end_with_a_number(self):
        self.program("gpu_test", ("One", "run", "0", '<skipped message="f.cc:7&#x0A;cuInit failed: 100"/>'))
        self.assertIn("skipped 1: cuInit failed: 100", self.report(("gpu_test", "notrun")))

    def test_no_case_at_all_is_no_success(self):
        self.program("spec_test")
        (self.folder / "ctest.xml").write_text('<testsuite><testcase name="spec_test" status="run"/></testsuite>')
        done = subprocess.run([sys.executable, "-B", SCRIPT, self.folder, self.folder / "ctest.xml"],
                              check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no case ran", done.stdout)

    def test_a_program_that_fails_behind_its_last_case_has_failed(self):
        self.program("spec_test", ("Good", "run", "0", ""))
        self.assertEqual(self.report(("spec_test", "fail"))[-1], "1 passed, 1 failed, 0 skipped")


if __name__ == "__main__":
    unittest.main()
