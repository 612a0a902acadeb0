"""Inputs that are wrong in every way: one clear line for each problem, exit code 2, no crash."""

import json
import os
import random
import time
import unittest

from command import CommandTest, ROOT, SPEC, inline

H200 = ("--target", "h200")
READERS = ("render", "plan", "inspect", "build")
DEQUANTIZE = ROOT / "examples/specs/dequantize-gptq.json"


class BadInputTest(CommandTest):

    def test_missing_file(self):
        for command in READERS:
            with self.subTest(command):
                line = self.problem(command, "no/such/file.json", *H200, code=2)
                self.assertIn("no/such/file.json", line)
                self.assertIn("No such file", line)

    def test_a_name_on_a_hub_is_no_path(self):
        """A missing file that looks like one says what to do; other missing files do not."""
        name = "meta-llama/Llama-3-8B"
        calls = [("build", name, *H200), ("bundle", "create", "--specs", name, "--targets", "h200",
                                          "-o", self.folder / "x.hdl"),
                 ("repack", name, "-o", self.folder / "x.safetensors"),
                 ("dequantize", name, "-o", self.folder / "x.safetensors")]
        for call in calls:
            with self.subTest(call[0]):
                line = self.problem(*call, code=2)
                self.assertIn(f"cannot read {name}: No such file", line)
                self.assertIn("Hugging Face", line)
                self.assertIn(f"hf download {name}", line)
        for path in ("missing.json", "tests/missing", "no/such/folder", "some/config.json",
                     "/meta-llama/Llama-3-8B", "../meta-llama"):
            with self.subTest(path):
                self.assertNotIn("Hugging Face", self.problem("build", path, *H200, code=2))

    def test_types_and_gpus_that_others_call_so(self):
        for dtype, meant in (("float16", '"fp16"'), ("half", '"fp16"'), ("bfloat16", '"bf16"'),
                             ("fp8", '"fp8_e4m3" or "fp8_e5m2"')):
            line = self.problem("plan", inline(activation={"dtype": dtype}), *H200, code=2)
            self.assertIn(f"did you mean {meant}?", line)
        model = ROOT / "examples/models/llama-3-8b-awq/config.json"
        line = self.problem("build", model, "--kv", "fp8", *H200, code=2)
        self.assertIn("--kv: /dtype", line)
        self.assertIn('did you mean "fp8_e4m3" or "fp8_e5m2"?', line)
        for target, meant in (("h20", '"h200" or "sm_90"'), ("h20o", '"h200"'), ("ada", '"sm_89"')):
            line = self.problem("plan", inline(), "--target", target, code=2)
            self.assertIn(f"did you mean {meant}?", line)

    def test_where_the_schema_is_says_nothing_of_the_kernel(self):
        spec = self.file("spec.json", json.dumps({"$schema": "./heddle.schema.json", **SPEC}))
        self.assertEqual(self.heddle("plan", spec, *H200, check=0).out,
                         self.heddle("plan", inline(), *H200, check=0).out)
        listed = self.file("list.json", "[" + spec.read_text() + "]")
        self.assertEqual(self.heddle("build", listed, "--print-specs", check=0).out,
                         self.heddle("build", f"[{inline()}]", "--print-specs", check=0).out)
        line = self.problem("plan", json.dumps({"$schema": 1, **SPEC}), *H200, code=2)
        self.assertIn("/$schema: must be a string", line)

    def test_directory(self):
        for command in READERS:
            with self.subTest(command):
                self.assertIn("directory", self.problem(command, self.folder, *H200, code=2))

    @unittest.skipIf(os.geteuid() == 0, "root may read every file")
    def test_unreadable_file(self):
        path = self.file("secret.json", inline())
        path.chmod(0)
        self.assertIn("denied", self.problem("plan", path, *H200, code=2))

    def test_endless_file(self):
        self.assertIn("larger than", self.problem("plan", "/dev/zero", *H200, code=2))

    def test_endless_list(self):
        """Read until it is clear what it is."""
        path = self.file("ones.json", "[" + "1," * 2_000_000 + "1]")
        start = time.monotonic()
        done = self.heddle("build", path, *H200, "--list", check=2)
        self.assertLess(time.monotonic() - start, 10)
        self.assertIn("ones.json[0]", done.err)
        self.assertIn("was not read", done.err)

    def test_empty_values_are_refused_by_name(self):
        checkpoint = ROOT / "tests/golden/gptq4_k128_n32_g32"
        for option, arguments in (("SPEC", ("plan", "")),
                                  ("MODEL", ("build", "")),
                                  ("--target", ("plan", inline(), "--target", "")),
                                  ("--output", ("repack", checkpoint, "-o", "")),
                                  ("--config", ("repack", checkpoint, "-o", "x", "--config", "")),
                                  ("--output", ("dequantize", checkpoint, "-o", "")),
                                  ("--out", ("tune", inline(), "--out", "")),
                                  ("--output", ("bundle", "merge", "a.hdl", "-o", "")),
                                  ("--tables", ("bundle", "extract", "a.hdl", "-o", "x",
                                                "--tables", ""))):
            with self.subTest(option=option, arguments=arguments):
                self.assertIn(f"{option}: is empty", self.problem(*arguments, code=2))

    def test_counts_of_tokens(self):
        for count in ("0", "-1", "1.5", "abc", "", "9" * 20):
            for command in ("render", "run", "bench"):
                with self.subTest(command=command, count=count):
                    line = self.problem(command, inline(), "--m", count, code=2)
                    self.assertLess(len(line), 200)
        line = self.problem("bench", inline(), "--m", "9" * 20, code=2)
        self.assertIn(f"from 1 to {2**63 - 1}", line)

    def test_lists_with_empty_elements(self):
        attention = ROOT / "examples/specs/decode-attention-int8-head.json"
        for option, arguments in (("--m", ("explain", inline(), "--target", "h200")),
                                  ("--loads", ("explain", attention, "--target", "h200")),
                                  ("--targets", ("bundle", "create", "--specs", inline(), "-o",
                                                 self.folder / "model.hdl")),
                                  ("--batch", ("bench", inline(), "--step"))):
            one = {"--loads": "1x100", "--targets": "h200"}.get(option, "1")
            for text in (f"{one},,{one}", f"{one},", f",{one}"):
                for given in ((option, text), (f"{option}={text}",)):
                    with self.subTest(given):
                        line = self.problem(*arguments, *given, code=2)
                        self.assertIn(f'{option}: "{text}" has an empty element', line)

    def test_loads_that_are_none(self):
        attention = ROOT / "examples/specs/decode-attention-int8-head.json"
        explain = ("explain", attention, "--target", "h200", "--loads")
        self.assertIn("up to 16777216 tokens", self.problem(*explain, "1x16777217", code=2))
        line = self.problem(*explain, "64x1-16384", code=2)
        self.assertIn("write 64x16384", line)

    def test_one_fault_has_one_line(self):
        config = self.file("config.json", '{"model_type": 5}')
        line = self.problem("build", config, *H200, code=2)
        self.assertIn("/model_type", line)
        spec = {**json.loads(inline()), "shpae": {"n": 256, "k": 512}}
        del spec["shape"]
        line = self.problem("plan", json.dumps(spec), "--target", "h200", code=2)
        self.assertIn('did you mean "shape"?', line)

    def test_a_model_where_a_spec_is_wanted(self):
        model = ROOT / "examples/models/llama-3-8b-awq/config.json"
        for command in ("render", "plan", "inspect", "run"):
            with self.subTest(command):
                self.assertIn("heddle build takes", self.problem(command, model, code=2))

    def test_empty(self):
        for command in READERS:
            with self.subTest(command):
                self.problem(command, self.file("empty.json", ""), *H200, code=2)
                self.problem(command, "-", *H200, code=2)

    def test_garbage(self):
        noise = random.Random(1).randbytes(4096)
        texts = [noise, b"\0" * 4096, b"\xff\xfe{}", b"{", b"[", b"[1,", b'{"heddle": 1', b"null",
                 b"17", b'"spec"', b"[" * 100000, b'{"a":' * 100000, b"{}{}", b"[[]]", b"[]",
                 b'{"heddle": NaN}', b'{"heddle": 1e999}', b"nan", b'{"heddle": 1, "heddle": 1}']
        for command in READERS:
            for text in texts:
                with self.subTest(command=command, text=text[:20]):
                    path = self.file("garbage.json", text)
                    done = self.heddle(command, path, *H200, check=2)
                    self.assertEqual(done.out, "")
                    self.assertTrue(done.err)
                    for line in done.err.splitlines():
                        self.assertTrue(line.startswith("heddle: "), line)
                        self.assertLess(len(line), 3000)

    def test_ten_megabytes(self):
        noise = random.Random(2).randbytes(10 << 20)
        for text in (noise, b"[" * (10 << 20), b'{"x": "' + b"y" * (10 << 20) + b'"}',
                     b" " * (10 << 20)):
            for command in ("plan", "build"):
                with self.subTest(command=command, text=text[:20]):
                    done = self.heddle(command, "-", *H200, stdin=text, check=2)
                    self.assertLess(len(done.err), 10000)

    def test_every_problem_has_a_line_with_its_place(self):
        spec = {**SPEC, "shape": {"n": -8, "k": "many"}, "wibble": 1}
        path = self.file("bad.json", json.dumps(spec))
        lines = self.heddle("plan", path, *H200, check=2).err.splitlines()
        self.assertEqual(len(lines), 3)
        for pointer in ("/shape/n", "/shape/k", "/wibble"):
            self.assertEqual(sum(f"{path}: {pointer}" in line for line in lines), 1, lines)

    def test_a_list_on_the_command_line(self):
        self.assertIn("inline spec: ", self.problem("plan", "[]", *H200, code=2))
        self.assertIn("inline spec: ", self.problem("plan", f"[{inline()}]", *H200, code=2))
        specs = self.heddle("build", f"[{inline()}]", "--print-specs", check=0).out
        self.assertEqual(len(json.loads(specs)), 1)
        path = self.file("[list].json", inline())
        self.heddle("plan", path, *H200, check=0)

    def test_a_table_that_cannot_be_written_is_not_measured(self):
        """It is told before a GPU is asked for."""
        absent = self.folder / "absent" / "table.json"
        for arguments in ((inline(),), ("--calibrate",)):
            line = self.problem("tune", *arguments, "--out", absent, code=2)
            self.assertIn(f"cannot write {absent}", line)
        self.assertFalse(absent.parent.exists())

    def test_duplicate_key_inside_a_list(self):
        text = "[" + inline() + ", " + inline()[:-1] + ', "op": "gemm"}]'
        path = self.file("list.json", text)
        self.assertIn("list.json[1]", self.problem("build", path, *H200, code=2))

    def test_json_errors_leave_stdout_empty(self):
        done = self.heddle("plan", inline(op="wibble"), *H200, "--json", check=2)
        self.assertEqual(done.out, "")
        self.assertIn("/op", done.err)

    def test_unknown_target_lists_the_known(self):
        line = self.problem("plan", inline(), "--target", "h2000", code=2)
        self.assertIn("h200", line)
        self.assertIn("sm_80", line)

    def test_a_misspelt_operation_is_all_that_is_said(self):
        spec = (ROOT / "examples/specs/kv-append-mixed.json").read_text()
        line = self.problem("plan", self.file("spec.json", spec.replace("kv_append", "kv_apend")),
                            *H200, code=2)
        self.assertIn('did you mean "kv_append"?', line)

    def test_hints_are_places_in_what_the_user_wrote(self):
        for kv, hint in (('{"k": {"page_size": 16}}', "(it belongs at /page_size)"),
                         ('{"v": {"oder": "nhd"}}',
                          '(did you mean "order"? it belongs at /order)'),
                         ('{"kv_heads": 8}', "order")):
            with self.subTest(kv):
                line = self.problem("build", ROOT / "examples/models/llama-3-8b-awq/config.json",
                                    "--kv", kv, *H200, code=2)
                self.assertTrue(line.rstrip().endswith(hint), line)

    def test_m_outside_of_the_spec(self):
        line = self.problem("render", inline(), *H200, "--m", "17", code=2)
        self.assertIn("16", line)

    def test_m_of_an_operation_that_has_none(self):
        for command in ("render", "run", "bench"):
            with self.subTest(command):
                target = H200 if command == "render" else ()
                line = self.problem(command, DEQUANTIZE, *target, "--m", "1", code=2)
                self.assertIn("dequantize", line)

    def test_what_only_gemms_are_timed_with(self):
        for option in (["--chain"], ["--sweep"], ["--baseline", "cublas"]):
            for command in ("bench", "run")[:2 if option[0] == "--baseline" else 1]:
                line = self.problem(command, DEQUANTIZE, *option, code=2)
                self.assertIn(option[0], line)
                self.assertIn("dequantize", line)

    def test_a_list_to_time_is_of_gemms(self):
        path = self.file("list.json", "[" + inline() + ", " + DEQUANTIZE.read_text() + "]")
        self.assertIn("dequantize", self.problem("bench", path, code=2))
        path = self.file("list.json", "[" + inline(name="wide", shape={"n": 64, "k": 64}) + ", " +
                         inline() + "]")
        self.assertIn("17", self.problem("bench", path, "--m", "17", code=2))

    def test_a_sweep_is_of_one_spec(self):
        path = self.file("list.json", "[" + inline() + ", " + inline(name="second") + "]")
        self.assertIn("one spec", self.problem("bench", path, "--m", "1", "--sweep", code=2))

    def test_nothing_may_follow_behind_a_nul(self):
        model = (ROOT / "examples/models/llama-3-8b-awq/config.json").read_text()
        kv = self.file("kv.json", '{"dtype": "int8"}\0 garbage')
        for text in (inline(), "[" + inline() + "]", model):
            path = self.file("nul.json", text + "\0 garbage }{")
            self.assertIn("NUL", self.problem("build", path, *H200, code=2))
        self.assertIn("NUL", self.problem("plan", self.file("spec.json", inline() + "\0"), *H200,
                                          code=2))
        model_path = self.file("config.json", model)
        self.assertIn("NUL", self.problem("build", model_path, "--kv", kv, *H200, code=2))

    def test_a_list_of_bad_specs_is_cut(self):
        path = self.file("list.json", "[" + ",".join(['{"op": "x"}'] * 20000) + "]")
        done = self.heddle("build", path, *H200, check=2)
        self.assertLess(len(done.err), 20000)
        self.assertRegex(done.err.splitlines()[-1], r"what follows \[[0-9]+\] was not read")

    def test_control_characters_do_not_reach_the_terminal(self):
        done = self.heddle("plan", '{"heddle": 1, "\\u001b[31mred": 2}', *H200, check=2)
        self.assertNotIn("\x1b", done.err)


