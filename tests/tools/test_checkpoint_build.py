"""heddle build on a folder: its kernels are those that the repacked tensors need, and what it makes
of a config without tensors."""

import dataclasses
import json
import os
import unittest

from checkpoint_cases import FP8, SERVED, compressed, floats, gptq_config, ints
from checkpoint_forms import tensor
from checkpoint_problem_cases import AWQ
from command import CommandTest, inline
from safetensors_file import load

# Each has kernels of another kind.
BUILT = ("awq-gemm", "gptq-act-order", "gptq-sym", "gptq-3-bits", "ct-int8-tensor-zeros",
         "ct-fp8-block", "ct-mixed-precision", "fp8-block-k-ragged", "fp8-e5m2-tensor",
         "modelopt-nvfp4-awq", "mxfp4_blocks")

LLAMA = {"model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 4096,
         "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
         "num_hidden_layers": 32, "vocab_size": 128256, "tie_word_embeddings": False,
         "rms_norm_eps": 1e-5}
QKV, O = ("qkv_proj", 6144, 4096), ("o_proj", 4096, 4096)
Q, K, V = ("q_proj", 4096, 4096), ("k_proj", 1024, 4096), ("v_proj", 1024, 4096)
GATE_UP, DOWN = ("gate_up_proj", 28672, 4096), ("down_proj", 4096, 14336)
HEAD = ("lm_head", 128256, 4096)
LAYERS = (QKV, O, GATE_UP, DOWN)
PLAIN_HEAD = "lm_head is not quantised"

UINT4 = (4, "uint", 128)
FP8_ROWS = (8, "e4m3", -1)
FP4 = (4, "e2m1", 16)
INT4 = ints(4, 128)
ATTENTION_PLAIN = ("q_proj (32 layers)", "not quantised")


def kernels(linears, weight):
    return [(*linear, *weight) for linear in linears]


def quantized(quantization, **changes):
    return {**LLAMA, **changes, "quantization_config": quantization}


def groups(**members):
    return {name: {"targets": [target], "weights": weights, **others}
            for name, (target, weights, others) in members.items()}


MIXED = groups(a=("re:.*self_attn.*", floats(), {"format": "float-quantized", "input_activations": {
    "num_bits": 8}}), b=("re:.*mlp.*", floats(4, "tensor_group", group_size=16),
                         {"format": "nvfp4-pack-quantized"}))
ALIKE = groups(a=("re:.*self_attn.*", INT4, {}), b=("re:.*mlp.*", INT4, {}))
SMALL = {"hidden_size": 2048, "intermediate_size": 8192, "head_dim": 64, "num_hidden_layers": 16,
         "tie_word_embeddings": True}
SMALL_LAYERS = (("qkv_proj", 3072, 2048), ("o_proj", 2048, 2048), ("gate_up_proj", 16384, 2048),
                ("down_proj", 2048, 8192))

