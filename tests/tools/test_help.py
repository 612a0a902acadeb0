"""--help of every command, and the command line itself."""

import re
import unittest

from command import ROOT, CommandTest

COMMANDS = ["build", "render", "plan", "explain", "inspect", "schema", "targets", "models", "run", "bench",
            "tune", "cache", "bundle", "record", "doctor", "repack", "dequantize", "size", "help", "version"]
DASHED = ["sample-model"]
COMPILING = ["build", "explain", "inspect", "run", "bench", "tune"]
WITH_TARGET = ["build", "render", "plan", "explain", "inspect"]
PLANNING = [*COMPILING, "render", "plan"]


class HelpTest(CommandTest):

    def help(self, *words):
        return self.heddle(*words, "--help", check=0).out

    def test_top_names_every_command(self):
        listed = re.findall(r"^  ([\w-]+) ", self.help().split("Subcommands:")[1], re.M)
        self.assertEqual([name for name in listed if "-" not in name], COMMANDS)
        self.assertEqual([name for name in listed if "-" in name], DASHED)

    def test_every_command_has_an_example_of_itself(self):
        for command in COMMANDS + DASHED:
            with self.subTest(command):
                text = self.help(command)
                self.assertIn(f"  heddle {command}", text.split("Example:")[1])
                self.assertIn(f"heddle {command}", text.splitlines()[1])

    def test_every_command_takes_json(self):
        # record's output is another program's, help's is text.
        for words in [[c] for c in COMMANDS + DASHED
                      if c not in ("cache", "bundle", "record", "help")] + [
                ["cache", part] for part in ("list", "verify", "clear")] + [
                ["bundle", part] for part in ("create", "list", "verify", "extract")]:
            with self.subTest(words):
                self.assertIn("--json", self.help(*words))

    def test_options_of_those_that_compile(self):
        for command in COMPILING:
            with self.subTest(command):
                text = self.help(command)
                for option in ("--cache", "--jobs"):
                    self.assertIn(option, text)
        for command in WITH_TARGET:
            self.assertIn("--target", self.help(command))
        for words in [[c] for c in PLANNING] + [["bundle", "create"]]:
            self.assertIn("--tuned", self.help(*words))

    def test_what_others_call_it_is_answered_with_words_of_heddle(self):
        rows = []
        for path, start in (("generator/spec/near_miss.cc", "kOtherNames[] = {"),
                            ("tools/heddle/shared/command_line.cc", "kOtherWords[] = {")):
            text = (ROOT / path).read_text(encoding="utf-8")
            table = text.split(start)[1].split("\n};")[0]
            found = re.findall(r'\{"([a-z0-9*]+)", \{([^}]*)\}\},', table)
            self.assertEqual(len(found), len(re.findall(r'^    \{"', table, re.M)))
            rows += found
        words = set(re.findall(r'"(\w+)"', self.heddle("schema", check=0).out))
        for target in self.heddle_json("targets")["targets"]:
            words |= {target["name"], f"sm_{target['arch']}"}
        for command in COMMANDS + DASHED:
            words |= {command, *re.findall(r"--([a-z-]+)", self.help(command))}
        for name, means in rows:
            for word in re.findall(r'"([^"]*)"', means):
                self.assertIn(word, words, name)

    def test_version(self):
        text = self.heddle("--version", check=0).out
        self.assertRegex(text, r"^heddle \d+\.\d+\.\d+\n$")
        for words in (("-V",), ("version",)):
            self.assertEqual(self.heddle(*words, check=0).out, text)
        self.assertEqual("heddle " + self.heddle_json("version")["version"] + "\n", text)

    def test_help_is_a_command_too(self):
        self.assertEqual(self.heddle("help", check=0).out, self.help())
        for words in [[c] for c in COMMANDS + DASHED] + [["bundle", "create"]]:
            with self.subTest(words):
                self.assertEqual(self.heddle("help", *words, check=0).out, self.help(*words))
        self.assertIn('did you mean "build"?', self.problem("help", "bulid", code=2))
        self.assertIn('did you mean "list"?', self.problem("help", "cache", "lst", code=2))


class CommandLineTest(CommandTest):

    def test_no_command(self):
        self.assertIn("--help", self.problem(code=2))

    def test_unknown_command(self):
        self.assertIn("wibble", self.problem("wibble", code=2))

    def test_the_nearest_command_and_option_are_offered(self):
        for words, meant in ((("bulid", "x"), "build"), (("compile",), "build"),
                             (("benchmark",), "bench"), (("cache", "clean"), "clear"),
                             (("build", "x", "--targets", "h200"), "--target"),
                             (("build", "x", "--gpu=h200"), "--target"),
                             (("build", "--targets", "h200"), "--target"),
                             (("plan", "-", "--json", "--tunde", "x"), "--tuned"),
                             (("bundle", "create", "--spec", "x", "-o", "y"), "--specs")):
            with self.subTest(words):
                line = self.problem(*words, code=2)
                self.assertIn(f'(did you mean "{meant}"?)', line)
                self.assertIn("see heddle", line)
        self.assertNotIn("did you mean", self.problem("wibble", code=2))

    def test_unknown_option_of_every_command(self):
        for command in COMMANDS:
            with self.subTest(command):
                words = [command, "list"] if command in ("cache", "bundle") else [command]
                if command not in ("schema", "targets", "models", "cache", "record", "doctor",
                                   "version"):
                    words.append("-")
                if command in ("repack", "dequantize"):
                    words += ["-o", "out"]
                words.append("--wibble")
                if command == "record":  # what comes later is the other program's
                    words += ["-o", "out", "true"]
                line = self.problem(*words, code=2)
                self.assertIn("--wibble", line)
                self.assertIn(f"heddle {command}", line)

    def test_missing_argument(self):
        for command in ("build", "render", "plan", "explain", "inspect", "run", "bench", "tune"):
            with self.subTest(command):
                self.problem(command, code=2)

    def test_tune_measures_a_model_or_costs(self):
        self.assertIn("--calibrate", self.problem("tune", code=2))
        for words in (("-",), ("--m", "1-16"), ("--most", "3")):
            self.assertIn("--calibrate", self.problem("tune", "--calibrate", *words, code=2))

    def test_bad_values(self):
        self.problem("build", "-", "--jobs", "0", code=2)
        self.problem("build", "-", "--jobs", "many", code=2)
        self.problem("render", "-", "--m", "-3", code=2)
        self.problem("render", "-", "--m", "1", "--all", code=2)
        self.problem("bench", "-", "--ms", "0", code=2)
        self.problem("explain", "-", "--most", "0", code=2)
        self.problem("tune", "-", "--budget", "0s", code=2)
        self.problem("tune", "-", "--budget", "1 day", code=2)
        self.problem("tune", "-", "--m", "16-1", code=2)
        self.problem("tune", "-", "--m", "1,16", code=2)
        self.problem("tune", "--calibrate", "--budget", "0s", code=2)
        self.problem("bench", "-", "--rest", "-1", code=2)
        self.problem("bench", "-", "--sweep", "--chain", code=2)
        self.problem("bench", "-", "--baseline", "wibble", code=2)
        self.problem("run", "-", "--m", "1,x", code=2)
        self.problem("run", "-", "--m", "99999999999999999999", code=2)


if __name__ == "__main__":
    unittest.main()