class UnsupportedTest(CommandTest):

    BF16 = {"activation": {"dtype": "bf16"}}

    def test_refused_by_the_target(self):
        for command in ("plan", "render", "inspect", "build"):
            with self.subTest(command):
                done = self.heddle(command, inline(**self.BF16), "--target", "sm_75", check=1)
                self.assertTrue(done.err.startswith("heddle: "))
                self.assertNotIn("\nheddle: internal", done.err)

    def test_a_matrix_to_quantise_that_cuts_its_first_group(self):
        shard = json.dumps(
            {
                "heddle": 1,
                "op": "quantize_weight",
                "shape": {"n": 256, "k": 352},
                "input": {"dtype": "fp16"},
                "weight": {"bits": 4, "group_size": 128, "group_offset": 96},
            }
        )
        for command in ("plan", "render", "inspect", "build"):
            with self.subTest(command):
                done = self.heddle(command, shard, "--target", "h200", check=1)
                self.assertIn("/weight/group_offset", done.err)
                self.assertIn("a scale is made from all columns of its group", done.err)

    def test_build_makes_the_others(self):
        specs = [json.loads(inline(name="good")), json.loads(inline(name="bad", **self.BF16))]
        path = self.file("list.json", json.dumps(specs))
        done = self.heddle("build", path, "--target", "sm_75", "--json", check=1)
        report = json.loads(done.out)
        self.assertEqual({kernel["name"] for kernel in report["kernels"]}, {"good"})
        self.assertEqual([entry["name"] for entry in report["unserved"]], ["bad"])
        self.assertTrue(report["unserved"][0]["reasons"])
        self.assertIn("no kernel for bad:", done.err)

    def test_a_list_of_several_operations(self):
        path = self.file("list.json", "[" + inline(name="gemm-one") + ", " +
                         DEQUANTIZE.read_text() + "]")
        done = self.heddle("build", path, *H200, "--json", check=0)
        ops = {kernel["name"]: kernel["op"] for kernel in json.loads(done.out)["kernels"]}
        self.assertEqual(ops, {"gemm-one": "gemm", "dequantize-gptq": "dequantize"})

    def test_model_without_kernels(self):
        config = json.loads((ROOT / "examples/models/llama-3-8b-awq/config.json").read_text())
        config["quantization_config"] = {"quant_method": "bitsandbytes"}
        path = self.file("config.json", json.dumps(config))
        self.assertIn("bitsandbytes", self.problem("build", path, *H200, code=1))


