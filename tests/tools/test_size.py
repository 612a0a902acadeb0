"""heddle size: a model's device memory, from its config, its folder, or what repack wrote."""

import json
import random
import shutil
import unittest

from checkpoint_forms import tensor
from command import ROOT, CommandTest
from safetensors_file import load, save

LAYER = "model.layers.0."
CONFIG = {
    "model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 128,
    "rms_norm_eps": 1e-5, "hidden_act": "silu", "tie_word_embeddings": False,
}
SHAPES = {
    LAYER + "self_attn.q_proj": [64, 64], LAYER + "self_attn.k_proj": [32, 64],
    LAYER + "self_attn.v_proj": [32, 64], LAYER + "self_attn.o_proj": [64, 64],
    LAYER + "mlp.gate_proj": [128, 64], LAYER + "mlp.up_proj": [128, 64],
    LAYER + "mlp.down_proj": [64, 128], "lm_head": [128, 64], "model.embed_tokens": [128, 64],
    LAYER + "input_layernorm": [64], LAYER + "post_attention_layernorm": [64], "model.norm": [64],
}
LOAD = ("--target", "h200", "--batch", 3, "--context", 100)


def config_of(name):
    return ROOT / f"tests/models/configs/{name}.json"


class SizeTest(CommandTest):

    def write_model(self):
        """A small Llama of 16 bits, in a folder."""
        folder = self.folder / "model"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(CONFIG))
        rng = random.Random(1)
        tensors = {}
        for module, shape in SHAPES.items():
            count = shape[0] * (shape[1] if len(shape) > 1 else 1)
            tensors[module + ".weight"] = tensor(
                "BF16", shape, "H", [rng.randrange(0x3000, 0x3F00) for _ in range(count)])
        save(folder / "model.safetensors", tensors)
        return folder

    def test_a_kernel_that_is_refused_is_refused_in_whole(self):
        """As heddle build says it: each reason with its place, value and what is allowed."""
        path = self.file("config.json", json.dumps({
            **CONFIG, "hidden_size": 70, "intermediate_size": 67, "head_dim": 16,
            "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 64}}))
        refused = [line.split("no kernel for ")[1]
                   for line in self.heddle("build", path, "--target", "h200").err.splitlines()
                   if "no kernel for qkv_proj: " in line]
        self.assertGreater(len(refused), 1)
        size = self.heddle("size", path, "--target", "h200", check=0).out
        for line in refused:
            name, reason = line.split(": ", 1)
            self.assertIn(f"not counted: the workspace of {name}: no kernel on h200: {reason}\n",
                          size)

    def test_config_folder_and_packed_folder_have_one_size(self):
        folder = self.write_model()
        packed = self.folder / "packed"
        packed.mkdir()
        shutil.copy(folder / "config.json", packed)
        out = packed / "packed.safetensors"
        for options in (["--dense"], ["--dense", "--gated"], ["--dense", "--lm-head", "8"]):
            with self.subTest(options):
                self.heddle("repack", folder, "-o", out, *options, check=0)
                by_config = self.heddle_json("size", folder / "config.json", *LOAD, *options)
                by_tensors = self.heddle_json("size", folder, *LOAD, *options)
                by_file = self.heddle_json("size", packed, *LOAD)
                tensors = sum(len(data) for _, _, data in load(out)[1].values())
                for size in (by_config, by_tensors, by_file):
                    self.assertEqual(size["weight_bytes"], tensors)
                    self.assertEqual(size["cache_bytes"], by_config["cache_bytes"])
                    self.assertEqual(size["workspace_bytes"], by_config["workspace_bytes"])
                    self.assertEqual(size["uncounted"], [])

    def test_a_folder_takes_what_repack_writes(self):
        choices = ([], ["--dense"], ["--gated"], ["--no-fuse"], ["--lm-head", "8"],
                   ["--keep", "model.layers.0.*"], ["--skip", "model.layers.1.*"],
                   ["--tp", "0/2"])
        for form in ("awq", "gptq", "gptq-act-order", "w8a8", "fp8", "fp8-blocks"):
            for kind in ("llama", "qwen3"):
                folder = self.folder / f"{form}-{kind}"
                self.heddle("sample-model", folder, "--format", form, "--type", kind, check=0)
                self.add_wide_tensors(folder / "model.safetensors")
                for options in choices:
                    if (form, *options) == ("gptq-act-order", "--tp", "0/2"):
                        continue  # a rank has no whole order of columns: repack refuses it
                    with self.subTest((form, kind, options)):
                        out = self.folder / "packed.safetensors"
                        self.heddle("repack", folder, "-o", out, "--target", "h200", *options,
                                    check=0)
                        tensors = sum(len(data) for _, _, data in load(out)[1].values())
                        # The sums of a packed file are its own, whatever rank it is of.
                        self.assertEqual(self.weights_of(folder, *options), tensors)
                        shutil.copy(folder / "config.json", self.folder)
                        rank = options if "--tp" in options else []
                        self.assertEqual(self.weights_of(out, *rank), tensors)

    def add_wide_tensors(self, path):
        """A model's embeddings in FP32, and a tensor that no config tells of."""
        _, tensors = load(path)
        kind, shape, data = tensors["model.embed_tokens.weight"]
        if "lm_head.weight" in tensors:  # a tied head has their type
            tensors["model.embed_tokens.weight"] = ("F32", shape, data + data)
        tensors["extra.table"] = ("F32", [1024, 1024], bytes(4 << 20))
        save(path, tensors)

    def weights_of(self, *arguments):
        size = self.heddle_json("size", *arguments, *LOAD)
        rows = [row["bytes"] for row in size["weights"]]
        self.assertEqual(sum(rows), size["weight_bytes"])
        self.assertEqual([row["count"] * row["each"] for row in size["weights"]], rows)
        self.assertEqual(size["bytes"], size["weight_bytes"] + size["cache_bytes"] +
                         size["workspace_bytes"])
        return size["weight_bytes"]

    def test_what_is_not_packed_is_as_the_checkpoint_has_it(self):
        folder = self.write_model()
        size = self.heddle_json("size", folder / "config.json", *LOAD)
        self.assertEqual(size["weight_bytes"],
                         sum(len(data) for _, _, data in
                             load(folder / "model.safetensors")[1].values()))
        self.assertFalse(any(one["packed"] for one in size["weights"]))

    def test_a_cache_has_its_pages_and_scales(self):
        config = ROOT / "examples/models/llama-3-8b-awq/config.json"
        # 8 heads of 128 elements; a scale has two bytes. K and V of a token.
        for kv, row in (("int8:head", 128 + 2), ("int4:head", 64 + 2), ("fp16", 256)):
            token = 2 * 8 * row
            size = self.heddle_json("size", config, *LOAD, "--kv", kv)
            self.assertEqual(size["cache_bytes"], 32 * 3 * 2 * 64 * token, kv)

    def test_a_cache_that_the_target_has_no_kernels_for_is_not_counted(self):
        path = self.file("config.json", json.dumps(CONFIG))  # BF16
        size = self.heddle_json("size", path, "--target", "t4")
        self.assertEqual((size["caches"], size["cache_bytes"]), ([], 0))
        self.assertIn({"name": "the cache of kv_append", "reason": "no kernel on t4 serves it"},
                      size["uncounted"])

    def test_layers_with_a_window_say_what_it_would_take(self):
        size = self.heddle_json("size", config_of("gemma3"), "--target", "h200", "--batch", 2,
                                "--context", 65536)
        windowed = [one for one in size["caches"] if one["window"]]
        full = [one for one in size["caches"] if not one["window"]]
        self.assertTrue(windowed and full)
        self.assertEqual(windowed[0]["each"], full[0]["each"])
        pages = -(-windowed[0]["window"] // 64) + 1
        self.assertEqual(windowed[0]["each_in_window"] * 65536 // 64,
                         windowed[0]["each"] * pages)
        self.assertTrue(any("window" in what for what in size["assumptions"]))

    def test_what_heddle_has_no_cache_for_is_named(self):
        for name, word in (("deepseek_v3", "latent"), ("nemotron_h", "mamba"),
                           ("qwen3_next", "linear")):
            with self.subTest(name):
                size = self.heddle_json("size", config_of(name), *LOAD)
                told = json.dumps(size["uncounted"]).lower()
                self.assertIn(word, told)
        text = self.heddle("size", config_of("deepseek_v3"), *LOAD, check=0).out
        self.assertIn("not counted: ", text)

    def test_attention_without_a_kernel_is_told_with_the_numbers_of_the_model(self):
        for name, numbers in (("gpt_neox", "8 are rotated"), ("stablelm", "8 are rotated")):
            with self.subTest(name):
                config = config_of(name)
                told = [one["reason"] for one in self.heddle_json("size", config, *LOAD)[
                    "uncounted"] if "cache" in one["name"]]
                self.assertTrue(told and numbers in told[0], told)
                built = self.heddle("build", config, "--target", "h200", "--list", "--kv",
                                    "int8:head", check=0)
                self.assertIn(numbers, built.out)

    def test_every_config_has_a_size(self):
        for config in sorted((ROOT / "tests/models/configs").glob("*.json")):
            with self.subTest(config.stem):
                size = self.heddle_json("size", config, *LOAD)
                self.assertGreater(size["weight_bytes"], 0)

    def test_embeddings_of_layers_are_told(self):
        for name, are_there in (("gemma3n", True), ("gemma4-e", True), ("gemma4", False)):
            with self.subTest(name):
                size = self.heddle_json("size", config_of(name), *LOAD)
                told = [one["reason"] for one in size["uncounted"]
                        if one["name"] == "per-layer embeddings"]
                config = json.loads(config_of(name).read_text())
                config = config.get("text_config", config)
                self.assertEqual(len(told), int(are_there))
                if are_there:
                    values = config["num_hidden_layers"] * config["hidden_size_per_layer_input"]
                    self.assertIn(f"{values} values", told[0])

    def test_experts_are_counted(self):
        size = self.heddle_json("size", config_of("mixtral"), *LOAD)
        config = json.loads(config_of("mixtral").read_text())
        experts = [one for one in size["weights"] if "expert" in one["name"]]
        matrices = 3 * config["num_hidden_layers"] * config["num_local_experts"]
        # A code of 8 bits for each weight, a scale of 4 bytes for 128 weights of a row.
        values = config["hidden_size"] * config["intermediate_size"]
        self.assertEqual(sum(one["bytes"] for one in experts),
                         matrices * (values + values // 128 * 4))
        self.assertTrue(all(one["packed"] for one in experts), experts)

    def test_orders_of_experts_are_counted(self):
        folder, packed = self.folder / "model", self.folder / "packed.safetensors"
        self.heddle("sample-model", folder, "--format", "gptq-act-order", "--type", "mixtral",
                    check=0)
        self.heddle("repack", folder, "-o", packed, "--dense", check=0)
        shutil.copy(folder / "config.json", self.folder)
        tensors = load(packed)[1]
        orders = [tensor for name, tensor in tensors.items()
                  if name.endswith("experts.gate_up_proj.heddle_perm")]
        self.assertEqual([shape for _, shape, _ in orders], [[8, 256]] * 2)
        for path, options in ((folder / "config.json", ["--dense"]), (folder, ["--dense"]),
                              (packed, [])):
            size = self.heddle_json("size", path, *LOAD, *options)
            self.assertEqual(size["weight_bytes"], sum(len(data) for _, _, data in
                                                       tensors.values()))

    def test_one_rank_has_its_part_of_the_weights(self):
        folder = self.write_model()
        whole = self.heddle_json("size", folder, *LOAD, "--dense")
        size = self.heddle_json("size", folder, *LOAD, "--dense", "--tp", "0/2")
        self.assertLess(size["weight_bytes"], whole["weight_bytes"])
        self.assertEqual(size["cache_bytes"], 0)
        self.assertIn("the key-value cache", [one["name"] for one in size["uncounted"]])

    def test_text_and_json_tell_the_same(self):
        config = ROOT / "examples/models/llama-3-8b-awq/config.json"
        size = self.heddle_json("size", config, *LOAD)
        text = self.heddle("size", config, *LOAD, check=0).out
        for one in size["weights"] + size["caches"]:
            self.assertIn(str(one["bytes"]), text)
        self.assertIn(f"{size['bytes']} bytes", text)
        self.assertEqual(size["bytes"], size["weight_bytes"] + size["cache_bytes"] +
                         size["workspace_bytes"])

    def test_what_is_no_load_or_no_model_is_refused(self):
        config = ROOT / "examples/models/llama-3-8b-awq/config.json"
        for option in ("--batch", "--context"):
            for value in ("0", "-1", "x", "99999999999"):
                self.problem("size", config, "--target", "h200", option, value, code=2)
        line = self.problem("size", ROOT / "examples/specs/symmetric-g128.json", *LOAD, code=2)
        self.assertIn("config.json", line)
        line = self.problem("size", config, "--target", "h200", "--batch", 1024, "--context", 2**30,
                            code=2)
        self.assertIn(f"1024 sequences of up to {2**30} tokens are more than {2**31 - 1}", line)
        self.problem("size", config, "--target", "h200", "--kv", "int9", code=2)
        self.problem("size", self.folder / "nowhere", "--target", "h200", code=2)


if __name__ == "__main__":
    unittest.main()
