"""Environment variables: every one that is read is in the table of docs/deployment.md."""

import re
import unittest

from command import CommandTest, ROOT, inline
from pages import read_page

PAGE = ROOT / "docs/deployment.md"
# What is in the library, the command and the Python package.
FOLDERS = ("cache", "checkpoint", "generator", "runtime", "tools/heddle", "tools/tune",
           "tools/sample_model", "tools/gpu_harness", "python/heddle", "python/src")
# A name that a function of the environment is given.
READ = re.compile(r"""(?:getenv|environment_?|environ(?:\.get)?)\s*[(\[]\s*["'](\w+)["']""")
# A name of Heddle's own as a word of its own, whatever takes it.
OWN = re.compile(r"""["']\$?(HEDDLE_[A-Z_]+)["']""")


def variables(text):
    return {*READ.findall(text), *OWN.findall(text)}


def variables_of_the_sources():
    found = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".cc", ".h", ".py"):
                for name in variables(path.read_text()):
                    found.setdefault(name, path.relative_to(ROOT))
    return found


def variables_of_the_table():
    text = read_page(PAGE).text.split("## Environment variables\n")[1].split("\n## ")[0]
    return {name for row in re.findall(r"(?m)^\| ([^|]+) \|", text)
            for name in re.findall(r"`([A-Z_]+)`", row)}


class EnvironmentTest(CommandTest):

    def test_every_variable_is_in_the_table(self):
        read = variables_of_the_sources()
        self.assertGreaterEqual(len(read), 8)
        table = variables_of_the_table()
        for name, path in read.items():
            self.assertIn(name, table, f"{path} reads it; {PAGE.relative_to(ROOT)} lacks it")
        self.assertEqual(table - read.keys(), set(), "in the table, but nothing reads it")

    def test_finds_every_way_to_read_one(self):
        for text in ('process_environment("SOME_NAME")', 'environment_("SOME_NAME")',
                     'std::getenv("SOME_NAME")', 'os.environ["SOME_NAME"]',
                     "os.environ.get('SOME_NAME', 1)", 'os.getenv("SOME_NAME")'):
            self.assertEqual(variables(text), {"SOME_NAME"}, text)
        self.assertEqual(variables('read_it("HEDDLE_SOMETHING")'), {"HEDDLE_SOMETHING"})
        self.assertEqual(variables("HEDDLE_NVRTC_DIR of the build"), set())


class LogTest(CommandTest):
    """HEDDLE_LOG: what the command says on standard error."""

    BUILD = ("build", inline(), "--target", "h200", "--json")

    def lines(self, level):
        if level is not None:
            self.environment["HEDDLE_LOG"] = level
        return self.heddle(*self.BUILD, check=0).err.splitlines()

    def test_level(self):
        self.assertEqual(self.lines(None), [])
        self.environment["HEDDLE_CACHE"] = str(self.folder / "second")
        compiled = [line for line in self.lines("info") if "compiled heddle_gemm" in line]
        self.assertTrue(compiled)
        self.assertEqual(self.lines("debug"), [], "the cache has them")
        self.environment["HEDDLE_CACHE"] = str(self.folder / "third")
        self.assertEqual(self.lines("warning"), [])

    def test_off_and_warnings(self):
        self.environment["HEDDLE_CACHE"] = str(self.file("no-folder", ""))
        for level, told in ((None, True), ("warning", True), ("error", False), ("off", False)):
            self.environment.pop("HEDDLE_LOG", None)
            if level is not None:
                self.environment["HEDDLE_LOG"] = level
            done = self.heddle("inspect", inline(), "--target", "h200", "--m", "1", check=0)
            self.assertEqual("no-folder" in done.err, told, (level, done.err))

    def test_a_level_that_is_none(self):
        self.environment["HEDDLE_LOG"] = "wraning"
        for command in ("build", "plan", "inspect", "render", "explain"):
            line = self.problem(command, inline(), "--target", "h200", code=2)
            self.assertIn("HEDDLE_LOG", line)
            self.assertIn('did you mean "warning"?', line)


if __name__ == "__main__":
    unittest.main()
