"""heddle bundle: kernels for other machines."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from bundle_case import BundleCase, record_line
from command import HEDDLE, ROOT, inline


class BundleTest(BundleCase):

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
        for n in (256, 512):
            told = [line for line in lines if f'"shape":{{"n":{n},"k":512' in line]
            self.assertEqual(len(told), 1, lines)
            self.assertIn("add this spec for h200 (sm_90a): {", told[0])
        many = [json.loads(inline(shape={"n": 64 * i, "k": 512, "m": [1, 1]}))
                for i in range(1, 61)]
        path = self.file("many.json", json.dumps(many))
        lines = self.heddle("build", path, "--target", "h200", "--strict",
                            check=1).err.splitlines()
        self.assertEqual(len(lines), 51)
        self.assertIn("and 10 more problems", lines[-1])

    def test_a_kernel_of_another_epilogue_has_another_name_and_key(self):
        prefill = {"shape": {"n": 256, "k": 512, "m": [64, 64]}}
        bundle = self.folder / "plain.hdl"
        self.heddle("bundle", "create", "--specs", inline(**prefill), "--targets", "h200",
                    "-o", bundle, check=0)
        listed = self.heddle("bundle", "list", bundle, check=0).out
        epilogue = {"bias": True, "activation": "gelu", "residual": True}
        self.environment["HEDDLE_CACHE"] = f"ro:{bundle}"
        for changes, word in (({"epilogue": epilogue}, "_fp16_bias_gelu_residual_any_"),
                              ({"output": {"dtype": "fp32"}}, "_fp16_fp32_any_")):
            missed = self.heddle("build", inline(**prefill, **changes), "--target", "h200",
                                 "--strict", check=1).err
            self.assertIn(word, missed)
            self.assertNotIn(word, listed)
            key, = re.findall(r"\(key ([0-9a-f]{16})\)", missed)
            self.assertNotIn(key, listed)
        kernel, = self.heddle_json("build", inline(**prefill), "--target", "h200",
                                   "--strict")["kernels"]
        self.assertIn(kernel["key"][:16], listed)

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
        listed = self.heddle_json("bundle", "list", bundle)
        self.assertEqual(len(listed["entries"]), report["good"])
        self.assertEqual(listed["unreadable"], report["problems"])
        text = self.heddle("bundle", "list", bundle, check=0)
        self.assertIn(f"1 damaged, {report['good']} kernels, ", text.out)
        self.assertIn(report["problems"][0]["key"], text.err)
        self.environment["HEDDLE_CACHE"] = f"ro:{bundle}"
        strict = [self.heddle("build", inline(), "--target", target, "--strict", check=None).err
                  for target in ("sm_80", "h200")]
        del self.environment["HEDDLE_CACHE"]
        key = report["problems"][0]["key"][:16]
        self.assertRegex("".join(strict), rf"\(key {key}\) has a damaged entry in the cache \(\w")
        self.assertNotIn("is in no layer", "".join(strict))
        folder = self.folder / "extracted"
        extracted = self.heddle("bundle", "extract", bundle, "-o", folder, check=1)
        self.assertIn(f"{report['good']} kernels to", extracted.out)
        self.assertIn(report["problems"][0]["key"], extracted.err)
        content[40] ^= 1  # the checksum of the index
        bundle.write_bytes(content)
        for part, code in (("list", 2), ("verify", 1)):
            self.assertIn("wrong checksum", self.problem("bundle", part, bundle, code=code))
        for size in (0, 7, 100, len(content) - 1):
            bundle.write_bytes(content[:size])
            self.problem("bundle", "verify", bundle, code=1)
        self.problem("bundle", "verify", self.folder / "none.hdl", code=2)

    def test_what_is_no_file_is_not_replaced(self):
        pipe = self.folder / "pipe.hdl"
        os.mkfifo(pipe)
        self.assertIn("not a regular file", self.problem(
            "bundle", "merge", self.create(), "-o", pipe, code=2))

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

    def test_list_names_specs(self):
        spec = self.heddle_json("plan", inline(), "--target", "h200")["spec"]
        bundle = self.create(targets="h200")
        entries = self.heddle_json("bundle", "list", bundle)["entries"]
        self.assertEqual([entry["spec"] for entry in entries], [spec] * len(entries))
        self.assertIn(f"{len(entries)} kernels of " + json.dumps(spec, separators=(",", ":")),
                      self.heddle("bundle", "list", bundle, check=0).out)
        bare = self.create("--no-source", targets="h200")
        self.assertEqual({entry["spec"] for entry in
                          self.heddle_json("bundle", "list", bare)["entries"]}, {None})
        self.assertIn("--no-source", self.heddle("bundle", "list", bare, check=0).out)

    def test_a_bundle_of_another_version_is_refused_by_name(self):
        other = bytearray((ROOT / "tests/fuzz/corpus/bundle/three").read_bytes())
        other[8] = 1
        bundle = self.file("other.hdl", bytes(other))
        for code, *command in ((1, "verify", bundle), (2, "list", bundle),
                               (2, "merge", bundle, "-o", self.folder / "new.hdl")):
            text = self.heddle("bundle", *command, check=code).err
            self.assertIn("format version 1", text)
            self.assertIn("heddle bundle create", text)

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

    def test_a_bundle_of_a_bundle(self):
        """The tables of a bundle among the roots are in use, so they are carried on."""
        table, _ = self.slowest_table()
        first = self.create("--tuned", table, targets="h100")
        self.environment["HEDDLE_CACHE"] = f"ro:{first}"
        second = self.folder / "second.hdl"
        self.heddle("bundle", "create", "--specs", inline(), "--targets", "h100", "--strict", "-o",
                    second, check=0)
        self.assertEqual(second.read_bytes(), first.read_bytes())

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
        broken = self.file("broken.json", inline()[:-1])
        for targets in ([], ["--targets", "sm_80"]):
            line = self.problem("bundle", "create", "--specs", broken, *targets, "-o",
                                self.folder / "x.hdl", code=2)
            self.assertIn(str(broken), line)
            self.assertIn("JSON", line)
        self.problem("bundle", "list", self.folder / "absent.hdl", code=2)
        self.problem("bundle", code=2)

    def test_layers_that_are_malformed(self):
        self.environment["HEDDLE_CACHE"] = "rw:/a:rw:/b"
        self.assertIn("rw:/a:rw:/b",
                      self.problem("build", inline(), "--target", "sm_80", "--json", code=2))


if __name__ == "__main__":
    unittest.main()
