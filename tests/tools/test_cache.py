"""heddle cache: list, verify, clear."""

import os
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

    def test_list_names_what_it_cannot_read(self):
        cut, closed = self.entry_files()[:2]
        cut.write_bytes(cut.read_bytes()[:40])
        closed.write_bytes(b"no entry")
        done = self.heddle("cache", "list", check=0)
        self.assertIn(f"2 cannot be read, {len(self.kernels) - 2} entries", done.out)
        for path in (cut, closed):
            self.assertRegex(done.err, rf"heddle: \S*{path.name}: \w")
        report = self.heddle_json("cache", "list")
        self.assertEqual(len(report["entries"]), len(self.kernels) - 2)
        self.assertEqual({entry["file"].split("/")[-1] for entry in report["unreadable"]},
                         {cut.name, closed.name})
        self.assertTrue(all(entry["why"] for entry in report["unreadable"]))

    def test_layers_that_are_only_read_are_no_folder_to_list(self):
        layers = f"ro:{self.folder / 'cache'}"
        line = self.problem("cache", "list", "--cache", layers, code=2)
        self.assertIn("name a folder without ro:", line)
        self.assertNotIn("writable", line)

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
        """To a list and to clear it is empty. A check of it would have checked nothing."""
        missing = self.folder / "nowhere"
        for part in ("list", "clear"):
            self.heddle("cache", part, "--cache", missing, check=0)
        self.assertIn(str(missing), self.problem("cache", "verify", "--cache", missing, code=2))
        self.assertIn("heddle bundle",
                      self.problem("cache", "verify", "--cache", f"{missing}.hdl", code=2))
        self.environment["HEDDLE_CACHE"] = str(missing)
        self.assertIn(str(missing), self.problem("cache", "verify", code=2))
        del self.environment["HEDDLE_CACHE"]
        self.environment["XDG_CACHE_HOME"] = str(missing)  # where the default is made when needed
        self.heddle("cache", "verify", check=0)
        self.assertFalse(missing.exists())

    def test_roots_that_are_of_no_use(self):
        file = self.file("file", "no folder")
        for command in ("list", "verify", "clear"):
            with self.subTest(command):
                line = self.problem("cache", command, "--cache", file, code=2)
                self.assertIn(str(file), line)
                self.assertIn("heddle bundle", line)
        self.assertEqual(file.read_text(), "no folder")

    def build_without_cache(self, *more, check):
        """Another spec than that of setUp(), so that nothing of it is in memory or on disk."""
        return self.heddle("build", inline(shape={"n": 128, "k": 512, "m": [1, 1]}), *H200, *more,
                           check=check)

    def test_a_named_cache_that_is_of_no_use(self):
        file = self.file("file", "no folder")
        link = self.folder / "link"
        link.symlink_to(self.folder / "cache")
        open_to_all = self.folder / "open"
        open_to_all.mkdir()
        open_to_all.chmod(0o777)
        absent = self.folder / "absent.hdl"
        places = [file, file / "below", link, open_to_all, "/proc", f"ro:{absent}",
                  f"ro:{self.folder}/absent", f"rw:{self.folder}/fine:ro:{file}"]
        if os.geteuid() == 0:
            other = self.folder / "other"
            other.mkdir()
            os.chown(other, 65534, 65534)
            places.append(other)
        for place in places:
            for command in ("build", "inspect"):
                with self.subTest(place=place, command=command):
                    line = self.problem(command, inline(), *H200, "--cache", place, code=2)
                    self.assertIn("cannot use the cache ", line)
        self.assertIn("is empty", self.problem("build", inline(), *H200, "--cache", "", code=2))

    def test_a_named_cache_that_is_made(self):
        self.build_without_cache("--cache", self.folder / "new" / "deep", check=0)
        self.assertEqual(self.heddle_json("cache", "verify", "--cache",
                                          self.folder / "new" / "deep")["good"], 1)
        self.assertEqual(list((self.folder / "new").rglob("*.tmp")), [])

    def test_what_is_not_stored_is_a_failure(self):
        """The cache of the environment is not asked for by name: a warning, and exit code 1."""
        self.environment["HEDDLE_CACHE"] = str(self.file("file", "no folder"))
        done = self.build_without_cache(check=1)
        self.assertIn("not a folder", done.err)
        self.assertIn("1 of 1 kernels were compiled but not stored", done.err)
        self.assertIn("1 compiled", done.out)
        del self.environment["HEDDLE_CACHE"]
        self.environment.pop("XDG_CACHE_HOME", None)
        self.environment["HOME"] = ""
        self.assertIn("not stored", self.build_without_cache(check=1).err)

    def test_an_unknown_part_is_named(self):
        for command in ("cache", "bundle"):
            with self.subTest(command):
                self.assertIn("wibble", self.problem(command, "wibble", code=2))

    def test_needs_a_part(self):
        self.problem("cache", code=2)
        self.problem("cache", "wibble", code=2)


if __name__ == "__main__":
    unittest.main()
