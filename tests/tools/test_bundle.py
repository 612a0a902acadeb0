"""heddle bundle and heddle record: kernels for other machines."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from command import HEDDLE, ROOT, CommandTest, SPEC, inline

TARGET = {"name": "a device", "major": 8, "minor": 0, "sm_count": 100, "shared_per_block": 166912,
          "shared_per_sm": 167936, "registers_per_sm": 65536, "threads_per_sm": 2048,
          "l2_bytes": 40 << 20, "memory_gb_per_s": 1500.0, "sm_mhz": 1410.0}


def record_line(**changes):
    return json.dumps({"heddle_record": 1, "spec": {**SPEC, **changes}, "target": TARGET},
                      separators=(",", ":")) + "\n"


class BundleTest(CommandTest):

    def create(self, *more, targets="sm_80,h200", check=0):
        bundle = self.folder / "model.hdl"
        arguments = ["bundle", "create", "--specs", inline(), "-o", bundle]
        if targets:
            arguments += ["--targets", targets]
        self.heddle(*arguments, *more, check=check)
        return bundle

    def test_create_list_verify(self):
        bundle = self.create()
        entries = self.heddle_json("bundle", "list", bundle)["entries"]
        self.assertEqual({entry["arch"] for entry in entries}, {"sm_80", "sm_90a"})
        report = self.heddle_json("bundle", "verify", bundle)
        self.assertEqual((report["good"], report["damaged"]), (len(entries), 0))
        text = self.heddle("bundle", "list", bundle, check=0).out
        for entry in entries:
            self.assertIn(entry["kernel"], text)

    def test_same_input_same_bytes(self):
        first = self.create().read_bytes()
        self.heddle("cache", "clear", check=0)
        self.assertEqual(self.create(targets="h200,sm_80").read_bytes(), first)

    def test_same_bytes_for_others(self):
        """Another user, folder, home, locale, umask, environment: the same cubins, byte for byte."""
        first = self.create().read_bytes()
        other = pathlib.Path(tempfile.mkdtemp(prefix="heddle other "))
        self.addCleanup(shutil.rmtree, other, ignore_errors=True)
        user = None
        if os.geteuid() == 0:
            user = 65534
            os.chown(other, user, user)
        environment = {"PATH": os.environ["PATH"], "HOME": str(other), "LC_ALL": "C.UTF-8",
                       "TZ": "Asia/Kathmandu", "XDG_CACHE_HOME": str(other / "cache"),
                       **{name: os.environ[name] for name in ("HEDDLE_NVRTC", "LD_LIBRARY_PATH")
                          if name in os.environ}}
        done = subprocess.run([HEDDLE, "bundle", "create", "--specs", inline(), "--targets",
                               "sm_80,h200", "-o", "model.hdl", "--jobs", "1"], cwd=other,
                              env=environment, user=user, umask=0o027, capture_output=True,
                              timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((other / "model.hdl").read_bytes(), first)

    def test_as_a_root(self):
        bundle = self.create()
        self.environment["HEDDLE_CACHE"] = f"rw:{self.folder}/empty:ro:{bundle}"
        kernels = self.heddle_json("build", inline(), "--target", "sm_80")["kernels"]
        self.assertEqual({kernel["cache"] for kernel in kernels}, {"hit"})
        self.assertFalse((self.folder / "empty").exists())
        kernels = self.heddle_json("build", inline(), "--target", "sm_86")["kernels"]
        self.assertEqual({kernel["cache"] for kernel in kernels}, {"miss"})

    def test_strict_needs_no_compiler(self):
        bundle = self.create(targets="sm_80")
        self.environment["HEDDLE_CACHE"] = f"ro:{bundle}"
        self.environment["HEDDLE_NVRTC"] = "/nonexistent"
        strict = ("build", inline(), "--strict", "--target")
        kernels = self.heddle_json(*strict, "sm_80")["kernels"]
        self.assertEqual({kernel["cache"] for kernel in kernels}, {"hit"})
        done = self.heddle(*strict, "sm_86", "--json", check=1)
        self.assertIn("strict mode compiles nothing", done.err)

    def test_strict_names_every_kernel_that_is_missing(self):
        few = self.file("few.json", json.dumps(
            [json.loads(inline(shape={"n": n, "k": 512, "m": [1, 16]})) for n in (256, 512)]))
        names = {kernel["kernel"] for kernel in
                 self.heddle_json("build", few, "--target", "h200")["kernels"]}
        self.assertGreater(len(names), 1)
        self.environment["HEDDLE_CACHE"] = str(self.folder / "empty")
        lines = self.heddle("build", few, "--target", "h200", "--strict",
                            check=1).err.splitlines()
        self.assertEqual(len(lines), len(names))
        for name in names:
            self.assertEqual(sum(name in line for line in lines), 1, lines)
        many = [json.loads(inline(shape={"n": 64 * i, "k": 512, "m": [1, 1]}))
                for i in range(1, 61)]
        path = self.file("many.json", json.dumps(many))
        lines = self.heddle("build", path, "--target", "h200", "--strict",
                            check=1).err.splitlines()
        self.assertEqual(len(lines), 51)
        self.assertIn("and 10 more problems", lines[-1])

    def test_kernels_of_a_models_cache(self):
        model = ROOT / "examples/models/qwen2.5-0.5b-gptq/config.json"
        config = json.loads(model.read_text())
        del config["quantization_config"]
        path = self.file("config.json", json.dumps(config))
        bundle = self.folder / "kv.hdl"
        self.heddle("bundle", "create", "--specs", path, "--kv", "int8:head", "--targets", "sm_80",
                    "-o", bundle, check=0)
        names = [entry["kernel"] for entry in self.heddle_json("bundle", "list", bundle)["entries"]]
        self.assertEqual(sum("kv_append" in name for name in names), 1)
        self.assertGreaterEqual(sum("decode_attention" in name for name in names), 1)
        self.assertEqual(len(names), len(
            self.heddle_json("build", path, "--kv", "int8:head", "--target", "sm_80")["kernels"]))
        record = self.file("r", record_line())
        for specs in (inline(), record):
            self.assertIn("config.json", self.problem(
                "bundle", "create", "--specs", specs, "--kv", "int8", "--targets", "sm_80", "-o",
                bundle, code=2))

    def test_extract(self):
        bundle = self.create()
        root = self.folder / "extracted"
        count = self.heddle_json("bundle", "extract", bundle, "-o", root)["kernels"]
        report = self.heddle_json("cache", "verify", "--cache", root)
        self.assertEqual((report["good"], report["damaged"]), (count, 0))
        kernels = self.heddle_json("build", inline(), "--target", "h200", "--cache", root)["kernels"]
        self.assertEqual({kernel["cache"] for kernel in kernels}, {"hit"})

    def test_damage_is_found_and_the_rest_still_serves(self):
        bundle = self.create()
        content = bytearray(bundle.read_bytes())
        content[content.index(b"\x89HDL", 48) + 200] ^= 1  # in the first entry
        bundle.write_bytes(content)
        report = self.heddle_json("bundle", "verify", bundle, check=1)
        self.assertEqual(report["damaged"], 1)
        self.assertEqual(len(self.heddle_json("bundle", "list", bundle)["entries"]),
                         report["good"])
        folder = self.folder / "extracted"
        extracted = self.heddle("bundle", "extract", bundle, "-o", folder, check=1)
        self.assertIn(f"{report['good']} kernels to", extracted.out)
        self.assertIn(report["problems"][0]["key"], extracted.err)
        content[40] ^= 1  # the checksum of the index
        bundle.write_bytes(content)
        for part in ("list", "verify"):
            self.assertIn("wrong checksum", self.problem("bundle", part, bundle, code=2))

    def block(self, content, kind):
        """Offset and stored bytes of a block, as docs/formats.md has it."""
        entries = int.from_bytes(content[24:32], "little")
        for i in range(int.from_bytes(content[12:16], "little")):
            item = content[48 + 64 * entries + 48 * i:][:48]
            if int.from_bytes(item[16:20], "little") == kind:
                return [int.from_bytes(item[at:at + 8], "little") for at in (32, 40)]
        return self.fail(f"no block of kind {kind}")

    def test_list_names_gpus_and_sizes(self):
        bundle = self.create(targets="h100,h200,sm_80")
        report = self.heddle_json("bundle", "list", bundle)
        self.assertEqual(report["bytes"], bundle.stat().st_size)
        self.assertEqual({gpu for entry in report["entries"] for gpu in entry["gpus"]},
                         {"h100", "h200", "sm_80"})
        for entry in report["entries"]:
            self.assertLess(entry["stored_bytes"], entry["cubin_bytes"])
            self.assertGreater(entry["ptx_bytes"], 0)
            self.assertTrue(entry["source"])
            self.assertEqual(entry["gpus"] == ["sm_80"], entry["arch"] == "sm_80")
        text = self.heddle("bundle", "list", bundle, check=0).out
        self.assertRegex(text, "sm_90a +h[12]00")

    def test_a_bundle_of_an_old_version_is_read(self):
        old = ROOT / "tests/fuzz/corpus/bundle/three"
        bundle = self.file("old.hdl", old.read_bytes())
        entries = self.heddle_json("bundle", "list", bundle)["entries"]
        self.assertEqual([entry["gpus"] for entry in entries], [[]] * 3)
        self.heddle("bundle", "verify", bundle, check=0)
        new = self.folder / "new.hdl"
        self.heddle("bundle", "merge", bundle, "-o", new, check=0)
        self.assertEqual(new.read_bytes()[8], 3)
        keys = [entry["key"] for entry in entries]
        self.assertEqual([entry["key"] for entry in
                          self.heddle_json("bundle", "list", new)["entries"]], keys)

    def test_without_source(self):
        whole = self.create(targets="h200")
        size = whole.stat().st_size
        text = b"extern"
        bundle = self.folder / "bare.hdl"
        self.heddle("bundle", "create", "--specs", inline(), "--targets", "h200", "--no-source",
                    "-o", bundle, check=0)
        self.assertLess(bundle.stat().st_size, size / 2)
        self.assertNotIn(text, bundle.read_bytes())
        entries = self.heddle_json("bundle", "list", bundle)["entries"]
        self.assertEqual({(entry["source"], entry["ptx_bytes"]) for entry in entries}, {(False, 0)})
        self.heddle("bundle", "verify", bundle, check=0)
        self.strict_build(bundle, target="h200")
        line = self.heddle("inspect", inline(), "--target", "h200", "--m", 1, "--strict", "--json",
                           check=1).err
        self.assertIn("--no-source", line)
        self.assertIn("--no-source", self.heddle(
            "bundle", "create", "--specs", inline(), "--targets", "h200", "--strict", "-o",
            self.folder / "x.hdl", check=1).err)
        self.assertFalse((self.folder / "x.hdl").exists())
        done = self.heddle("bundle", "extract", bundle, "-o", self.folder / "root", check=0)
        self.assertIn("no CUDA text and no PTX", done.err)
        self.heddle("cache", "verify", "--cache", self.folder / "root", check=0)
        self.environment["HEDDLE_CACHE"] = str(self.folder / "root")
        self.heddle("build", inline(), "--target", "h200", "--strict", check=0)
        # With the texts of another bundle it is whole again.
        both = self.folder / "both.hdl"
        self.heddle("bundle", "merge", bundle, whole, "-o", both, check=0)
        self.assertEqual(both.read_bytes(), whole.read_bytes())

    def test_extract_keeps_the_texts_that_are_there(self):
        self.create(targets="h200")
        root = self.folder / "cache"
        before = self.heddle_json("cache", "list")["entries"]
        bare = self.folder / "bare.hdl"
        self.heddle("bundle", "create", "--specs", inline(), "--targets", "h200", "--no-source",
                    "-o", bare, check=0)
        done = self.heddle("bundle", "extract", bare, "-o", root, check=0)
        whole = self.folder / "whole.hdl"
        self.heddle("bundle", "create", "--specs", inline(), "--targets", "h200", "--strict", "-o",
                    whole, check=0)
        self.heddle("inspect", inline(), "--target", "h200", "--strict", check=0)
        self.assertEqual({entry["ptx_bytes"] > 0 for entry in
                          self.heddle_json("bundle", "list", whole)["entries"]}, {True})
        self.assertIn("stay as they are", done.err)
        self.assertNotIn("no PTX", done.err)
        report = self.heddle_json("bundle", "extract", bare, "-o", root)
        self.assertEqual((report["kernels"], report["kept"]), (0, len(before)))

    def test_damaged_ptx_is_not_taken_for_none(self):
        bundle = self.create(targets="sm_80")
        content = bytearray(bundle.read_bytes())
        [at, stored] = self.block(content, kind=2)
        content[at + stored - 2] ^= 1
        bundle.write_bytes(content)
        self.environment["HEDDLE_CACHE"] = f"ro:{bundle}"
        self.heddle("build", inline(), "--target", "sm_80", "--strict", check=0)
        again = self.folder / "again.hdl"
        for command in (("inspect", inline(), "--target", "sm_80"),
                        ("bundle", "create", "--specs", inline(), "--targets", "sm_80", "-o",
                         again)):
            line = self.heddle(*command, "--strict", check=2).err
            self.assertRegex(line, "model.hdl: the PTX of heddle_gemm_.* is damaged")
            self.assertNotIn("--no-source", line)
        self.assertFalse(again.exists())

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

    def slowest_table(self, target="h100"):
        """A table of one kernel for all M that is not the predicted one, and the plan with it."""
        self.environment["HEDDLE_TUNED"] = "none"
        plan = ("plan", inline(), "--target", target)
        predicted = self.heddle_json(*plan)["kernels"]
        rows = self.heddle_json("explain", inline(), "--target", target, "--m", 16)
        row = rows["explanations"][0]["rows"][-1]
        version = json.loads((ROOT / "tuned/h100.json").read_text())["families"][row["family"]]
        table = self.file("own.json", json.dumps({
            "heddle_tuned": 1, "gpu": target, "families": {row["family"]: version},
            "entries": [{"weight": {"bits": 4}, "activation": {"dtype": "fp16"}, "n": 256, "k": 512,
                         "m": [1, 16], "family": row["family"], "kernel": row["kernel"]}]}))
        self.environment["HEDDLE_TUNED"] = f"none:{table}"
        kernels = {kernel["name"] for kernel in self.heddle_json(*plan)["kernels"]}
        self.assertNotEqual(kernels, {kernel["name"] for kernel in predicted})
        del self.environment["HEDDLE_TUNED"]
        return table, kernels

    def strict_build(self, bundle, check=0, target="h100"):
        self.environment["HEDDLE_CACHE"] = f"ro:{bundle}"
        return self.heddle("build", inline(), "--target", target, "--strict", "--json", check=check)

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

    def test_a_bundle_of_a_bundle(self):
        """The tables of a bundle among the roots are in use, so they are carried on."""
        table, _ = self.slowest_table()
        first = self.create("--tuned", table, targets="h100")
        self.environment["HEDDLE_CACHE"] = f"ro:{first}"
        second = self.folder / "second.hdl"
        self.heddle("bundle", "create", "--specs", inline(), "--targets", "h100", "--strict", "-o",
                    second, check=0)
        self.assertEqual(second.read_bytes(), first.read_bytes())

    def test_damaged_tables(self):
        table, _ = self.slowest_table()
        bundle = self.create("--tuned", table, targets="h100")
        content = bytearray(bundle.read_bytes())
        [at, stored] = self.block(content, kind=3)
        content[at + stored - 2] ^= 1
        bundle.write_bytes(content)
        for part in ("list", "verify"):
            self.assertIn("tuned tables", self.problem("bundle", part, bundle, code=2))
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

    def test_a_pair_that_cannot_be_served(self):
        bundle = self.folder / "model.hdl"
        line = self.problem("bundle", "create", "--specs", inline(activation={"dtype": "bf16"}),
                            "--targets", "sm_75,sm_80", "-o", bundle, "--json", code=1)
        self.assertIn("sm_75", line)
        self.assertFalse(bundle.exists())

    def test_wrong_command_lines(self):
        self.assertIn(".hdl", self.problem("bundle", "create", "--specs", inline(), "--targets",
                                           "sm_80", "-o", self.folder / "x", code=2))
        self.assertIn("--targets", self.problem("bundle", "create", "--specs", inline(), "-o",
                                                self.folder / "x.hdl", code=2))
        self.problem("bundle", "create", "--specs", inline(), "--targets", "wibble", "-o",
                     self.folder / "x.hdl", code=2)
        self.problem("bundle", "list", self.folder / "absent.hdl", code=2)
        self.problem("bundle", code=2)

    def test_layers_that_are_malformed(self):
        self.environment["HEDDLE_CACHE"] = "rw:/a:rw:/b"
        self.assertIn("rw:/a:rw:/b",
                      self.problem("build", inline(), "--target", "sm_80", "--json", code=2))


class RecordTest(CommandTest):

    def test_replay(self):
        record = self.file("model.record", record_line() + "\n" + record_line() +
                           record_line(shape={"n": 512, "k": 512, "m": [1, 1]}))
        bundle = self.folder / "model.hdl"
        self.heddle("bundle", "create", "--specs", record, "-o", bundle, check=0)
        entries = self.heddle_json("bundle", "list", bundle)["entries"]
        self.assertEqual({entry["arch"] for entry in entries}, {"sm_80"})
        both = self.folder / "both.hdl"
        self.heddle("bundle", "create", "--specs", record, "--targets", "sm_90", "-o", both, check=0)
        self.assertEqual({entry["arch"] for entry in
                          self.heddle_json("bundle", "list", both)["entries"]}, {"sm_90a"})

    def test_lines_that_are_broken(self):
        good = record_line()
        cases = {
            good + '{"heddle_record":1,"spec"': "line 2",
            good + record_line(shape={"n": -1, "k": 512}): "line 2",
            good.replace('"major":8,', ""): "line 1: /target/major",
            good.replace('"sm_count":100', '"sm_count":4294967297'): "line 1: /target/sm_count",
            good.replace('"sm_count":100', '"sm_count":1.9'): "line 1: /target/sm_count",
            good.replace('"sm_count":100', '"sm_count":0'): "line 1: /target/sm_count",
            good[:-1] + "\0 garbage": "NUL",
            good.replace('"heddle_record":1', '"heddle_record":2'): "line 1",
        }
        for text, place in cases.items():
            line = self.heddle("bundle", "create", "--specs", self.file("r", text), "-o",
                               self.folder / "x.hdl", check=2).err
            self.assertIn(place, line)

    def test_the_smallest_gpu(self):
        """A GPU of one multiprocessor has kernels, too."""
        for major, shared in ((8, 166912), (9, 232448)):
            line = json.loads(record_line())
            line["target"].update(sm_count=1, major=major, shared_per_block=shared,
                                  shared_per_sm=shared + 1024)
            record = self.file("one.record", json.dumps(line, separators=(",", ":")))
            self.heddle("bundle", "create", "--specs", record, "-o", self.folder / "one.hdl",
                        check=0)

    def test_many_broken_lines_are_counted(self):
        record = self.file("r", "".join(f'{{"heddle_record":1,"a":{i}}}\n' for i in range(20000)))
        done = self.heddle("bundle", "create", "--specs", record, "-o", self.folder / "x.hdl",
                           check=2)
        self.assertLess(len(done.err), 20000)
        self.assertRegex(done.err.splitlines()[-1], "and [0-9]+ more problems")

    def test_runs_the_command(self):
        record = self.folder / "model.record"
        program = ("import os, sys\n"
                   "open(os.environ['HEDDLE_RECORD'], 'a').write(sys.argv[1])\n"
                   "print('said'); sys.exit(7)\n")
        done = self.heddle("record", "-o", record, "--", sys.executable, "-c", program,
                           record_line(), check=7)
        self.assertEqual(done.out, "said\n")
        self.assertIn("1 specs", done.err)
        self.assertEqual(record.read_text(), record_line())

    def test_a_command_that_cannot_run(self):
        self.problem("record", "-o", self.folder / "r", "--", "/nonexistent/program", code=2)
        garbage = self.file("garbage.record", "no record\n")
        self.problem("record", "-o", garbage, "--", sys.executable, "-c", "print(1)", code=2)
        deep = '{"heddle_record":1,"target":{},"spec":' + "[" * 100000 + "]" * 100000 + "}"
        idle = json.dumps({"heddle_record": 1, "spec": SPEC, "target": {**TARGET, "sm_count": 0}})
        for text in (deep, idle):
            record = self.file("bad.record", text + "\n")
            self.problem("bundle", "create", "--specs", record, "-o", self.folder / "b", code=2)
        line = self.problem("record", "-o", "/nonexistent/r", "--", sys.executable, "-c", "", code=2)
        self.assertIn("cannot write /nonexistent/r", line)
        self.problem("record", "-o", self.folder / "r", code=2)


if __name__ == "__main__":
    unittest.main()