# Name: config, other configs, (name, n, k, bits, type, group) of each kernel, what the notes say.
CONFIGS = {
    "awq-self-attn-not-converted": (
        quantized({**AWQ, "group_size": 128, "modules_to_not_convert": ["self_attn"]}), {},
        kernels((GATE_UP, DOWN), UINT4), (*ATTENTION_PLAIN, "assumed: zero points differ")),
    "ct-mixed-precision": (
        quantized(compressed("mixed-precision", None, config_groups=MIXED)), {},
        kernels((QKV, O), FP8_ROWS) + kernels((GATE_UP, DOWN), FP4), ("quantises activations",)),
    "ct-targets-subset": (
        quantized(compressed("pack-quantized", None,
                             config_groups=groups(a=("re:.*mlp.*", INT4, {})))), {},
        kernels((GATE_UP, DOWN), UINT4), ATTENTION_PLAIN),
    "ct-two-groups-alike": (
        quantized(compressed("pack-quantized", None, config_groups=ALIKE)), {},
        kernels(LAYERS, UINT4), (PLAIN_HEAD,)),
    "ct-w5a16": (
        quantized(compressed("pack-quantized", ints(5, 128))), {},
        kernels(LAYERS, (5, "uint", 128)), (PLAIN_HEAD,)),
    "hf-quant-config-only": (
        LLAMA, {"hf_quant_config.json": {"producer": {"name": "modelopt"}, "quantization": {
            "quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}}},
        # A scale for a whole tensor: one to a row where several tensors are fused.
        kernels((QKV, GATE_UP), FP8_ROWS) + kernels((O, DOWN), (8, "e4m3", 0)),
        ("key-value cache", PLAIN_HEAD)),
    "quantize-config-only": (
        LLAMA, {"quantize_config.json": {"bits": 4, "group_size": 128, "sym": True,
                                         "desc_act": False}},
        kernels(LAYERS, UINT4), (PLAIN_HEAD,)),
    "ignore-lmhead-by-regex": (
        quantized(compressed("pack-quantized", INT4, ignore=["re:.*head$"])), {},
        kernels(LAYERS, UINT4), (PLAIN_HEAD,)),
    "lmhead-not-ignored": (
        quantized(compressed("pack-quantized", INT4, ignore=[])), {},
        kernels((*LAYERS, HEAD), UINT4), ("assumed: scales have the type of the activations",)),
    "tied-embeddings": (
        quantized(compressed("float-quantized", floats(), ignore=[]), **SMALL), {},
        kernels(SMALL_LAYERS, FP8_ROWS), ("tie_word_embeddings",)),
    "v-proj-not-quantised": (
        quantized(gptq_config(group_size=128, modules_to_not_convert=["v_proj"])), {},
        kernels((Q, K, O, GATE_UP, DOWN), UINT4), ("v_proj (32 layers): not quantised",)),
    "gptq-dynamic-bits": (
        quantized(gptq_config(group_size=128, dynamic={
            r".*down_proj.*": {"bits": 8, "group_size": 64}, r"-:.*v_proj": {}})), {},
        kernels((Q, K, O, GATE_UP), UINT4) + kernels((DOWN,), (8, "uint", 64)), ("v_proj",)),
    "one-layer-of-its-own": (
        quantized(gptq_config(group_size=128, dynamic={
            r".*\.7\.self_attn\.k_proj": {"bits": 8}})), {},
        kernels((QKV, O, GATE_UP, DOWN, Q, V), UINT4) + kernels((K,), (8, "uint", 128)),
        ("assumed: zero points differ",)),
    "fp8-blocks-of-ragged-k": (
        quantized({**FP8, "weight_block_size": [128, 128]}, intermediate_size=10944), {},
        kernels((QKV, O, ("gate_up_proj", 21888, 4096), ("down_proj", 4096, 10944)),
                (8, "e4m3", 128)),
        (PLAIN_HEAD, "gate_up_proj: the scheme quantises activations, too")),
    "in-text-config": (
        {"model_type": "kimi_k25", "vision_config": {},
         "text_config": quantized(compressed("pack-quantized", INT4))}, {},
        kernels(LAYERS, UINT4), (PLAIN_HEAD,)),
}


class BuildTest(CommandTest):

    def test_the_kernels_of_a_folder_serve_its_repacked_tensors(self):
        cases = [case for case in SERVED if case.name in BUILT]
        self.assertEqual(len(cases), len(BUILT))
        out = self.folder / "out.safetensors"
        for case in cases:
            with self.subTest(case.name):
                folder = case.write(self.folder / case.name)
                cache = self.folder / f"cache-{case.name}"
                self.heddle("build", folder, "--target", "sm_80", "--cache", cache, check=0)
                self.heddle("repack", folder, "--target", "sm_80", "-o", out, check=0)
                specs = [json.loads(text) for name, text in load(out)[0].items()
                         if name.endswith(".heddle")]
                path = self.file("specs.json", json.dumps(specs))
                report = self.heddle_json("build", path, "--target", "sm_80", "--cache", cache,
                                          "--strict")
                self.assertEqual(report["unserved"], [])
                self.assertEqual({kernel["cache"] for kernel in report["kernels"]}, {"hit"})

    def test_gated_layers_are_the_same_for_build_and_repack(self):
        case = next(case for case in SERVED if case.name == "gptq-sym")
        layer = "model.layers.0.mlp.down_proj"
        tensors = {name.replace("down_proj", part): content for part in ("gate_proj", "up_proj")
                   for name, content in case.tensors.items() if name.startswith(layer)}
        folder = dataclasses.replace(case, name="gated", tensors=tensors,
                                     config={**case.config, "model_type": "llama"}).write(
                                         self.folder / "gated")
        packed = {}
        for option in ([], ["--gated"]):
            out = self.folder / "out.safetensors"
            self.heddle("repack", folder, *option, "-o", out, check=0)
            metadata, content = load(out)
            name = "model.layers.0.mlp.gate_up_proj.heddle"
            packed[bool(option)] = content[name][2]
            spec = json.loads(metadata[name])
            self.assertEqual(spec["epilogue"].get("gated", False), bool(option))
            self.assertEqual(spec["epilogue"]["activation"], "silu" if option else "none")
            specs = json.loads(self.heddle("build", folder, *option, "--print-specs", check=0).out)
            for built in specs:
                del built["name"]
            self.assertEqual(specs, [spec])
        self.assertEqual(len(packed[True]), len(packed[False]))
        self.assertNotEqual(packed[True], packed[False])
        for command in (["build", folder], ["repack", folder, "-o", self.folder / "no"]):
            line = self.problem(*command, "--gated", "--no-fuse", code=2)
            self.assertIn("one layer", line)
        line = self.problem("build", inline(), "--gated", "--print-specs", code=2)
        self.assertIn("epilogue.gated", line)

    def test_a_pipe_in_the_place_of_the_config_is_refused(self):
        folder = self.folder / "pipe"
        folder.mkdir()
        os.mkfifo(folder / "config.json")
        line = self.problem("build", folder, "--print-specs", code=2)
        self.assertIn("not a regular file", line)

    def test_what_stands_beside_the_config_can_be_read(self):
        """A model whose quantisation cannot be read is none that is not quantised."""
        places = {"link": lambda path: path.symlink_to("nowhere.json"), "folder": os.mkdir,
                  "pipe": os.mkfifo, "empty": lambda path: path.write_text("")}
        for file in ("hf_quant_config.json", "quantize_config.json", "quant_config.json"):
            for kind, make in places.items():
                with self.subTest(kind, file=file):
                    folder = self.write(f"{kind}-{file[:6]}", LLAMA, {})
                    make(folder / file)
                    line = self.problem("build", folder, "--dense", "--print-specs", code=2)
                    self.assertIn(f"{folder / file}: ", line)

    def test_a_fault_is_said_of_the_file_that_has_it(self):
        gptq = {"quant_method": "gptq", "bits": 4, "group_size": 128}
        for file in ("hf_quant_config.json", "quantize_config.json", "quant_config.json"):
            for number, text in enumerate(("null", "[1, 2]", '{"bits": 4,}', '{"bits": []}')):
                with self.subTest(file=file, text=text):
                    folder = self.write(f"{number}-{file}", LLAMA, {})
                    (folder / file).write_text(text)
                    done = self.heddle("build", folder, "--print-specs", check=2 if number < 3
                                       else None)
                    self.assertNotEqual(done.returncode, 0)
                    self.assertIn(f"heddle: {folder / file}: ", done.err)
        for file in ("quantize_config.json", "quant_config.json"):
            folder = self.write(f"other-{file}", quantized(gptq), {file: {"bits": 8}})
            line = self.heddle("build", folder, "--print-specs").err
            self.assertIn(f"{folder / 'config.json'}: /quantization_config/bits: {file} says 8",
                          line)

    def plain_case(self, name, **config):
        """A folder with a quantised layer, others that are not, and a table that is looked up."""
        case = next(case for case in SERVED if case.name == "gptq-sym")
        tensors = {**case.tensors}
        for module, shape in (("model.layers.0.mlp.up_proj", [32, 64]),
                              ("model.layers.1.mlp.up_proj", [32, 64]),
                              ("model.layers.0.mlp.experts.0.w1", [16, 64]),
                              ("model.layers.0.mlp.experts.1.w1", [16, 64]),
                              ("visual.blocks.0.fc1", [8, 16]), ("visual.blocks.1.fc1", [8, 16]),
                              ("model.embed_tokens", [64, 64])):
            tensors[module + ".weight"] = tensor("BF16", shape, "H", [0] * (shape[0] * shape[1]))
        return dataclasses.replace(case, name=name, config={**case.config, **config},
                                   tensors=tensors).write(self.folder / name)

    def test_every_layer_of_a_folder_is_listed(self):
        folder = self.plain_case("plain")
        report = self.heddle_json("build", folder, "--list", "--target", "sm_80")
        layers = {layer["parts"][0]["module"]: layer for layer in report["layers"]}
        self.assertEqual(set(layers), {"mlp.down_proj", "mlp.up_proj", "mlp.experts.*.w1",
                                       "visual.blocks.*.fc1"})
        self.assertEqual(layers["mlp.down_proj"]["kernel"], "down_proj")
        up = layers["mlp.up_proj"]
        self.assertEqual((up["layers"], up["n"], up["k"], up["weights"], up["kernel"]),
                         ([0, 1], 32, 64, "BF16", None))
        self.assertIn("not quantised", up["reason"])
        self.assertEqual(layers["mlp.experts.*.w1"]["matrices"], 2)
        self.assertEqual(layers["visual.blocks.*.fc1"]["count"], 2)
        self.assertEqual((report["served"], report["total"]), (1, 6))
        self.heddle("build", folder, "--list", "--all", "--target", "sm_80", check=1)
        [note] = report["notes"]
        self.assertIn("mlp.down_proj: its weights are 16 x 64, but the config says 64 x 128", note)
        self.assertEqual(len(report["model"]["blocks"]), 1)

    def test_a_type_that_is_not_known_is_served_from_its_tensors(self):
        folder = self.plain_case("unknown", model_type="no_such_type")
        report = self.heddle_json("build", folder, "--list", "--target", "sm_80")
        self.assertEqual(report["served"], 1)
        self.assertEqual(len(report["notes"]), 1)
        self.assertIn('"no_such_type" is not known', report["notes"][0])
        self.assertNotIn("blocks", report["model"])
        line = self.problem("build", folder / "config.json", "--list", "--target", "sm_80", code=1)
        self.assertIn('"no_such_type"', line)
        self.assertIn("text_config", line)

    def test_specs_have_no_layers_to_list(self):
        line = self.problem("build", inline(), "--list", "--target", "sm_80", code=2)
        self.assertIn("config.json", line)

    def write(self, name, config, beside):
        folder = self.folder / name
        folder.mkdir()
        for file, content in {"config.json": config, **beside}.items():
            (folder / file).write_text(json.dumps(content))
        return folder

    def test_a_config_without_tensors(self):
        for name, (config, beside, want, notes) in CONFIGS.items():
            with self.subTest(name):
                folder = self.write(name, config, beside)
                done = self.heddle("build", folder, "--print-specs", check=0)
                got = [(spec["name"], spec["shape"]["n"], spec["shape"]["k"],
                        *(spec["weight"][key] for key in ("bits", "type", "group_size")))
                       for spec in json.loads(done.out) if spec["op"] == "gemm"]
                self.assertEqual(sorted(got), sorted(want))
                for note in notes:
                    self.assertIn(note, done.err)
                again = self.heddle("build", folder / "config.json", "--print-specs", check=0)
                self.assertEqual((again.out, again.err), (done.out, done.err))

    def test_notes_and_assumptions_stand_in_the_json(self):
        config = quantized(gptq_config(modules_to_not_convert=["v_proj", "gate_proj", "down_proj"]),
                           hidden_size=64, intermediate_size=128, num_attention_heads=4,
                           num_key_value_heads=2, num_hidden_layers=1, rope_theta=10000)
        folder = self.write("small", config, {})
        lines = self.heddle("build", folder, "--print-specs", check=0).err.splitlines()
        report = self.heddle_json("build", folder, "--target", "sm_80")
        self.assertEqual([f"heddle: note: {note}" for note in report["notes"]] +
                         [f"heddle: assumed: {what}" for what in report["assumptions"]], lines)
        self.assertEqual(len(report["notes"]), 2)
        self.assertEqual(len(report["assumptions"]), 2)

    def test_sparse_modules_have_no_kernel(self):
        config = quantized(compressed("float-quantized", floats(), sparsity_config={
            "format": "sparse-24-bitmask", "targets": ["Linear"], "ignore": ["re:.*o_proj"]}))
        folder = self.write("sparse", config, {})
        self.heddle("build", folder, "--print-specs", "--all", check=1)
        done = self.heddle("build", folder, "--print-specs", check=0)
        self.assertEqual([spec["name"] for spec in json.loads(done.out) if spec["op"] == "gemm"], ["o_proj"])
        for name in ("qkv_proj", "gate_up_proj", "down_proj"):
            self.assertIn(f"no kernel for {name} (32 layers): the sparsity format", done.err)

    def test_a_tied_head_is_a_layer_of_folder_and_config_alike(self):
        for form in ("gptq", "w8a8"):
            folder = self.folder / form
            self.heddle("sample-model", folder, "--format", form, "--type", "qwen3", check=0)
            packed = self.folder / (form + "-packed")
            packed.mkdir()
            (packed / "config.json").write_bytes((folder / "config.json").read_bytes())
            self.heddle("repack", folder, "-o", packed / "packed.safetensors", "--target", "h200",
                        check=0)
            for options, code in (([], 1), (["--dense"], 0), (["--lm-head", "8"], 0)):
                with self.subTest((form, options)):
                    places = [folder / "config.json", folder] + ([] if options else [packed])
                    ends = set()
                    for place in places:
                        done = self.heddle("build", place, "--target", "h200", "--list", "--all",
                                           *options, check=code)
                        head, = [line.split() for line in done.out.splitlines()
                                 if line.startswith("lm_head")]
                        ends.add((done.out.splitlines()[-1], head[-1] == "lm_head"))
                    self.assertEqual(len(ends), 1, ends)

    def test_a_folder_with_neither_config_nor_tensors(self):
        line = self.problem("build", self.folder, "--print-specs", code=2)
        self.assertIn("config.json", line)


if __name__ == "__main__":
    unittest.main()
