"""heddle cache: list, verify, clear."""

import unittest

from command import CommandTest, inline

H200 = ("--target", "h200")


class CacheTest(CommandTest):

    def setUp(self):
        super().setUp()
        self.kernels = self.heddle_json("build", inline(), *H200)["kernels"]

    def entry_files(self):
        return sorted((self.folder / "cache").rglob("*.hdl"))

    def test_list(self):
        report = self.heddle_json("cache", "list")
        self.assertEqual(report["root"], str(self.folder / "cache"))
        self.assertEqual({entry["kernel"] for entry in report["entries"]},
                         {kernel["kernel"] for kernel in self.kernels})
        for entry in report["entries"]:
            self.assertEqual(entry["arch"], "sm_90a")
        text = self.heddle("cache", "list", check=0).out
        for kernel in self.kernels:
            self.assertIn(kernel["kernel"], text)

    def test_verify_and_heal(self):
        self.assertEqual(self.heddle_json("cache", "verify")["damaged"], 0)
        path = self.entry_files()[0]
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        report = self.heddle_json("cache", "verify", check=1)
        self.assertEqual(report["damaged"], 1)
        self.assertEqual(report["good"], len(self.kernels) - 1)
        self.assertIn(path.name, report["problems"][0]["file"])
        again = self.heddle_json("build", inline(), *H200)["kernels"]
        self.assertEqual([kernel["cache"] for kernel in again].count("miss"), 1)
        self.heddle("cache", "verify", check=0)

    def test_clear(self):
        self.assertEqual(self.heddle_json("cache", "clear")["removed"], len(self.kernels))
        self.assertEqual(self.entry_files(), [])
        self.assertEqual(self.heddle_json("cache", "list")["entries"], [])
        again = self.heddle_json("build", inline(), *H200)["kernels"]
        self.assertEqual({kernel["cache"] for kernel in again}, {"miss"})

    def test_folder_that_is_not_there(self):
        missing = self.folder / "nowhere"
        for part in ("list", "verify", "clear"):
            self.heddle("cache", part, "--cache", missing, check=0)
        self.assertFalse(missing.exists())

    def test_roots_that_are_of_no_use(self):
        file = self.file("file", "no folder")
        for command in ("list", "verify", "clear"):
            with self.subTest(command):
                line = self.problem("cache", command, "--cache", file, code=2)
                self.assertIn(str(file), line)
                self.assertIn("heddle bundle", line)
        self.assertEqual(file.read_text(), "no folder")

    def test_an_unknown_part_is_named(self):
        for command in ("cache", "bundle"):
            with self.subTest(command):
                self.assertIn("wibble", self.problem(command, "wibble", code=2))

    def test_needs_a_part(self):
        self.problem("cache", code=2)
        self.problem("cache", "wibble", code=2)


if __name__ == "__main__":
    unittest.main()
