"""heddle doctor: what is found, what is wrong, and that no fault ends it early."""

import json
import os
import pathlib
import unittest

from command import CommandTest, ROOT, inline
from test_environment import variables_of_the_table

# The folder of tests/fake_driver's libcuda.so.1: a machine with one GPU.
FAKE_DRIVER = os.environ.get("HEDDLE_FAKE_DRIVER", ROOT / "build/release/tests/fake_driver/lib")


class DoctorTest(CommandTest):

    def setUp(self):
        super().setUp()
        for name in [name for name in self.environment if name.startswith("HEDDLE_")]:
            if name not in ("HEDDLE_CACHE", "HEDDLE_NVRTC"):
                del self.environment[name]
        self.environment["FAKE_GPU_NAME"] = "NVIDIA H200"
        self.environment["LD_LIBRARY_PATH"] = str(FAKE_DRIVER)

    def report(self, check):
        return self.heddle_json("doctor", check=check)

    def problems(self):
        """The problems of a machine that has some, each with something to do."""
        report = self.report(check=1)
        text = self.heddle("doctor", check=1).out
        for problem in report["problems"]:
            self.assertTrue(problem["text"] and problem["do"], problem)
            self.assertIn(f"problem: {problem['about']}: ", text)
        self.assertEqual(self.heddle("doctor").err, "")
        return {problem["about"]: problem["text"] + " / " + problem["do"]
                for problem in report["problems"]}

    def table(self, name, gpu):
        return self.file(name, json.dumps({"heddle_tuned": 3, "gpu": gpu, "families": {}, "entries": []}))

    def test_a_machine_where_nothing_is_wrong(self):
        report = self.report(check=0)
        self.assertEqual(report["problems"], [])
        self.assertEqual(report["driver"]["cuda"], "13.0")
        device, = report["devices"]
        self.assertEqual((device["name"], device["compiler_arch"], device["memory_bytes"]),
                         ("NVIDIA H200", "sm_90a", 141 << 30))
        self.assertTrue(pathlib.Path(report["compiler"]["library"]).exists())
        self.assertIn(report["compiler"]["version"], report["compiler"]["identity"])
        layer, = report["cache"]
        self.assertEqual((layer["path"], layer["layer"], layer["entries"]),
                         (self.environment["HEDDLE_CACHE"], "rw", 0))
        self.assertFalse((self.folder / "cache").exists(), "a look makes no cache")
        text = self.heddle("doctor", check=0).out
        for part in ("CUDA 13.0", "NVIDIA H200 (sm_90a", "141.0 GiB", "NVRTC", "not there yet",
                     "HEDDLE_CACHE", "nothing is wrong"):
            self.assertIn(part, text)

    def test_every_variable_that_is_read_is_shown(self):
        self.environment["HEDDLE_LOG"] = "info"
        shown = {item["name"]: item["value"] for item in self.report(check=0)["environment"]}
        self.assertEqual(set(shown), variables_of_the_table())
        self.assertEqual(shown["HEDDLE_LOG"], "info")
        self.assertIsNone(shown["HEDDLE_RECORD"])

    def test_the_layers_of_the_cache(self):
        self.heddle("build", inline(), "--target", "h200", check=0)
        cache = self.folder / "cache"
        kernels = len(list(cache.rglob("*.hdl")))
        bundle = self.folder / "model.hdl"
        self.heddle("bundle", "create", "--specs", inline(), "--targets", "h200", "-o", bundle,
                    check=0)
        bundle.chmod(0o444)
        self.environment["HEDDLE_CACHE"] = f"rw:{cache}:ro:{bundle}"
        writable, read_only = self.report(check=0)["cache"]
        self.assertEqual((writable["mode"], writable["owner"]), ("0700", os.geteuid()))
        self.assertEqual((writable["entries"], read_only["entries"]), (kernels, kernels))
        self.assertEqual(read_only["bytes"], bundle.stat().st_size)
        self.assertEqual((read_only["layer"], read_only["mode"]), ("ro", "0444"))
        next(cache.rglob("*.hdl")).write_bytes(b"no entry")
        report = self.report(check=0)
        self.assertEqual(report["cache"][0]["unreadable"], 1)
        self.assertIn("cache", {note["about"] for note in report["notes"]})

    def test_a_cache_that_is_of_no_use(self):
        file = self.file("file", "no folder")
        shared = self.folder / "shared"
        shared.mkdir()
        shared.chmod(0o777)
        for value in (file, file / "below", shared, "/proc", f"rw:{self.folder}/a:ro:{file}",
                      f"ro:{self.folder}/absent.hdl"):
            with self.subTest(value=value):
                self.environment["HEDDLE_CACHE"] = str(value)
                self.assertIn("HEDDLE_CACHE", self.problems()["cache"])
        self.environment["HEDDLE_CACHE"] = f"rw:{self.folder}/a:rx:{self.folder}"
        self.assertIn("rw: and ro:", self.problems()["cache"])
        for name in ("HEDDLE_CACHE", "XDG_CACHE_HOME", "HOME"):
            self.environment.pop(name, None)
        self.assertIn("HOME", self.problems()["cache"])

    def test_a_driver_that_does_not_work(self):
        self.environment["FAKE_DRIVER_MISSING"] = "cuLaunchKernelEx"
        self.assertIn("lacks cuLaunchKernelEx", self.problems()["driver"])
        del self.environment["FAKE_DRIVER_MISSING"]
        self.environment["FAKE_DRIVER_INIT"] = "2"
        self.assertIn("CUDA_ERROR_OUT_OF_MEMORY", self.problems()["driver"])

    def test_nvrtc_that_is_not_there(self):
        self.environment["HEDDLE_NVRTC"] = str(self.folder)
        self.assertIn("HEDDLE_NVRTC", self.problems()["compiler"])
        self.assertIsNone(self.report(check=1)["compiler"])
        self.environment["HEDDLE_NVRTC"] = str(self.file("libnvrtc.so.13", "no library"))
        self.assertIn("no 64-bit ELF file", self.problems()["compiler"])

    def test_tables(self):
        own = self.table("own.json", "h200")
        other = self.table("other.json", "h100")
        self.environment["HEDDLE_TUNED"] = str(own)
        report = self.report(check=0)
        self.assertEqual([table["gpu"] for table in report["tuned"]], ["h200"])
        self.environment["HEDDLE_TUNED"] = str(other)
        problem = self.problems()["HEDDLE_TUNED"]
        self.assertIn(f"{other} is a table of h100", problem)
        self.environment["HEDDLE_TUNED"] = f"{other}:{own}"
        self.assertIn("HEDDLE_TUNED", {note["about"] for note in self.report(check=0)["notes"]})

    def test_tables_that_cannot_be_read(self):
        absent = self.folder / "absent.json"
        broken = self.file("broken.json", '{"heddle_tuned": 3, "gpu": 7}')
        for value, part in ((absent, str(absent)), (broken, "/gpu"), (":", "empty name"),
                            (self.folder, "not a regular file")):
            with self.subTest(value=value):
                self.environment["HEDDLE_TUNED"] = str(value)
                self.assertIn(part, self.problems()["HEDDLE_TUNED"])
        self.environment["HEDDLE_TUNED"] = f"{absent}:{broken}"
        self.assertEqual(len(self.report(check=1)["problems"]), 2, "each is told")

    def test_a_variable_that_nothing_reads(self):
        self.environment["HEDDLE_CASHE"] = "/somewhere"
        self.environment["HEDDLE_"] = "1"
        problems = self.problems()
        self.assertEqual(set(problems), {"HEDDLE_CASHE", "HEDDLE_"})
        self.assertIn('did you mean "HEDDLE_CACHE"?', problems["HEDDLE_CASHE"])

    def test_values_that_are_of_no_use(self):
        file = self.file("file", "no record")
        self.environment.update(HEDDLE_LOG="wraning", HEDDLE_RECORD=str(file),
                                HEDDLE_DUMP=str(file / "below"),
                                HEDDLE_STATS=str(self.folder))
        problems = self.problems()
        self.assertEqual(set(problems), {"HEDDLE_LOG", "HEDDLE_RECORD", "HEDDLE_DUMP", "HEDDLE_STATS"})
        self.assertIn('did you mean "warning"?', problems["HEDDLE_LOG"])
        self.environment.update(HEDDLE_LOG="info", HEDDLE_RECORD=str(self.folder / "new"),
                                HEDDLE_DUMP=str(self.folder / "new/dump"),
                                HEDDLE_STATS=str(self.folder / "stats.json"))
        self.report(check=0)
        for name in ("new", "stats.json"):
            self.assertFalse((self.folder / name).exists(), "a look makes nothing")

    def test_everything_wrong_at_once_is_told_at_once(self):
        self.environment.update(HEDDLE_CACHE="rx:a", HEDDLE_NVRTC="nowhere", HEDDLE_TUNED="a::b",
                                HEDDLE_LOG="x\udcff", HEDDLE_RECORD="/proc", HEDDLE_DUMP="/dev/null",
                                HEDDLE_X="\x1b\udcff")
        self.assertEqual(set(self.problems()),
                         {"cache", "compiler", "HEDDLE_TUNED", "HEDDLE_LOG", "HEDDLE_RECORD",
                          "HEDDLE_DUMP", "HEDDLE_X"})

    def test_disassemblers_on_the_path(self):
        program = self.file("nvdisasm", "#!/bin/sh\n")
        self.environment["PATH"] = f":{self.folder}/absent:{self.folder}"
        self.assertIsNone(self.report(check=0)["disassemblers"]["nvdisasm"])
        program.chmod(0o755)
        self.assertEqual(self.report(check=0)["disassemblers"]["nvdisasm"], str(program))


class NoDriverTest(CommandTest):

    def test_a_machine_that_only_builds_gets_a_note(self):
        if pathlib.Path("/dev/nvidiactl").exists() or self.has_gpu():
            self.skipTest("this machine has a GPU")
        report = json.loads(self.heddle("doctor", "--json").out)
        self.assertNotIn("driver", {problem["about"] for problem in report["problems"]})
        note, = [note for note in report["notes"] if note["about"] == "driver"]
        self.assertIn("no GPU here", note["text"])
        self.assertEqual((report["driver"], report["devices"]), (None, []))


if __name__ == "__main__":
    unittest.main()
