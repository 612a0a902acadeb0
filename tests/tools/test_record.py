"""heddle record, and bundles of what it recorded."""

import json
import os
import sys
import unittest

from bundle_case import TARGET, record_line
from command import HEDDLE, ROOT, CommandTest, SPEC, inline


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

    def test_what_is_compiled_without_a_gpu_is_recorded(self):
        record = self.folder / "model.record"
        self.environment["HEDDLE_RECORD"] = str(record)
        target = ("--target", "h200")
        model = ROOT / "examples/models/qwen2.5-0.5b-gptq/config.json"
        self.heddle("build", model, *target, "--list", check=0)
        self.heddle("plan", inline(), *target, check=0)
        self.assertFalse(record.exists(), "nothing was asked for")
        self.heddle("build", inline(), *target, check=0)
        [line] = record.read_text().splitlines()
        self.assertEqual(json.loads(line)["spec"]["name"], "small")
        self.assertEqual(json.loads(line)["target"]["name"], "h200")
        self.heddle("inspect", inline(name="other"), *target, check=0)
        self.assertEqual(len(record.read_text().splitlines()), 2)
        # What the record names is what the bundle holds.
        bundle = self.folder / "model.hdl"
        del self.environment["HEDDLE_RECORD"]
        self.heddle("bundle", "create", "--specs", record, "-o", bundle, "--strict", check=0)
        self.heddle("build", inline(), *target, "--strict", "--cache", f"ro:{bundle}", check=0)

    def test_records_what_heddle_build_makes(self):
        record = self.folder / "model.record"
        done = self.heddle("record", "-o", record, "--", HEDDLE, "build", inline(), "--target",
                           "h200", check=0)
        self.assertIn("1 specs in", done.err)

    def test_a_file_of_another_kind_stays_as_it_is(self):
        build = ("build", inline(), "--target", "h200")
        for text in ('{"model_type": "llama"}', "notes\n", "\0\0{", '[{"heddle_record": 1}]'):
            record = self.file("other", text)
            self.environment["HEDDLE_RECORD"] = str(record)
            done = self.heddle(*build, check=0)
            self.assertIn(f"cannot write to {record}: ", done.err)
            self.assertEqual(record.read_text(), text)
            del self.environment["HEDDLE_RECORD"]
            line = self.problem("record", "-o", record, "--", "false", code=2)
            self.assertEqual(line.count(str(record)), 1, line)
            self.assertEqual(record.read_text(), text)

    def test_what_is_no_file_is_no_record(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for path in ("/dev/zero", "/dev/full", "/dev/null", pipe, self.folder):
            line = self.problem("record", "-o", path, "--", "false", code=2)
            self.assertIn(f"cannot write to {path}: ", line)
        self.assertIn("--output: is empty", self.problem("record", "-o", "", "--", "true", code=2))

    def test_words_of_the_command_may_be_empty(self):
        done = self.heddle("record", "-o", self.folder / "r", "--", sys.executable, "-c",
                           "import sys; print(sys.argv[1:])", "", check=0)
        self.assertEqual(done.out, "['']\n")

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
        self.assertIn("cannot write to /nonexistent/r", line)
        self.problem("record", "-o", self.folder / "r", code=2)


if __name__ == "__main__":
    unittest.main()
