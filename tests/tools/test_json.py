"""The documents of --json: their members and that they agree with each other and with the text."""

import json
import unittest

from command import CommandTest, ROOT, SPEC, inline

H200 = ("--target", "h200")
MODEL = ROOT / "examples/models/qwen2.5-0.5b-gptq/config.json"


class JsonTest(CommandTest):

    def test_build(self):
        report = self.heddle_json("build", inline(), *H200)
        self.assertGreater(report["total_ms"], 0)
        self.assertEqual(report["target"], "h200")
        self.assertTrue(report["kernels"])
        for kernel in report["kernels"]:
            self.assertEqual(kernel["name"], "small")
            self.assertEqual(kernel["op"], "gemm")
            self.assertRegex(kernel["key"], r"^[0-9a-f]{32}-[0-9a-f]{32}$")
            self.assertEqual(kernel["cache"], "miss")
            self.assertEqual(kernel["spill_bytes"], 0)
            for name in ("registers", "shared_bytes", "cubin_bytes", "compile_ms"):
                self.assertGreater(kernel[name], 0, name)
        ranges = [kernel["m"] for kernel in report["kernels"]]
        self.assertEqual((ranges[0][0], ranges[-1][1]), (1, 16))
        for (_, end), (start, _) in zip(ranges, ranges[1:]):
            self.assertEqual(start, end + 1)

    def test_build_again_hits(self):
        first = self.heddle_json("build", inline(), *H200)
        second = self.heddle_json("build", inline(), *H200)
        self.assertEqual({kernel["cache"] for kernel in second["kernels"]}, {"hit"})
        for name in ("key", "registers", "cubin_bytes", "m"):
            self.assertEqual([kernel[name] for kernel in first["kernels"]],
                             [kernel[name] for kernel in second["kernels"]])

    def test_cache_option_names_the_folder(self):
        self.heddle_json("build", inline(), *H200, "--cache", self.folder / "other")
        self.assertTrue((self.folder / "other").is_dir())
        self.assertFalse((self.folder / "cache").exists())

    def test_build_table(self):
        report = self.heddle_json("build", inline(), *H200)
        lines = self.heddle("build", inline(), *H200, check=0).out.splitlines()
        self.assertEqual(lines[0].split()[0], "KERNEL")
        self.assertEqual(len(lines), len(report["kernels"]) + 2)
        for line, kernel in zip(lines[1:], report["kernels"]):
            self.assertIn("256 x 512", line)
            self.assertIn(f" {kernel['registers']} ", line)
            self.assertTrue(line.endswith("hit"), line)
        self.assertIn("0 compiled", lines[-1])

    def test_print_specs_is_an_input_of_build(self):
        text = self.heddle("build", MODEL, "--print-specs", check=0).out
        specs = json.loads(text)
        self.assertEqual([spec["name"] for spec in specs],
                         ["qkv_proj", "o_proj", "gate_up_proj", "down_proj", "norm", "add_norm",
                          "activation"])
        path = self.file("specs.json", text)
        self.assertEqual(self.heddle("build", path, "--print-specs", check=0).out, text)
        # One of them is a spec by itself.
        self.heddle("plan", json.dumps(specs[0]), *H200, check=0)

    def test_print_specs_of_every_model(self):
        for config in sorted((ROOT / "examples/models").glob("*/config.json")):
            with self.subTest(config.parent.name):
                done = self.heddle("build", config, "--print-specs")
                self.assertIn(done.returncode, (0, 1))
                if done.returncode == 0:
                    self.assertTrue(json.loads(done.out))
                else:
                    self.assertEqual(len(done.err.splitlines()), 1)

    def test_render_is_the_same_text(self):
        everything = self.heddle_json("render", inline(), *H200, "--all")["sources"]
        plain = self.heddle("render", inline(), *H200, "--all", check=0).out
        self.assertEqual("".join(source["text"] for source in everything), plain)
        one = self.heddle_json("render", inline(), *H200, "--m", 16)["sources"]
        self.assertEqual(one, everything[-1:])
        self.assertEqual(one[0]["arch"], "sm_90a")
        self.assertEqual(self.heddle("render", inline(), *H200, "--m", 16, check=0).out,
                         one[0]["text"])

    def test_render_forms_of_input(self):
        path = self.file("spec.json", inline())
        from_file = self.heddle("render", path, *H200, check=0).out
        from_stdin = self.heddle("render", "-", *H200, stdin=inline().encode(), check=0).out
        self.assertTrue(from_file)
        self.assertEqual(from_file, from_stdin)
        self.assertEqual(from_file, self.heddle("render", inline(), *H200, check=0).out)

    def test_plan(self):
        plan = self.heddle_json("plan", inline(), *H200, "--prove")
        self.assertEqual(plan["proof"]["mismatches"], 0)
        self.assertGreater(plan["proof"]["codes_checked"], 100)
        self.assertNotIn("proof", self.heddle_json("plan", inline(), *H200))
        text = self.heddle("plan", inline(), *H200, "--prove", check=0).out
        self.assertIn("0 mismatches", text)
        self.assertIn("0xea", text.lower())

    def test_plan_without_codes(self):
        rows = ROOT / "examples/specs/rms-norm-residual.json"
        self.assertIsNone(self.heddle_json("plan", rows, *H200, "--prove")["proof"])
        text = self.heddle("plan", rows, *H200, "--prove", check=0).out
        self.assertIn("nothing to prove: no kernel of the plan decodes weights", text)
        self.assertNotIn("codes checked", text)

    def test_explain(self):
        report = self.heddle_json("explain", inline(), *H200, "--m", "1,16", "--most", 4)
        plan = self.heddle_json("plan", inline(), *H200)
        self.assertEqual(report["target"], "h200")
        self.assertNotIn("costs", report)
        self.assertEqual([one["m"] for one in report["explanations"]], [1, 16])
        for one in report["explanations"]:
            self.assertEqual(len(one["rows"]), 4)
            self.assertGreaterEqual(one["candidates"], 4)
            times = [row["predicted_us"] for row in one["rows"]]
            self.assertEqual(times, sorted(times))
            self.assertTrue(one["chosen"]["chosen"])
            self.assertEqual([row for row in one["rows"] if row["chosen"]], [one["chosen"]])
            self.assertNotIn("measured_us", one["chosen"])
            [kernel] = [kernel for kernel in plan["kernels"] if kernel["m"] == one["chosen_m"]]
            self.assertEqual(kernel["family"], one["chosen"]["family"])
            self.assertEqual(kernel["threads"], one["chosen"]["threads"])
            self.assertEqual(kernel["shared_bytes"], one["chosen"]["shared_bytes"])
            self.assertTrue(one["why"])
        self.assertEqual([one["family"] for one in report["explanations"][0]["absent"]],
                         ["warpgroup", "byte_tiles", "byte_stream"])

    def test_explain_text_is_the_same(self):
        [one] = self.heddle_json("explain", inline(), *H200, "--m", 16)["explanations"]
        text = self.heddle("explain", inline(), *H200, "--m", 16, check=0).out
        for row in one["rows"]:
            self.assertIn(f"{row['family']:9}  {row['kernel']} ", text)
        self.assertIn(one["why"], text)
        self.assertEqual(text.count("the plan's"), 1)

    def test_explain_without_m_is_of_each_kernel(self):
        report = self.heddle_json("explain", inline(), *H200)
        plan = self.heddle_json("plan", inline(), *H200)
        self.assertEqual([one["m"] for one in report["explanations"]],
                         [kernel["m"][0] for kernel in plan["kernels"]])

    def test_explain_costs(self):
        costs = self.heddle_json("explain", inline(), *H200, "--costs")["costs"]
        self.assertLessEqual({"tiles", "stream", "warpgroup"}, set(costs))
        text = self.heddle("explain", inline(), *H200, "--costs", check=0).out
        for family, parameters in costs.items():
            self.assertLessEqual(len(parameters), 10, family)
            for one in parameters:
                self.assertGreater(one["value"], 0)
                self.assertTrue(one["unit"])
                self.assertIn(one["meaning"], text)

    def test_explain_of_attention_is_for_loads(self):
        spec = ROOT / "examples/specs/decode-attention-int8-head.json"
        report = self.heddle_json("explain", spec, *H200, "--loads", "1x1024,64x8192", "--costs")
        self.assertEqual([(one["sequences"], one["length"]) for one in report["explanations"]],
                         [(1, 1024), (64, 8192)])
        for one in report["explanations"]:
            times = [row["predicted_us"] for row in one["rows"]]
            self.assertGreater(len(times), 2)
            self.assertEqual(times, sorted(times))
            self.assertEqual(sum(row["chosen"] for row in one["rows"]), 1)
        self.assertEqual(list(report["costs"]), ["decode_attention"])
        text = self.heddle("explain", spec, *H200, "--loads", "64x8192", check=0).out
        self.assertIn("64x8192: ", text)

    def test_explain_of_one_kernel(self):
        [one] = self.heddle_json("explain", ROOT / "examples/specs/repack-gptq.json",
                                 *H200)["explanations"]
        self.assertEqual(one["candidates"], 1)
        self.assertNotIn("predicted_us", one["chosen"])

    def test_a_kernel_of_several_launches_tells_each(self):
        spec = self.folder / "moe.json"
        spec.write_text(json.dumps({
            "heddle": 1, "op": "moe", "name": "experts",
            "shape": {"hidden": 256, "intermediate": 128, "experts": 8, "top_k": 2,
                      "tokens": [1, 4], "first_expert": 3},
            "weight": {"gate_up": {"bits": 4}, "down": {"bits": 4}},
            "activation": {"dtype": "fp16"},
            "epilogue": {"activation": "silu", "gated": True}}))
        table = self.heddle("build", spec, *H200, check=0).out.splitlines()
        for line in table[1:-1]:
            self.assertRegex(line, r"^experts +256 x 128 x 5e +\d+\.\.\d+ ")
        [kernel, *_] = self.heddle_json("plan", spec, *H200)["kernels"]
        self.assertNotIn("launch", kernel)
        phases = kernel["phases"]
        schedules = [one["schedule"] for one in phases]
        self.assertEqual(schedules, sorted(set(schedules)))
        self.assertEqual(max(one["shared_bytes"] for one in phases), kernel["shared_bytes"])
        text = self.heddle("plan", spec, *H200, check=0).out
        [line] = [one for one in text.splitlines() if one.startswith("  M = 1: ")]
        self.assertEqual(line.count("grid "), len(phases))
        [one] = self.heddle_json("explain", spec, *H200, "--m", 1)["explanations"]
        self.assertEqual(len(one["chosen"]["grid"]), len(phases))
        shown = ", ".join(" x ".join(map(str, grid)) for grid in one["chosen"]["grid"])
        self.assertIn(shown, self.heddle("explain", spec, *H200, "--m", 1, check=0).out)

    def test_explain_refuses_sizes_that_an_operation_does_not_have(self):
        attention = ROOT / "examples/specs/decode-attention-int8-head.json"
        repack = ROOT / "examples/specs/repack-gptq.json"
        self.assertIn("--m 17", self.problem("explain", inline(), *H200, "--m", 17, code=2))
        self.assertIn("--loads", self.problem("explain", attention, *H200, "--m", 4, code=2))
        self.assertIn("one kernel", self.problem("explain", repack, *H200, "--m", 4, code=2))
        self.assertIn("--loads", self.problem("explain", repack, *H200, "--loads", "1x8", code=2))
        self.assertIn("--loads", self.problem("explain", inline(), *H200, "--loads", "1x8", code=2))
        self.assertIn("drawn", self.problem("explain", attention, *H200, "--loads", "1x1-8", code=2))
        self.assertIn("repack", self.problem("bench", repack, "--sweep", code=2))
        self.assertIn("repack", self.problem("explain", repack, "--measure", code=2))

    def test_explain_measures_on_a_gpu_alone(self):
        if self.has_gpu():
            self.skipTest("is about machines without a GPU")
        self.assertIn("needs a GPU", self.problem("explain", inline(), "--measure", code=1))

    def test_tune_refuses_what_no_table_decides(self):
        for spec, word in ((ROOT / "examples/specs/forced-tile.json", "tile"),
                           (ROOT / "examples/specs/repack-gptq.json", "no gemm"),
                           (inline(path="ampere"), "path")):
            self.assertIn(word, self.problem("tune", spec, code=1))

    def test_tune_without_a_gpu(self):
        if self.has_gpu():
            self.skipTest("is about machines without a GPU")
        out = self.folder / "table.json"
        for what in (inline(), "--calibrate"):
            self.assertIn("needs a GPU", self.problem("tune", what, "--out", out, code=1))
            self.assertFalse(out.exists())

    def test_inspect(self):
        report = self.heddle_json("inspect", inline(), *H200)
        for kernel in report["kernels"]:
            self.assertEqual(kernel["spill_bytes"], 0)
            self.assertGreater(kernel["counts"]["mma"] + kernel["counts"]["wgmma"], 0)
            self.assertGreater(kernel["counts"]["lop3"], 0)
            self.assertIn("prmt", kernel["counts"])
            self.assertNotIn("ptx", kernel)
        one = self.heddle_json("inspect", inline(), *H200, "--ptx", "--m", 1)["kernels"]
        self.assertEqual(len(one), 1)
        self.assertIn(".entry " + one[0]["kernel"], one[0]["ptx"])
        text = self.heddle("inspect", inline(), *H200, "--ptx", "--m", 1, check=0).out
        self.assertIn(one[0]["ptx"], text)
        self.assertRegex(text, r"// registers +\d+\n")

    def test_inspect_of_any_shape(self):
        for m, is_any in ((64, True), (1, False)):
            spec = inline(shape={"n": 256, "k": 512, "m": [m, m]})
            kernel, = self.heddle_json("inspect", spec, *H200)["kernels"]
            self.assertEqual(kernel["any_shape"], is_any)
            self.assertEqual("_any_" in kernel["kernel"], is_any)
            self.assertEqual(kernel["m"], [m, m])
            shown = f"any N, K and M, here for M {m}..{m}" if is_any else f"M {m}..{m}"
            text = self.heddle("inspect", spec, *H200, check=0).out
            self.assertIn(f"sm_90a, {shown}, tile ", text)

    def test_schema(self):
        schema = self.heddle("schema", check=0).out
        self.assertIn("2020-12", json.loads(schema)["$schema"])
        self.assertEqual(self.heddle("schema", "--json", check=0).out, schema)

    def test_targets(self):
        targets = self.heddle_json("targets")["targets"]
        names = [target["name"] for target in targets]
        for name in ("h200", "a100", "rtx4090", "b200", "sm_75", "sm_120"):
            self.assertIn(name, names)
        text = self.heddle("targets", check=0).out.splitlines()
        self.assertEqual([line.split()[0] for line in text[1:]], names)
        for name in names:
            self.heddle("render", json.dumps({**SPEC}), "--target", name, check=0)


