"""HEDDLE_TUNED: every command plans with the same tables of measured kernels."""

import json
import os
import unittest

from command import CommandTest, inline

ENTRY = {"weight": {"bits": 4}, "activation": {"dtype": "fp16"}, "n": 256, "k": 512,
         "family": "tiles"}


def table(*entries, gpu="a100", version=2):
    return json.dumps({"heddle_tuned": 3, "gpu": gpu, "families": {"tiles": version},
                       "entries": list(entries)})


class TunedTest(CommandTest):

    def use(self, *files):
        self.environment["HEDDLE_TUNED"] = ":".join(map(str, files))

    def plan(self, target="a100"):
        return self.heddle_json("plan", inline(), "--target", target)

    def setUp(self):
        super().setUp()
        self.environment["HEDDLE_TUNED"] = "none"

    def entry(self, **changes):
        """One kernel for all M, where two are predicted to be faster."""
        kernels = self.plan()["kernels"]
        self.assertGreater(len(kernels), 1)
        last = {**kernels[-1]["configuration"], **kernels[-1]}
        self.assertEqual(last["feeder"], "kAsync")
        label = ("async {tile_m}x{tile_n}x{stage_k} warps {warps_m}x{warps_n}x{warps_k} "
                 "stages {stages} split {split_k} blocks {blocks_per_sm}").format(**last)
        return {**ENTRY, "m": [1, 16], "kernel": label, **changes}

    def test_entries_of_eight_bits_are_used(self):
        form = {"weight": {"bits": 8, "type": "e4m3", "group_size": -1},
                "activation": {"dtype": "fp8_e4m3", "granularity": "token"}, "accumulation": "fast"}
        spec = self.file("fp8.json", json.dumps({
            "heddle": 1, "op": "gemm", "shape": {"n": 256, "k": 512, "m": [1, 16]}, **form,
            "output": {"dtype": "bf16"}}))
        arguments = (spec, "--target", "h100")
        explained = self.heddle_json("explain", *arguments, "--m", "16")["explanations"][0]
        slow = explained["rows"][-1]
        self.assertFalse(slow["chosen"])
        entry = {**form, "n": 256, "k": 512, "m": [9, 16], "family": slow["family"],
                 "version": 3, "kernel": slow["kernel"]}
        self.use(self.file("bytes.json", json.dumps(
            {"heddle_tuned": 3, "gpu": "h100", "families": {}, "entries": [entry]})))
        self.assertIn("M 9 to 16: warpgroup, of table h100",
                      self.heddle_json("plan", *arguments)["reasons"])
        self.assertIn("the tuned table h100 has it for M 9 to 16",
                      self.heddle("explain", *arguments, "--m", "16", check=0).out)

    def test_what_is_no_file_is_refused(self):
        pipe = self.folder / "pipe.json"
        os.mkfifo(pipe)
        for path in (pipe, "/dev/zero", self.folder):
            for use in (("--tuned", path), ()):
                self.environment["HEDDLE_TUNED"] = "none" if use else str(path)
                line = self.problem("bundle", "create", "--specs", inline(), "--targets", "sm_80",
                                    "-o", self.folder / "x.hdl", *use, code=2)
                self.assertIn(f"cannot read the tuned table {path}: not a regular file", line)

    def test_none_and_nothing_are_accepted(self):
        self.plan()
        self.use("")
        self.plan()

    def test_every_command_plans_alike(self):
        predicted = self.plan()
        other_target = self.plan("h200")
        other = self.file("table.json", table(self.entry()))
        self.use(other)
        plan = self.plan()
        names = [kernel["name"] for kernel in plan["kernels"]]
        self.assertIn("M 1 to 16: tiles, of table a100", plan["reasons"])
        self.assertLess(len(plan["kernels"]), len(predicted["kernels"]))
        self.assertEqual(self.plan("h200"), other_target)
        arguments = (inline(), "--target", "a100")
        rendered = self.heddle_json("render", *arguments, "--all")["sources"]
        self.assertEqual([source["kernel"] for source in rendered], names)
        self.heddle("build", *arguments, check=0)
        # What build has compiled is what the others ask for.
        self.heddle("inspect", *arguments, "--strict", check=0)
        bundle = self.folder / "model.hdl"
        self.heddle("bundle", "create", "--specs", inline(), "--targets", "a100", "-o", bundle,
                    "--strict", check=0)
        entries = self.heddle_json("bundle", "list", bundle)["entries"]
        self.assertEqual(sorted(entry["kernel"] for entry in entries), sorted(names))
        self.use("none")
        self.heddle("build", *arguments, "--strict", check=1)

    def test_the_option_is_the_variable_for_one_call(self):
        predicted = self.plan()
        other = self.file("table.json", table(self.entry()))
        tuned = ("--target", "a100", "--tuned", f"none:{other}")
        plan = self.heddle_json("plan", inline(), *tuned)
        names = [kernel["name"] for kernel in plan["kernels"]]
        self.assertIn("M 1 to 16: tiles, of table a100", plan["reasons"])
        self.assertNotEqual(names, [kernel["name"] for kernel in predicted["kernels"]])
        rendered = self.heddle_json("render", inline(), *tuned, "--all")["sources"]
        self.assertEqual([source["kernel"] for source in rendered], names)
        self.heddle("build", inline(), *tuned, check=0)
        inspected = self.heddle_json("inspect", inline(), *tuned, "--strict")["kernels"]
        self.assertEqual([kernel["kernel"] for kernel in inspected], names)
        [one] = self.heddle_json("explain", inline(), *tuned, "--m", 16)["explanations"]
        self.assertIn("the tuned table a100 has it", one["why"])
        bundle = self.folder / "model.hdl"
        self.heddle("bundle", "create", "--specs", inline(), "--targets", "a100", "-o", bundle,
                    "--strict", "--tuned", f"none:{other}", check=0)
        self.use(other)
        self.assertEqual(self.heddle_json("plan", inline(), "--target", "a100", "--tuned", "none"),
                         predicted, "the option goes before the variable")
        for command in ("plan", "render", "explain", "build", "inspect", "run", "bench"):
            line = self.problem(command, inline(), "--tuned", "", code=2)
            self.assertIn("--tuned", line)

    def test_what_cannot_be_used_is_told(self):
        self.use(self.file("table.json", table(self.entry(kernel="none such"))))
        reasons = self.plan()["reasons"]
        self.assertTrue(any('no kernel "none such"' in reason for reason in reasons), reasons)
        self.use(self.file("old.json", table(self.entry(), version=99)))
        reasons = self.plan()["reasons"]
        self.assertTrue(any("version 99" in reason for reason in reasons), reasons)

    def test_every_command_tells_what_cannot_be_used(self):
        arguments = (inline(), "--target", "a100")
        bundle = self.folder / "model.hdl"
        good = self.entry()
        commands = (("build", *arguments), ("explain", *arguments), ("render", *arguments),
                    ("inspect", *arguments),
                    ("bundle", "create", "--specs", inline(), "--targets", "a100", "-o", bundle))
        wrong = (([self.entry(kernel="none such")], 2, 'no kernel "none such" of table a100'),
                 ([self.entry()], 99, "table a100 is of version 99 of tiles"),
                 ([self.entry(m=[1, 8], kernel="none such"), self.entry(m=[9, 16], kernel="nor")],
                  2, 'no kernel "nor" of table a100'))
        for entries, version, words in wrong:
            self.use(self.file("wrong.json", table(*entries, version=version)))
            for command in commands:
                with self.subTest(command=command[0], words=words):
                    done = self.heddle(*command, check=0)
                    told = [line for line in done.err.splitlines() if "not as measured" in line]
                    self.assertEqual(len(told), len(entries), done.err)
                    self.assertIn(words, told[-1])
                    if command[0] in ("build", "explain", "bundle"):
                        unused = self.heddle_json(*command)["unused"]
                        self.assertEqual([f"heddle: note: {one}" for one in unused], told)
        self.use(self.file("good.json", table(good)))
        for command in commands:
            self.assertNotIn("not as measured", self.heddle(*command, check=0).err)

    def use_costs(self, family="tiles", **changes):
        """A table of the built-in costs of a family, with some values changed."""
        self.use("none")
        built_in = self.heddle_json("explain", inline(), "--target", "a100", "--costs")["costs"]
        values = {one["name"]: one["value"] for one in built_in[family]}
        version = 2 if family in ("stream", "tiles") else 1
        costs = {family: {"version": version, "values": {**values, **changes}}}
        self.use(self.file("costs.json", json.dumps(
            {"heddle_tuned": 3, "gpu": "a100", "families": {}, "costs": costs, "entries": []})))

    def test_costs_of_a_table_are_used_and_shown(self):
        plain = self.plan()
        self.use_costs(start=20000)
        reasons = self.plan()["reasons"]
        self.assertIn("predicted with the costs that table a100 has of tiles", reasons)
        self.assertNotEqual(reasons, plain["reasons"])
        arguments = ("explain", inline(), "--costs", "--target")
        costs = self.heddle_json(*arguments, "a100")["costs"]
        [start] = [one for one in costs["tiles"] if one["name"] == "start"]
        self.assertEqual((start["value"], start["from"]), (20000, "table a100"))
        self.assertNotEqual(start["built_in"], 20000)
        self.assertEqual({one["from"] for one in costs["gemv"]}, {"built in"})
        text = self.heddle(*arguments, "a100", check=0).out
        self.assertRegex(text, "tiles +start +20000 +clocks +table a100 ")
        other = self.heddle_json(*arguments, "h200")["costs"]
        self.assertEqual({one["from"] for one in other["tiles"]}, {"built in"})

    def test_every_command_plans_with_the_costs(self):
        """One token is for gemv, unless that is said to be slow."""
        def families():
            return [kernel["family"] for kernel in self.plan()["kernels"]]
        arguments = (inline(), "--target", "a100")
        self.assertIn("gemv", families())
        self.use_costs("gemv", start=100000)
        self.assertEqual(set(families()), {"tiles"})
        names = [kernel["name"] for kernel in self.plan()["kernels"]]
        rendered = self.heddle_json("render", *arguments, "--all")["sources"]
        self.assertEqual([source["kernel"] for source in rendered], names)
        [one] = self.heddle_json("explain", *arguments, "--m", 1)["explanations"]
        self.assertEqual(one["chosen"]["family"], "tiles")
        self.heddle("build", *arguments, check=0)
        self.heddle("inspect", *arguments, "--strict", check=0)
        bundle = self.folder / "model.hdl"
        self.heddle("bundle", "create", "--specs", inline(), "--targets", "a100", "-o", bundle,
                    "--strict", check=0)
        [carried] = self.heddle_json("bundle", "list", bundle)["tables"]
        self.assertEqual(carried, {"gpu": "a100", "entries": 0, "costs": ["gemv"]})
        # Whoever has the bundle needs no table.
        self.environment["HEDDLE_CACHE"] = f"ro:{bundle}"
        self.use("")
        self.heddle("build", *arguments, "--strict", check=0)
        self.use("none")
        self.heddle("build", *arguments, "--strict", check=1)

    def test_wrong_costs_are_errors(self):
        for change, words in (({"start": 0}, "/costs/tiles/values/start: is out of range"),
                              ({"strat": 5}, "/costs/tiles/values/strat: the field is unknown")):
            self.use_costs(**change)
            self.assertIn(words, self.problem("plan", inline(), "--target", "a100", code=2))

    def test_wrong_files_are_errors_of_every_command(self):
        missing = self.folder / "missing.json"
        bad = self.file("bad.json", table({**ENTRY, "m": [1, 16], "kernle": "x"}))
        target = ("--target", "a100")
        commands = [("plan", inline(), *target), ("render", inline(), *target),
                    ("inspect", inline(), *target), ("build", inline(), *target),
                    ("bundle", "create", "--specs", inline(), "--targets", "a100", "-o",
                     self.folder / "model.hdl")]
        for command in commands:
            self.use(missing)
            self.assertIn(str(missing), self.problem(*command, code=2))
            self.use("a", "", "b")
            self.problem(*command, code=2)
            self.use(bad)
            done = self.heddle(*command, check=2)
            self.assertIn(f"{bad}: /entries/0/kernle: the field is unknown", done.err)
            self.assertIn(f"{bad}: /entries/0/kernel: the field is required", done.err)


if __name__ == "__main__":
    unittest.main()
