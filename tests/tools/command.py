"""Runs the heddle command for the tests of this folder."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEDDLE = str(pathlib.Path(os.environ.get("HEDDLE_COMMAND",
                                         ROOT / "build/release/bin/heddle")).resolve())

SPEC = {
    "heddle": 1,
    "op": "gemm",
    "name": "small",
    "shape": {"n": 256, "k": 512, "m": [1, 16]},
    "weight": {"bits": 4, "type": "uint", "group_size": 128},
    "activation": {"dtype": "fp16"},
}


def inline(**changes):
    """The small spec as JSON text, with some of its members replaced; None removes one."""
    spec = {**SPEC, **changes}
    return json.dumps({key: value for key, value in spec.items() if value is not None})


class CommandTest(unittest.TestCase):
    """Each test has a folder of its own, which is also home and cache of the command."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="heddle-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = {
            **os.environ,
            "HOME": str(self.folder),
            "HEDDLE_CACHE": str(self.folder / "cache"),
        }

    def heddle(self, *arguments, stdin=b"", check=None):
        """Runs the command; `check` is the exit code that it must have."""
        done = subprocess.run([HEDDLE, *map(str, arguments)], input=stdin, capture_output=True,
                              cwd=ROOT, env=self.environment, timeout=300)
        done.out = done.stdout.decode()
        done.err = done.stderr.decode()
        if check is not None:
            self.assertEqual(done.returncode, check, (arguments, done.err[:2000]))
        # A crash is never right, whatever the test expects.
        self.assertGreaterEqual(done.returncode, 0, (arguments, done.err[:2000]))
        return done

    def heddle_json(self, *arguments, check=0):
        return json.loads(self.heddle(*arguments, "--json", check=check).out)

    def problem(self, *arguments, code, stdin=b""):
        """Runs a command that must fail with `code` and one line; returns the line."""
        done = self.heddle(*arguments, stdin=stdin, check=code)
        lines = done.err.splitlines()
        self.assertEqual(len(lines), 1, done.err[:2000])
        self.assertTrue(lines[0].startswith("heddle: "), lines[0])
        self.assertTrue(lines[0].isprintable(), lines[0])
        self.assertEqual(done.out, "")
        return lines[0]

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def has_gpu(self):
        return self.heddle("targets", "--device").returncode == 0

    def need_gpu(self):
        if not self.has_gpu():
            self.skipTest("needs a GPU, and this machine has none")