class NoGpuTest(CommandTest):

    def setUp(self):
        super().setUp()
        if self.has_gpu():
            self.skipTest("this machine has a GPU")

    def test_target_is_asked_for(self):
        for command in READERS:
            with self.subTest(command):
                line = self.problem(command, inline(), code=1)
                self.assertIn("--target h200", line)

    def test_run_and_bench_say_so(self):
        for command in ("run", "bench"):
            with self.subTest(command):
                self.assertIn("GPU", self.problem(command, inline(), "--m", "1,7", code=1))
                self.assertIn("GPU", self.problem(command, DEQUANTIZE, code=1))
        model = ROOT / "examples/models/llama-3-8b-awq/config.json"
        self.assertIn("GPU", self.problem("bench", model, "--m", "1", "--chain", code=1))
        self.assertIn("GPU", self.problem("bench", inline(), "--m", "1", "--sweep", code=1))
        self.assertIn("GPU", self.problem("bench", model, "--step", "--gated", code=1))
        self.assertIn("GPU", self.problem("bench", ROOT / "examples/specs/rms-norm-residual.json",
                                          "--behind", inline(), code=1))


class StepTest(CommandTest):
    """heddle bench --step and --behind: what they take."""
    MODEL = ROOT / "examples/models/llama-3-8b-awq/config.json"

    def test_options_that_do_not_go_with_a_step(self):
        for option in (("--m", "1"), ("--baseline", "cublas"), ("--loads", "1x64"), ("--chain",),
                       ("--sweep",), ("--behind", inline())):
            with self.subTest(option):
                line = self.problem("bench", self.MODEL, "--step", *option, code=2)
                self.assertIn(option[0], line)
                self.assertIn("--step", line)

    def test_options_of_a_step_alone(self):
        for option in (("--batch", "1"), ("--context", "64"), ("--kv", "int8"), ("--gated",),
                       ("--layers", "1")):
            with self.subTest(option):
                line = self.problem("bench", self.MODEL, *option, code=2)
                self.assertIn(f"{option[0]} requires --step", line)

    def test_what_a_step_is_of(self):
        for argument in (inline(), ROOT / "tests/golden/gptq4_k128_n32_g32"):
            line = self.problem("bench", argument, "--step", code=2)
            self.assertIn("it takes neither specs nor tensors", line)
        for name, why in (("mixtral", "needs a GPU"), ("qwen2_moe", "shared experts"),
                          ("deepseek_v3", "latent attention"),
                          ("olmo2", "after its halves"), ("gpt2", "RMSNorms")):
            with self.subTest(name):
                path = ROOT / f"tests/models/configs/{name}.json"
                self.assertIn(why, self.problem("bench", path, "--step", code=1))

    def test_values_out_of_range(self):
        for option in (("--batch", "0"), ("--batch", "1025"), ("--batch", "1,x"), ("--context", "0"),
                       ("--kv", ""), ("--kv", "int8:haed"), ("--layers", "33")):
            with self.subTest(option):
                self.problem("bench", self.MODEL, "--step", *option, code=2)

    def test_what_is_behind_a_gemm(self):
        rows = ROOT / "examples/specs/rms-norm-residual.json"
        self.assertIn("one row_transform", self.problem("bench", inline(), "--behind", inline(), code=2))
        self.assertIn("is empty", self.problem("bench", rows, "--behind", "", code=2))
        self.assertIn("one gemm", self.problem("bench", rows, "--behind", rows, code=2))


