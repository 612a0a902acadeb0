"""What docs/deployment.md and docs/formats.md say of bundles."""

import re
import unittest

from command import CommandTest, ROOT


class BundlePagesTest(CommandTest):

    def test_every_part_of_the_command_is_shown(self):
        page = (ROOT / "docs/deployment.md").read_text()
        for part in ("create", "list", "verify", "extract", "merge"):
            self.assertIn(f"bundle {part}", page)
        known = self.heddle("bundle", "create", "--help", check=0).out
        for option in set(re.findall(r"`?heddle bundle create [^`\n]*", page)):
            for name in re.findall(r"--[a-z][a-z-]+", option):
                self.assertIn(name, known, option)

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
