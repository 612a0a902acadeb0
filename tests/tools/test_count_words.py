"""The documents together are short enough to be read; tools/count-words counts them."""

import runpy
import subprocess
import sys
import unittest

from command import ROOT
from pages import pages

# 22,000; 800 for docs/pytorch.md, whose readers run models in PyTorch and read none of the others;
# 1,000 for activations of eight bits and checkpoints of them, which came later; and 800 for weights
# of four bits that they are multiplied by, and for GPUs without wgmma; 100 for Y of eight bits; 450
# for the page on which who has such a model finds all of them; and 200 for what newcomers looked for
# and did not find: a model to try all on, the environment variables in one table, a schema for
# editors; 250 for layers of experts, and for several GPUs; 500 for what experts may have: shared ones, orders
# of columns, ranks that share them, results by how they are chosen; and for batches that do not matter.
MOST_WORDS = 26250
WORDS = runpy.run_path(str(ROOT / "tools/count-words"))["words"]


def count(*arguments):
    return subprocess.run([sys.executable, "-B", ROOT / "tools/count-words", *map(str, arguments)],
                          capture_output=True, text=True, check=False)


class CountWordsTest(unittest.TestCase):

    def test_all_pages_together(self):
        done = count("--limit", MOST_WORDS)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_total_is_the_sum_of_the_pages(self):
        done = count()
        self.assertEqual(done.returncode, 0, done.stderr)
        *rows, total = [(int(line.split()[0]), line.split()[1]) for line in done.stdout.splitlines()]
        self.assertEqual([name for _, name in rows],
                         [str(page.path.relative_to(ROOT)) for page in pages()])
        self.assertEqual(total[0], sum(words for words, _ in rows))

    def test_words_hold_a_letter_or_a_digit(self):
        for text, words in (("", 0), ("one two", 2), ("one\n\ntwo", 2), ("W[N,K] = 2", 2), ("# A - b", 2),
                            ("`--m 1`", 2), ("größer µs", 2), ("=> != ...", 0)):
            with self.subTest(text):
                self.assertEqual(WORDS(text), words)

    def test_borders_of_tables_do_not_count(self):
        narrow = "|a|b c|\n|--|--:|\n|1|2 (3)|\n"
        wide = "| a | b c |\n| --- | ---: |\n| 1 | 2 (3) |\n"
        self.assertEqual(WORDS(narrow), 6)
        self.assertEqual(WORDS(wide), WORDS(narrow))

    def test_too_many_words_are_told(self):
        done = count("--limit", 10)
        self.assertEqual(done.returncode, 1)
        self.assertIn("more than 10", done.stderr)


if __name__ == "__main__":
    unittest.main()
