"""Manners with pipes, full disks, closed streams and terminals."""

import os
import pty
import signal
import subprocess
import unittest

from command import CommandTest, HEDDLE, ROOT, inline


class StreamTest(CommandTest):

    def bash(self, script):
        return subprocess.run(["bash", "-c", script, "bash", HEDDLE], capture_output=True,
                              cwd=ROOT, env=self.environment, timeout=300, text=True)

    def test_reader_that_has_seen_enough(self):
        done = self.bash('"$1" schema | head -1; echo "${PIPESTATUS[0]}" >&2')
        self.assertEqual(done.stdout, "{\n")
        self.assertIn(done.stderr, ("0\n", "141\n"))

    def into_closed_pipe(self, **options):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as output:
            return subprocess.run([HEDDLE, "schema"], stdout=output, stderr=subprocess.PIPE,
                                  env=self.environment, timeout=300, **options)

    def test_reader_gone(self):
        done = self.into_closed_pipe()
        self.assertEqual((done.returncode, done.stderr), (-signal.SIGPIPE, b""))

    def test_reader_gone_with_the_signal_ignored(self):
        # Python ignores SIGPIPE, and this passes it on: the write fails instead.
        done = self.into_closed_pipe(restore_signals=False)
        self.assertEqual((done.returncode, done.stderr), (1, b""))

    def test_full_disk(self):
        done = self.bash('"$1" schema > /dev/full')
        self.assertEqual(done.returncode, 1)
        self.assertIn("heddle: cannot write the output: No space left", done.stderr)

    def test_closed_output(self):
        done = self.bash('"$1" schema >&-')
        self.assertEqual(done.returncode, 1)
        self.assertIn("heddle: cannot write the output", done.stderr)

    def test_closed_errors_do_not_end_up_in_files(self):
        done = self.bash(f"exec \"$1\" build '{inline()}' --target h200 2>&- >&-")
        self.assertEqual(done.returncode, 1)
        again = self.heddle("cache", "verify", check=0)
        self.assertIn(" 0 damaged", again.out)

    def test_closed_input(self):
        done = self.bash('"$1" plan - --target h200 <&-')
        self.assertEqual(done.returncode, 2)
        self.assertIn("heddle: cannot read standard input", done.stderr)


class ProgressTest(CommandTest):

    def build_with(self, stderr):
        return subprocess.Popen([HEDDLE, "build", inline(), "--target", "h200"], cwd=ROOT,
                                stdout=subprocess.DEVNULL, stderr=stderr, env=self.environment)

    def test_plain_lines(self):
        err = self.heddle("build", inline(), "--target", "h200", check=0).err
        self.assertNotIn("\r", err)
        self.assertNotIn("\x1b", err)
        self.assertRegex(err, r"(?m)^\[1/\d+\] .*: compiled in \d+ ms$")
        # Hits are told of by the table alone.
        self.assertEqual(self.heddle("build", inline(), "--target", "h200", check=0).err, "")

    def test_one_line_on_a_terminal(self):
        parent, child = pty.openpty()
        process = self.build_with(child)
        os.close(child)
        seen = b""
        try:
            while chunk := os.read(parent, 4096):
                seen += chunk
        except OSError:
            pass  # how Linux tells that the other end is closed
        self.assertEqual(process.wait(), 0)
        os.close(parent)
        self.assertNotIn(b"\n", seen)
        self.assertIn(b"\r\x1b[K[1/", seen)
        self.assertTrue(seen.endswith(b"\r\x1b[K"))

    def test_json_is_quiet(self):
        done = self.heddle("build", inline(), "--target", "h200", "--json", check=0)
        self.assertEqual(done.err, "")


if __name__ == "__main__":
    unittest.main()
