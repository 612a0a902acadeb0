"""Commands and specs of the documents: those that need nothing but this machine are run."""

import json
import os
import pathlib
import re
import subprocess
import unittest

from command import CommandTest, HEDDLE, ROOT
from pages import NEEDS, SHELL, pages, read_page


def shell_blocks():
    return [block for page in pages() for block in page.blocks if block.language in SHELL]


class CommandsTest(CommandTest):

    def setUp(self):
        super().setUp()
        self.program = pathlib.Path(HEDDLE)
        example = self.program.parents[1] / "examples/decoder"
        self.environment["PATH"] = f"{self.program.parent}:{example}:{os.environ['PATH']}"

    def repository(self, name):
        """A folder that looks like the repository; what a page writes goes to its own build/."""
        place = self.folder / name
        place.mkdir()
        for entry in ROOT.iterdir():
            if not entry.name.startswith("build") and entry.name != ".git":
                (place / entry.name).symlink_to(entry)
        (place / "build").mkdir()
        (place / "build/release").symlink_to(self.program.parents[1])
        return place

    def test_needs_are_named_alike(self):
        for block in shell_blocks():
            with self.subTest(str(block)):
                self.assertLessEqual(set(block.words), set(NEEDS))

    def test_commands_run(self):
        """In the order of each page, so that a block finds what those before it wrote."""
        here = {"gpu"} if self.has_gpu() else set()
        places, ran = {}, 0
        for block in shell_blocks():
            if set(block.words) - here:
                continue
            place = places.setdefault(block.page, None) or self.repository(str(len(places)))
            places[block.page] = place
            with self.subTest(str(block)):
                done = subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], cwd=place,
                                      env=self.environment, capture_output=True, timeout=900,
                                      check=False)
                self.assertEqual(done.returncode, 0, block.text + done.stderr.decode()[:2000])
                self.assertTrue(done.stdout, f"{block.text}prints nothing")
                ran += 1
        self.assertGreaterEqual(ran, 10)

    def test_commands_that_do_not_run_here_are_right(self):
        """Their syntax, scripts that exist, and options that the command has."""
        helps = {}
        for block in shell_blocks():
            with self.subTest(str(block)):
                subprocess.run(["bash", "-n", "-c", block.text], check=True)
                for script in re.findall(r"(?m)(?:^|[\s|;&])(tools/[\w-]+)", block.text):
                    self.assertTrue(os.access(ROOT / script, os.X_OK), f"{script} is no program")
                for call in self.calls(block.text):
                    self.check_options(call, helps)

    @staticmethod
    def calls(text):
        """What follows the word heddle where it is a command, up to the end of the command.

        Commands of `python -m heddle` are its own: python/tests look at them.
        """
        joined = text.replace("\\\n", " ")
        return re.findall(r"(?m)(?:^|(?<!-m)[\s/|;&(])heddle ([a-z-][^|;&>#\n]*)", joined)

    def check_options(self, call, helps):
        words = call.split(" -- ")[0].split()
        end = 2 if words[0] in ("bundle", "cache") and len(words) > 1 else 1
        name = tuple(words[:end])
        if name not in helps:
            helps[name] = self.heddle(*name, "--help", check=0).out
        for word in words[end:]:
            option = word.partition("=")[0]
            if re.fullmatch(r"--?[a-z][\w-]*", option):
                self.assertRegex(helps[name], rf"(?<![\w-]){option}(?![\w-])",
                                 f"heddle {' '.join(name)} has no {option}")

    def test_finds_an_option_that_is_not_there(self):
        for text in ("heddle build x.json --tragets h200\n", "x | heddle cache list --mu"):
            [call] = self.calls(text)
            with self.assertRaises(AssertionError):
                self.check_options(call, {})
        self.check_options(*self.calls("heddle build - --target h200 > x"), {})

    def test_specs_are_accepted(self):
        """JSON is well formed, alone or as members of an object; whole specs are planned."""
        for block in [block for page in pages() for block in page.blocks if block.language == "json"]:
            with self.subTest(str(block)):
                try:
                    document = json.loads(block.text)
                except json.JSONDecodeError:
                    document = json.loads("{" + block.text.strip().rstrip(",") + "}")
                if isinstance(document, dict) and {"heddle", "op"} <= document.keys():
                    self.heddle("plan", block.text, "--target", "h200", check=0)

    def test_readme_shows_every_subcommand(self):
        page = read_page(ROOT / "README.md")
        shown = {call.split()[0] for block in page.blocks if block.language in SHELL
                 for call in self.calls(block.text)}
        listed = self.heddle("--help", check=0).out.split("Subcommands:\n")[1].split("\n\n")[0]
        named = " ".join([page.text, *(block.text for block in page.blocks)])
        for name in re.findall(r"^  (\S+)", listed, re.M):
            self.assertRegex(named, rf"heddle {name}\b")
        self.assertLessEqual({"build", "render", "plan", "run"}, shown)


if __name__ == "__main__":
    unittest.main()
