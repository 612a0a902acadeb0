"""heddle bundle: tuned tables that come with kernels, and bundles that are merged."""

import json
import unittest

from bundle_case import BundleCase
from command import inline


class BundleTablesTest(BundleCase):

    def test_merge(self):
        first = self.create(targets="sm_80,h200").rename(self.folder / "first.hdl")
        second = self.create(targets="h200,h100").rename(self.folder / "second.hdl")
        both = self.folder / "both.hdl"
        report = self.heddle_json("bundle", "merge", first, second, "-o", both)
        whole = self.create(targets="sm_80,h100,h200")
        self.assertEqual(both.read_bytes(), whole.read_bytes())
        self.assertEqual(report["kernels"],
                         len(self.heddle_json("bundle", "list", whole)["entries"]))
        self.assertIn(".hdl", self.problem("bundle", "merge", first, "-o", self.folder / "x",
                                           code=2))
        self.problem("bundle", "merge", first, self.folder / "absent.hdl", "-o", both, code=2)

    def test_merge_refuses_what_is_damaged(self):
        bundle = self.create(targets="sm_80")
        content = bytearray(bundle.read_bytes())
        content[content.index(b"\x89HDL", 48) + 200] ^= 1
        bundle.write_bytes(content)
        both = self.folder / "both.hdl"
        done = self.heddle("bundle", "merge", bundle, "-o", both, check=2)
        self.assertIn("wrong checksum", done.err)
        self.assertFalse(both.exists())

    def test_merge_of_tables(self):
        table, kernels = self.slowest_table()
        own = self.create("--tuned", table, targets="h100").rename(self.folder / "own.hdl")
        plain = self.create(targets="sm_80").rename(self.folder / "plain.hdl")
        both = self.folder / "both.hdl"
        tables = self.heddle_json("bundle", "merge", plain, own, "-o", both)["tables"]
        self.assertEqual([table["gpu"] for table in tables], ["h100"])
        found = json.loads(self.strict_build(both).out)["kernels"]
        self.assertEqual({kernel["kernel"] for kernel in found}, kernels)
        self.environment["HEDDLE_CACHE"] = str(self.folder / "cache")
        none = self.create("--tuned", "none", targets="h100").rename(self.folder / "none.hdl")
        other = self.folder / "other.hdl"
        done = self.heddle("bundle", "merge", none, own, "-o", other, check=1)
        self.assertIn("contradict", done.err)
        self.assertIn("none.hdl", done.err)
        document = json.loads(table.read_text())
        rows = self.heddle_json("explain", inline(), "--target", "h100", "--m", 16)
        document["entries"][0]["kernel"] = next(
            row["kernel"] for row in rows["explanations"][0]["rows"]
            if row["family"] == document["entries"][0]["family"]
            and row["kernel"] != document["entries"][0]["kernel"])
        second = self.create("--tuned", self.file("second.json", json.dumps(document)),
                             targets="h100").rename(self.folder / "second.hdl")
        done = self.heddle("bundle", "merge", own, second, "-o", other, check=1)
        self.assertIn("different kernels for n = 256, k = 512", done.err)
        self.assertFalse(other.exists())

    def test_merge_refuses_entries_that_replan_the_others_kernels(self):
        """Entries serve every epilogue of their format, N and K."""
        table, kernels = self.slowest_table()
        own = self.create("--tuned", table, targets="h100").rename(self.folder / "own.hdl")
        both = self.folder / "both.hdl"
        residual = inline(epilogue={"residual": True})
        other = inline(shape={"n": 512, "k": 512, "m": [1, 16]}, epilogue={"residual": True})
        channel = inline(weight={"bits": 4, "type": "uint", "group_size": -1})
        bundles = {}
        for name, spec in (("residual", residual), ("other", other), ("channel", channel)):
            bundles[name] = self.folder / f"{name}.hdl"
            self.heddle("bundle", "create", "--specs", spec, "--targets", "h100", "-o",
                        bundles[name], check=0)
        for order in ((own, bundles["residual"]), (bundles["residual"], own)):
            done = self.heddle("bundle", "merge", *order, "-o", both, check=1)
            self.assertRegex(done.err, "residual.hdl has kernels for h100 of n = 256, k = 512")
            self.assertNotIn("own.hdl has", done.err)
            self.assertFalse(both.exists())
        self.heddle("bundle", "merge", own, bundles["other"], bundles["channel"], "-o", both,
                    check=0)
        found = json.loads(self.strict_build(both).out)["kernels"]
        self.assertEqual({kernel["kernel"] for kernel in found}, kernels)
        for spec in (other, channel):
            self.heddle("build", spec, "--target", "h100", "--strict", check=0)

    def test_strict_finds_what_was_planned_with_a_table(self):
        table, kernels = self.slowest_table()
        for arguments, variable, lists in ((("--tuned", table), None, "with the shipped table"),
                                           (("--tuned", f"none:{table}"), "/wibble", "alone"),
                                           ((), str(table), "by the environment")):
            with self.subTest(lists):
                self.environment["HEDDLE_CACHE"] = str(self.folder / "cache")
                self.environment["HEDDLE_TUNED"] = variable or ""
                bundle = self.create(*arguments, targets="h100,sm_80")
                entries = self.heddle_json("bundle", "list", bundle)
                self.assertEqual([table["gpu"] for table in entries["tables"]], ["h100"])
                self.environment["HEDDLE_TUNED"] = ""
                found = json.loads(self.strict_build(bundle).out)["kernels"]
                self.assertEqual({kernel["kernel"] for kernel in found}, kernels)
                self.environment["HEDDLE_TUNED"] = "none"
                self.strict_build(bundle, check=1)
        text = self.heddle("bundle", "list", bundle, check=0).out
        self.assertRegex(text, "tuned table of h100, [0-9]+ entries")

    def test_strict_finds_what_was_planned_with_no_table(self):
        """A spec that the shipped table has: without being told, it would be used."""
        spec = inline(shape={"n": 4096, "k": 4096, "m": [1, 64]},
                      weight={"bits": 8, "type": "uint", "group_size": 128})
        bundle = self.folder / "model.hdl"
        self.heddle("bundle", "create", "--specs", spec, "--targets", "h100", "--tuned", "none",
                    "-o", bundle, check=0)
        self.assertEqual(self.heddle_json("bundle", "list", bundle)["tables"],
                         [{"gpu": "h100", "entries": 0, "costs": []}])
        render = ("render", spec, "--target", "h100", "--all")
        shipped = self.heddle(*render, check=0).out
        self.environment["HEDDLE_CACHE"] = f"ro:{bundle}"
        self.assertNotEqual(self.heddle(*render, check=0).out, shipped)
        self.heddle("build", spec, "--target", "h100", "--strict", check=0)
        self.environment["HEDDLE_TUNED"] = "none"
        self.heddle("build", spec, "--target", "h100", "--strict", check=0)

    def test_without_tables_nothing_changes(self):
        plain = self.create(targets="sm_80").read_bytes()
        table, _ = self.slowest_table()
        self.assertEqual(self.create("--tuned", table, targets="sm_80").read_bytes(), plain)
        report = self.heddle_json("bundle", "list", self.folder / "model.hdl")
        self.assertEqual(report["tables"], [])

    def test_tables_are_extracted(self):
        table, kernels = self.slowest_table()
        bundle = self.create("--tuned", f"none:{table}", targets="h100")
        done = self.heddle("bundle", "extract", bundle, "-o", self.folder / "root", check=0)
        self.assertIn("--tables", done.err)
        tables = self.folder / "more/tables"
        report = self.heddle_json("bundle", "extract", bundle, "-o", self.folder / "root",
                                  "--tables", tables)
        self.assertEqual(report["tables"], [str(tables / "h100.json")])
        self.environment["HEDDLE_CACHE"] = f"ro:{self.folder}/root"
        self.environment["HEDDLE_TUNED"] = f"none:{tables}/h100.json"
        found = self.heddle_json("build", inline(), "--target", "h100", "--strict")["kernels"]
        self.assertEqual({kernel["kernel"] for kernel in found}, kernels)
        blocked = self.file("blocked", "")
        self.assertIn(str(blocked), self.problem("bundle", "extract", bundle, "-o",
                                                 self.folder / "root", "--tables", blocked, code=2))

    def test_damaged_tables(self):
        table, _ = self.slowest_table()
        bundle = self.create("--tuned", table, targets="h100")
        content = bytearray(bundle.read_bytes())
        [at, stored] = self.block(content, kind=3)
        content[at + stored - 2] ^= 1
        bundle.write_bytes(content)
        for part, code in (("list", 2), ("verify", 1)):
            self.assertIn("tuned tables", self.problem("bundle", part, bundle, code=code))
        self.assertIn("wrong checksum of the tuned tables", self.problem(
            "bundle", "extract", bundle, "-o", self.folder / "root", code=2))
        self.assertFalse((self.folder / "root").exists())
        done = self.strict_build(bundle, check=1)
        self.assertEqual(done.err.count("wrong checksum of the tuned tables"), 1)

    def test_wrong_lists_of_tables(self):
        for tables in ("", "a::b", "/nonexistent/table.json"):
            self.problem("bundle", "create", "--specs", inline(), "--targets", "sm_80", "-o",
                         self.folder / "x.hdl", "--tuned", tables, code=2)
        self.assertFalse((self.folder / "x.hdl").exists())


if __name__ == "__main__":
    unittest.main()
