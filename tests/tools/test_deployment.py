"""docs/deployment.md: its commands, copied out of it and run; its links and those of docs/formats.md."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

from command import CommandTest, HEDDLE, ROOT

PAGES = {name: (ROOT / "docs" / name).read_text() for name in ("deployment.md", "formats.md")}


def commands():
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGES["deployment.md"], re.M | re.S)
    return [line for block in blocks for line in block.splitlines()]


def anchors(text):
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in titles}


class DeploymentTest(CommandTest):

    def test_commands(self):
        """In the order of the page: a later one may need what an earlier one wrote."""
        work = self.folder / "work"
        (work / "build").mkdir(parents=True)
        shutil.copytree(ROOT / "examples", work / "examples")
        environment = {**self.environment,
                       "PATH": f"{pathlib.Path(HEDDLE).parent}:{os.environ['PATH']}"}
        self.assertGreaterEqual(len(commands()), 7)
        for line in commands():
            with self.subTest(line):
                done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", line], cwd=work,
                                      env=environment, capture_output=True, timeout=600)
                self.assertEqual(done.returncode, 0, done.stderr.decode()[:2000])
                self.assertTrue(done.stdout)

    def test_every_part_of_the_command_is_shown(self):
        page = PAGES["deployment.md"]
        for part in ("create", "list", "verify", "extract", "merge"):
            self.assertIn(f"bundle {part}", page)
        known = self.heddle("bundle", "create", "--help", check=0).out
        for option in set(re.findall(r"`?heddle bundle create [^`\n]*", page)):
            for name in re.findall(r"--[a-z][a-z-]+", option):
                self.assertIn(name, known, option)

    def test_links(self):
        for name, page in PAGES.items():
            for file, anchor in re.findall(r"\]\(([\w./-]*)(?:#([\w-]+))?\)", page):
                target = ROOT / "docs" / (file or name)
                self.assertTrue(target.exists(), (name, file))
                if anchor:
                    self.assertIn(anchor, anchors(target.read_text()), (name, file))
            for path in re.findall(r"`((?:docs|examples|tools)/[\w./-]+)`", page):
                self.assertTrue((ROOT / path).exists(), path)

    def test_a_reader_made_from_the_page_reads_a_bundle(self):
        """The offsets that docs/formats.md has, without a line of Heddle's own."""
        bundle = self.folder / "model.hdl"
        spec = ROOT / "examples/specs/symmetric-g128.json"
        self.heddle("bundle", "create", "--specs", spec, "--targets", "h200", "-o", bundle, check=0)
        data = bundle.read_bytes()

        def number(at, size=8):
            return int.from_bytes(data[at:at + size], "little")

        self.assertEqual(data[:8], bytes.fromhex("89 48 44 42 0d 0a 1a 0a"))
        self.assertEqual((number(8, 4), number(16)), (3, len(data)))
        count, blocks = number(24), number(12, 4)
        listed = {entry["key"]: entry
                  for entry in self.heddle_json("bundle", "list", bundle)["entries"]}
        self.assertEqual(len(listed), count)
        ends = []
        for item in range(48, 48 + 64 * count, 64):
            entry = listed[data[item:item + 16].hex() + "-" + data[item + 16:item + 32].hex()]
            at, length = number(item + 32), number(item + 40)
            ends.append(at + length)
            self.assertEqual(number(item + 56), entry["ptx_bytes"])
            self.assertEqual(data[at:at + 8], bytes.fromhex("89 48 44 4c 0d 0a 1a 0a"))
            self.assertEqual((number(at + 8, 4), number(at + 16)), (2, length))
            self.assertEqual(number(at + 64), number(item + 48))
            self.assertEqual(number(at + 72), entry["cubin_bytes"])
            name = at + 128 + number(at + 88)
            self.assertEqual(data[name + 4:name + 4 + number(name, 4)].decode(), entry["kernel"])
        items = [48 + 64 * count + 48 * i for i in range(blocks)]
        self.assertEqual([number(item + 16, 4) for item in items], [1, 2, 4])
        for item in items:
            self.assertEqual(number(item + 32), ends[-1])
            ends.append(number(item + 32) + number(item + 40))
        self.assertEqual(ends[-1], len(data))


if __name__ == "__main__":
    unittest.main()
