"""tools/check-nvrtc finds what it is there to find; a stand-in for heddle plays the compiler."""

import json
import os
import subprocess
import sys
import unittest

from command import CommandTest, ROOT

# Plays `heddle build -` as the environment says: a crash, an exit code with lines, or kernels.
FAKE = """#!/usr/bin/env python3
import json, os, signal, sys
play = json.loads(os.environ["FAKE_NVRTC"])
specs = json.load(sys.stdin)
if play.get("crashes_on", "-") in [spec.get("name") for spec in specs]:
    os.kill(os.getpid(), signal.SIGSEGV)
if "says" in play:
    print("\\n".join(play["says"]), file=sys.stderr)
    sys.exit(1)
print(json.dumps({"kernels": [{"kernel": "k", "spill_bytes": play.get("spills", 0)}],
                  "unserved": []}))
"""


class CheckNvrtcTest(CommandTest):

    def check(self, code, **play):
        wheel = self.folder / "wheels/12.6.77/lib"
        wheel.mkdir(parents=True, exist_ok=True)
        (wheel / "libnvrtc.so.12").touch()
        fake = self.file("fake_heddle", FAKE)
        fake.chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-B", ROOT / "tools/lib/nvrtc/check.py", "--folder", wheel.parents[1],
             "--heddle", fake, "--sample", "--arch", "sm_120", "12.6"], capture_output=True,
            text=True, timeout=100, check=False,
            env={**os.environ, "FAKE_NVRTC": json.dumps(play)})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_passes_where_all_is_well(self):
        self.assertIn("1 kernels compiled", self.check(0))

    def test_names_the_spec_that_crashes_the_compiler(self):
        text = self.check(1, crashes_on="w4a16-g128")
        self.assertIn("12.6.77 sm_120", text)
        self.assertIn("w4a16-g128: exit code -11", text)

    def test_allows_no_spills(self):
        self.assertIn("k spills 8 bytes", self.check(1, spills=8))

    def test_takes_an_architecture_that_the_version_lacks(self):
        line = "heddle: NVRTC 12.6 cannot compile for sm_120a; NVRTC 12.8 is the first that can"
        self.assertIn("12.8 is the first that has it", self.check(0, says=[line]))

    def test_wants_one_line_for_it(self):
        line = "heddle: NVRTC 12.6 cannot compile for sm_120a; NVRTC 12.8 is the first that can"
        self.assertIn("2 lines instead of one", self.check(1, says=[line, "   1 | source"]))

    def test_does_not_take_one_that_the_version_has(self):
        line = "heddle: NVRTC 12.6 cannot compile for sm_120a; NVRTC 12.4 is the first that can"
        self.assertIn("refused although 12.4 has it", self.check(1, says=[line]))

    def test_fails_for_a_source_that_is_refused(self):
        text = self.check(1, says=["heddle: NVRTC could not compile k", "k.cu(3): error: no"])
        self.assertIn("k.cu(3): error: no", text)


if __name__ == "__main__":
    unittest.main()