class DeviceTest(CommandTest):

    def setUp(self):
        super().setUp()
        self.need_gpu()

    def test_build_checks_each_kernel(self):
        report = self.heddle_json("build", inline())
        for kernel in report["kernels"]:
            self.assertTrue(kernel["check"]["passed"])

    def test_run(self):
        report = self.heddle_json("run", inline(), "--m", "1,7,16")
        self.assertEqual([row["m"] for row in report["runs"]], [1, 7, 16])
        for row in report["runs"]:
            self.assertTrue(row["passed"])

    def test_bench(self):
        report = self.heddle_json("bench", inline(), "--m", "1,16")
        self.assertEqual([row["m"] for row in report["benches"]], [1, 16])
        for row in report["benches"]:
            self.assertGreater(row["us"], 0)
            self.assertEqual(row["name"], "small")
            self.assertEqual(row["spec"], 0)

    def test_bench_of_a_list(self):
        path = self.file("list.json", "[" + inline() + ", " + inline(name="second") + "]")
        report = self.heddle_json("bench", path, "--m", "1,16", "--ms", "2", "--chain")
        self.assertEqual([(row["name"], row["m"]) for row in report["benches"]],
                         [("small", 1), ("small", 16), ("second", 1), ("second", 16)])
        self.assertEqual([row["m"] for row in report["chain"]], [1, 16])

    def test_bench_of_a_step(self):
        report = self.heddle_json("bench", ROOT / "tests/models/configs/gemma2.json", "--step", "--batch", "1,8",
                                  "--context", "100", "--layers", "2", "--ms", "2")
        self.assertEqual([row["batch"] for row in report["steps"]], [1, 8])
        for row in report["steps"]:
            self.assertGreater(row["tokens_per_s"], 0)
            self.assertEqual(sum(kernel["launches"] for kernel in row["kernels"]), report["launches"])

    def test_explain_measures(self):
        [one] = self.heddle_json("explain", inline(), "--m", "16", "--most", 4,
                                 "--measure")["explanations"]
        for row in one["rows"]:
            self.assertGreater(row["measured_us"], 0)

    def test_tune(self):
        out = self.folder / "table.json"
        words = ("tune", inline(), "--most", 3, "--budget", "60s", "--out", out)
        report = self.heddle_json(*words)
        self.assertEqual([step["m"] for step in report["steps"]],
                         [[1, 1], [2, 2], [3, 4], [5, 8], [9, 16]])
        self.assertEqual(report["faults"], [])
        self.assertEqual(report["table"], json.loads(out.read_text()))
        # What is measured again takes the place of what was there.
        self.heddle_json(*words, "--m", "16")
        table = json.loads(out.read_text())
        ranges = [entry["m"] for entry in table["entries"]]
        self.assertEqual((ranges[0][0], ranges[-1][1]), (1, 16))

    def test_tune_calibrate(self):
        out = self.file("table.json", self.heddle("tune", inline(), "--m", "1", "--budget", "5s",
                                                  check=0).out)
        before = json.loads(out.read_text())
        done = self.heddle("tune", "--calibrate", "--budget", "60s", "--out", out, "--json")
        report = json.loads(done.out)
        self.assertEqual(report["faults"], [], done.err)
        table = json.loads(out.read_text())
        self.assertEqual(report["table"], table)
        self.assertEqual(table["entries"], before["entries"])
        for family in report["families"]:
            measured = family["values_are"] == "measured"
            self.assertEqual(measured, family["family"] in table.get("costs", {}))
            if measured:
                self.assertLessEqual(family["after"]["median"], family["before"]["median"])
                self.assertLessEqual(family["after"]["p90"], family["before"]["p90"])
        self.environment["HEDDLE_TUNED"] = str(out)
        self.heddle("plan", inline(), check=0)

    def test_tune_does_not_touch_the_table_of_another_gpu(self):
        text = '{"heddle_tuned": 3, "gpu": "t4", "families": {}, "entries": []}'
        out = self.file("table.json", text)
        for what in (inline(), "--calibrate"):
            self.assertIn("t4", self.problem("tune", what, "--out", out, code=2))
        self.assertEqual(out.read_text(), text)

    def test_sweep(self):
        report = self.heddle_json("bench", inline(), "--m", "16", "--ms", "1", "--sweep")
        [sweep] = report["sweeps"]
        self.assertEqual(len(sweep["rows"]), sweep["candidates"])
        self.assertGreaterEqual(sweep["times_best"], 1)
        self.assertIn(sweep["chosen"], sweep["rows"])
        times = [row["us"] for row in sweep["rows"]]
        self.assertEqual(times, sorted(times))


if __name__ == "__main__":
    unittest.main()
