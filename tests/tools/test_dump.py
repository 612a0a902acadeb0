"""HEDDLE_DUMP: every stage of each kernel as files."""

import json
import subprocess
import unittest

from command import CommandTest, HEDDLE, ROOT, inline

BUILD = ("build", inline(), "--target", "h200")
FILES = {"spec.json", "plan.json", "plan.txt", "kernel.cu", "kernel.ptx", "kernel.cubin"}


class DumpTest(CommandTest):

    def setUp(self):
        super().setUp()
        self.dump = self.folder / "new" / "dump"
        self.environment["HEDDLE_DUMP"] = str(self.dump)

    def kernels(self):
        """The folders of the kernels: {name: {file: content}}."""
        return {folder.name: {path.name: path.read_bytes() for path in folder.iterdir()}
                for folder in self.dump.iterdir()}

    def test_every_stage_of_what_is_compiled(self):
        built = self.heddle_json(*BUILD)["kernels"]
        dumped = self.kernels()
        self.assertEqual(sorted(name.rsplit("_", 1)[0] for name in dumped),
                         sorted(kernel["kernel"] for kernel in built))
        plan = self.heddle_json("plan", *BUILD[1:])
        sources = {source["kernel"]: source["text"]
                   for source in self.heddle_json("render", *BUILD[1:], "--all")["sources"]}
        for name, files in dumped.items():
            kernel = name.rsplit("_", 1)[0]
            self.assertEqual(set(files), FILES)
            self.assertEqual(json.loads(files["spec.json"])["shape"],
                             json.loads(inline())["shape"])
            self.assertEqual(json.loads(files["plan.json"]), plan)
            self.assertIn(files["plan.txt"].decode(), self.heddle("plan", *BUILD[1:]).out)
            self.assertEqual(files["kernel.cu"].decode(), sources[kernel])
            self.assertIn(f".entry {kernel}(", files["kernel.ptx"].decode())
            self.assertTrue(files["kernel.cubin"].startswith(b"\x7fELF"))
            self.assertIn(kernel.encode(), files["kernel.cubin"])

    def test_what_the_cache_has_is_written_too(self):
        del self.environment["HEDDLE_DUMP"]
        self.heddle(*BUILD, check=0)
        self.assertFalse(self.dump.exists())
        self.environment["HEDDLE_DUMP"] = str(self.dump)
        self.assertEqual({kernel["cache"] for kernel in self.heddle_json(*BUILD)["kernels"]},
                         {"hit"})
        first = self.kernels()
        self.assertTrue(all(set(files) == FILES for files in first.values()))
        self.heddle(*BUILD, check=0)
        self.assertEqual(self.kernels(), first, "the same names and bytes again")

    def test_without_ptx_the_rest_is_written(self):
        bundle = self.folder / "model.hdl"
        self.heddle("bundle", "create", "--specs", inline(), "--targets", "h200", "--no-source",
                    "-o", bundle, check=0)
        bundle.chmod(0o444)
        self.environment["HEDDLE_DUMP"] = str(self.folder / "second")
        self.dump = self.folder / "second"
        self.heddle(*BUILD, "--strict", "--cache", f"ro:{bundle}", check=0)
        for files in self.kernels().values():
            self.assertEqual(set(files), FILES - {"kernel.ptx"})

    def test_plans_with_one_text_are_apart(self):
        for target in ("h200", "sm_90"):
            self.heddle(*BUILD[:2], "--target", target, check=0)
        texts = {}
        for name, files in self.kernels().items():
            plan = json.loads(files["plan.json"])
            texts.setdefault(name.rsplit(".", 1)[0], []).append(plan["target"])
        self.assertIn(2, {len(targets) for targets in texts.values()})
        for targets in texts.values():
            self.assertEqual(len({json.dumps(target) for target in targets}), len(targets))

    def test_processes_share_a_folder(self):
        processes = [subprocess.Popen([HEDDLE, *BUILD], cwd=ROOT, env=self.environment,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                     for _ in range(4)]
        for process in processes:
            error = process.communicate(timeout=300)[1]
            self.assertEqual(process.returncode, 0, error)
        for files in self.kernels().values():
            self.assertEqual(set(files), FILES, "no temporary file is left")

    def test_a_folder_that_cannot_be_written_is_an_error(self):
        file = self.file("file", "no folder")
        for place in (file, file / "below", "/proc/heddle"):
            self.environment["HEDDLE_DUMP"] = str(place)
            self.assertIn("HEDDLE_DUMP", self.problem(*BUILD, code=2))
        self.environment["HEDDLE_DUMP"] = "/dev/full"
        self.assertIn("HEDDLE_DUMP", self.problem(*BUILD, code=2))
        self.environment["HEDDLE_DUMP"] = ""
        self.heddle(*BUILD, check=0)


if __name__ == "__main__":
    unittest.main()