class CacheOptionTest(CommandTest):
    """--kv of heddle build: words, blocks and files that mean the same."""

    MODEL = ROOT / "examples/models/llama-3-8b-awq/config.json"

    def cache_specs(self, kv, model=MODEL):
        out = self.heddle("build", model, "--kv", kv, "--print-specs", check=0).out
        return [spec for spec in json.loads(out) if spec["op"] in ("kv_append", "decode_attention")]

    def test_words_blocks_and_files_agree(self):
        append, attention = self.cache_specs("int4:group:64")
        self.assertEqual((append["op"], attention["op"]), ("kv_append", "decode_attention"))
        self.assertEqual(append["kv"], attention["kv"])
        self.assertEqual(append["kv"]["v"]["group_size"], 64)
        block = {"dtype": "int4", "granularity": "group", "group_size": 64}
        for kv in (json.dumps(block), self.file("kv.json", json.dumps(block)),
                   self.file("spec.json", json.dumps({"op": "kv_append", "kv": block})),
                   "int4:group:64,int4:group:64"):
            with self.subTest(kv):
                self.assertEqual(self.cache_specs(kv), [append, attention])
        both = self.cache_specs("int8,fp8_e4m3")[0]["kv"]
        self.assertEqual((both["k"]["dtype"], both["v"]["dtype"]), ("int8", "fp8_e4m3"))

    def test_pages_hold_whole_blocks_of_scales_per_channel(self):
        for kv, tokens, pages in (("int4:channel:128,int4:head", 128, 128),
                                  ("int4:channel:32,int4:head", 32, 64),
                                  ("int8:channel,int8", 32, 64)):
            with self.subTest(kv):
                for spec in self.cache_specs(kv):
                    self.assertEqual(spec["kv"]["k"]["group_size"], tokens)
                    self.assertEqual(spec["kv"]["page_size"], pages)

    def test_a_model_that_is_not_quantised(self):
        config = json.loads(self.MODEL.read_text())
        del config["quantization_config"]
        path = self.file("config.json", json.dumps(config))
        self.assertEqual(len(self.cache_specs("int8:head", path)), 2)
        self.problem("build", path, *H200, code=1)

    def test_what_is_wrong_is_said(self):
        for kv, said in (("int8:haed", 'did you mean "head"?'), ("int9", "--kv: /dtype"), ("", "--kv: is empty"),
                         ("int8:", "DTYPE[:GRANULARITY[:GROUP]]"), ("int8,int8,int8", "K and V"),
                         ("int4:group:x", "no number"), ("no/such.json", "No such file"),
                         ("{}}", "no JSON object"),
                         ('{"k":' + "[" * 50000 + "]" * 50000 + "}", "nested too deep")):
            with self.subTest(kv):
                line = self.problem("build", self.MODEL, "--kv", kv, *H200, code=2)
                self.assertIn(said, line)

    def test_a_cache_that_no_kernel_serves_is_refused_everywhere(self):
        commands = (("size", self.MODEL, *H200), ("build", self.MODEL, *H200),
                    ("build", self.MODEL, *H200, "--list"),
                    ("bundle", "create", "--specs", self.MODEL, "--targets", "h200", "-o",
                     self.folder / "model.hdl"))
        for kv, said in (("nvfp4:head", "--kv: /granularity: NVFP4 has a scale for each group"),
                         ("int8:none", "--kv: /granularity: codes of this type need scales"),
                         ("int8:group:48", "--kv: /group_size: groups are whole runs"),
                         ("int4:channel", "--kv: /v/granularity: scales of V per channel"),
                         ("fp16:head", "--kv: /granularity: 16-bit values have no scales"),
                         ('{"dtype":"int8","page_size":3}', "--kv: /page_size: scales of 16 bits"),
                         ('{"layout":"contiguous","page_size":32}',
                          "--kv: /page_size: a contiguous cache has no pages")):
            for command in commands:
                with self.subTest(kv=kv, command=command[0]):
                    self.assertIn(said, self.problem(*command, "--kv", kv, code=2))

    def test_a_scaling_that_lacks_numbers_is_not_called_another(self):
        for scaling, said in (({"rope_type": "llama3"},
                               "llama3, cannot be computed: factor is missing"),
                              ({"rope_type": "yarn", "factor": -1}, "factor is -1 (allowed: 1 to"),
                              ({"rope_type": "dynamic", "factor": 2}, "scaled in another way than")):
            config = json.loads(self.MODEL.read_text())
            config["rope_scaling"] = scaling
            path = self.file("config.json", json.dumps(config))
            with self.subTest(scaling):
                done = self.heddle("build", path, "--list", "--kv", "int8:head", *H200, check=0)
                self.assertIn(said, done.out + done.err)

    def test_a_form_that_kv_does_not_take(self):
        self.assertIn("config.json", self.problem("build", "-", "--kv", "int8", *H200, code=2,
                                                  stdin=inline().encode()))


if __name__ == "__main__":
    unittest.main()
