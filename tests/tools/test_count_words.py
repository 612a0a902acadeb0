"""The documents together are short enough to be read; tools/count-words counts them."""

import subprocess
import sys
import unittest

from command import ROOT
from pages import pages

MOST_WORDS = 22000


def count(*arguments):
    return subprocess.run([sys.executable, "-B", ROOT / "tools/count-words", *map(str, arguments)],
                          capture_output=True, text=True, check=False)


class CountWordsTest(unittest.TestCase):

    def test_all_pages_together(self):
        done = count("--limit", MOST_WORDS)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_counts_as_wc_does(self):
        done = count()
        self.assertEqual(done.returncode, 0, done.stderr)
        *rows, total = [int(line.split()[0]) for line in done.stdout.splitlines()]
        counted = subprocess.run(["wc", "-w", *(page.path for page in pages())], capture_output=True,
                                 text=True, check=True, env={"LC_ALL": "C.UTF-8"}).stdout
        self.assertEqual([*rows, total], [int(line.split()[0]) for line in counted.splitlines()])

    def test_too_many_words_are_told(self):
        done = count("--limit", 10)
        self.assertEqual(done.returncode, 1)
        self.assertIn("more than 10", done.stderr)


if __name__ == "__main__":
    unittest.main()
