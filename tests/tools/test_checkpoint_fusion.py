"""heddle repack: which layers become one, the order of their rows, and what comes with them."""

import json
import random
import unittest

from checkpoint_cases import (
    FP8, MODEL, PLAIN, compressed, floats, gptq_config, model, named)
from checkpoint_forms import (
    COLUMN_ORDER, Bytes, Fp4, Integers, awq, awq_gemv, f32, gptq, packed, quark_int4, tensor)
from checkpoint_problem_cases import AWQ
from command import CommandTest
from float_values import sixteen
from safetensors_file import load, save

HEADS, HEAD_DIM, HIDDEN = 4, 16, 64
SELF = "model.layers.0.self_attn."


def bias(seed, n, zero=False):
    rng = random.Random(seed)
    return tensor("BF16", [n], "H", [0 if zero else rng.randrange(0x3F00, 0x3F80)
                                     for _ in range(n)])


def joined(*biases):
    return "BF16", [sum(len(content) // 2 for _, _, content in biases)], b"".join(
        content for _, _, content in biases)


def with_rows(layer, order):
    """The same layer with its rows in this order."""
    other = Integers(0, layer.n, layer.k, layer.group, layer.bits)
    other.codes = [layer.codes[row] for row in order]
    other.zeros = [layer.zeros[row] for row in order]
    other.scales.codes = [layer.scales.codes[row] for row in order]
    other.index = layer.index
    return other


def concatenated(*layers):
    """The rows of one after those of the other."""
    whole = Integers(0, sum(layer.n for layer in layers), layers[0].k, layers[0].group,
                     layers[0].bits)
    whole.codes = [row for layer in layers for row in layer.codes]
    whole.zeros = [row for layer in layers for row in layer.zeros]
    whole.scales.codes = [row for layer in layers for row in layer.scales.codes]
    return whole


def heads_in_order(groups, queries):
    """Rows of [groups, queries + key + value, head_dim]: all queries, all keys, all values."""
    places = [(0 if head < queries else 1 + head - queries, group, head)
              for group in range(groups) for head in range(queries + 2)]
    return [(group * (queries + 2) + head) * HEAD_DIM + row
            for _, group, head in sorted(places) for row in range(HEAD_DIM)]


# Fused rows, by model: the module, its heads of keys, heads of queries to each, and the config.
FUSED = (
    ("bloom", "query_key_value", HEADS, 1, {"n_head": HEADS}),
    ("gpt_neox", "query_key_value", HEADS, 1, {"num_attention_heads": HEADS}),
    ("gpt_neox_japanese", "query_key_value", HEADS, 1, {"num_attention_heads": HEADS}),
    ("persimmon", "query_key_value", HEADS, 1, {"num_attention_heads": HEADS}),
    ("falcon", "query_key_value", 2, 2, {"num_attention_heads": HEADS, "num_kv_heads": 2,
                                         "new_decoder_architecture": True}),
    ("falcon", "query_key_value", HEADS, 1, {"num_attention_heads": HEADS, "multi_query": False}),
    ("RefinedWeb", "query_key_value", 2, 2, {"n_head": HEADS, "n_head_kv": 2}),
    ("gpt_bigcode", "c_attn", HEADS, 1, {"n_head": HEADS, "multi_query": False}),
    ("chatglm", "query_key_value", HEADS, 1, {"num_attention_heads": HEADS}),
    ("internlm2", "wqkv", 2, 2, {"num_attention_heads": HEADS, "num_key_value_heads": 2}),
)


class FusionTest(CommandTest):

    def repack(self, config, tensors, *options, name="model", check=0):
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps(config))
        save(folder / "model.safetensors", {**tensors, **PLAIN})
        out = self.folder / f"{name}.safetensors"
        done = self.heddle("repack", folder, "-o", out, *options, check=check)
        metadata, packed_tensors = load(out)
        specs = {name[:-len(".heddle")]: json.loads(text) for name, text in metadata.items()
                 if name.endswith(".heddle")}
        self.assertEqual(packed_tensors.pop("model.norm.weight"), PLAIN["model.norm.weight"])
        if not options:
            built = self.heddle("build", folder, "--print-specs", check=check)
            canonical = [{**spec, "name": ""} for spec in json.loads(built.out)]
            for spec in specs.values():
                self.assertIn({**spec, "name": ""}, canonical)
        return specs, packed_tensors, done.err

    def test_fused_rows_are_packed_as_queries_keys_values(self):
        for model_type, leaf, groups, queries, fields in FUSED:
            with self.subTest(model_type, **fields):
                module = f"model.h.0.attention.{leaf}"
                n = groups * (queries + 2) * HEAD_DIM
                layer = Integers(1, n, HIDDEN)
                order = heads_in_order(groups, queries)
                self.assertNotEqual(order, list(range(n)))
                rows = bias(2, n)
                ordered_bias = "BF16", [n], b"".join(rows[2][2 * row:2 * row + 2]
                                                     for row in order)
                config = {"model_type": model_type, "hidden_size": HIDDEN, **fields,
                          "torch_dtype": "bfloat16", "quantization_config": gptq_config()}
                stored = {**named(module, gptq(layer)), module + ".bias": rows}
                specs, tensors, _ = self.repack(config, stored, name="stored")
                in_order = {**named(module, gptq(with_rows(layer, order))),
                            module + ".bias": ordered_bias}
                other = self.repack({**config, "model_type": "llama"}, in_order, name="ordered")
                self.assertEqual((specs, tensors), other[:2])
                self.assertEqual(tensors[module + ".bias"], ordered_bias)
                self.assertTrue(specs[module]["epilogue"]["bias"])
                # Dequantised rows stay where the model's own code wants them.
                out = self.folder / "plain.safetensors"
                self.heddle("dequantize", self.folder / "stored", "-o", out, check=0)
                plain = load(out)[1]
                self.assertEqual(plain[module + ".weight"],
                                 ("BF16", [n, HIDDEN], sixteen(layer.values(), "BF16")))
                self.assertEqual(plain[module + ".bias"], rows)

    def test_rows_of_every_kind_of_layer_are_put_in_order(self):
        """Beside a checkpoint whose rows are in order and have a scale for each row and group."""
        module, n = "transformer.h.0.self_attention.query_key_value", 3 * HEADS * HEAD_DIM
        order = heads_in_order(HEADS, 1)
        bloom = {"model_type": "bloom", "n_head": HEADS, "hidden_size": HIDDEN,
                 "torch_dtype": "bfloat16"}
        grouped = compressed("float-quantized", floats(strategy="group", group_size=32))
        blocks = Bytes(80, n=n, block=(24, 32))
        single = Bytes(81, n=n, block=(1, 32))
        single.codes = [blocks.codes[row] for row in order]
        single.scales.codes = [blocks.scales.codes[row // 24] for row in order]
        kinds = [({**FP8, "weight_block_size": [24, 32]}, blocks.tensors(), grouped,
                  single.tensors())]
        four, sorted_four = Fp4(82, n=n), Fp4(83, n=n)
        sorted_four.codes = [four.codes[row] for row in order]
        sorted_four.scales.codes = [four.scales.codes[row] for row in order]
        mx = compressed("mxfp4-pack-quantized", floats(4, "group", group_size=32))
        kinds.append((mx, four.tensors(".weight_packed"), mx,
                      sorted_four.tensors(".weight_packed")))
        for bits, config, pack in ((3, gptq_config(bits=3, desc_act=True), gptq), (4, AWQ, awq)):
            layer = Integers(84, n, HIDDEN, bits=bits, act_order=bits == 3)
            kinds.append((config, pack(layer), config, pack(with_rows(layer, order))))
        for config, own, other_config, other in kinds:
            with self.subTest(config["quant_method"]):
                stored = self.repack({**bloom, "quantization_config": config},
                                     named(module, own))
                ordered = self.repack({**bloom, "model_type": "llama",
                                       "quantization_config": other_config}, named(module, other))
                self.assertEqual(stored[:2], ordered[:2])

    def test_parts_with_one_scale_each_have_one_per_row_together(self):
        modules = [f"model.layers.0.mlp.{part}_proj" for part in ("gate", "up")]
        parts = [Integers(90 + n, n, HIDDEN, whole=True, symmetric=True, scale="BF16")
                 for n in (32, 48)]
        weights = {"num_bits": 4, "type": "int", "symmetric": True}

        def repacked(strategy, one):
            config = model(compressed("pack-quantized", {**weights, "strategy": strategy}))
            return self.repack(config, {
                name: content for module, part in zip(modules, parts)
                for name, content in named(module, packed(part, zeros=None, one=one)).items()})

        whole = repacked("tensor", [1])
        self.assertEqual(set(whole[0]), {"model.layers.0.mlp.gate_up_proj"})
        for part in parts:
            part.scales.codes *= part.n
        self.assertEqual(whole[:2], repacked("channel", None)[:2])

    def test_rows_of_multi_query_attention_stay_in_place(self):
        """These models have all queries first."""
        layer = Integers(3, (HEADS + 2) * HEAD_DIM, HIDDEN)
        config = {"torch_dtype": "bfloat16", "num_attention_heads": HEADS,
                  "quantization_config": gptq_config()}
        for model_type, leaf, field in (("falcon", "query_key_value", "multi_query"),
                                        ("RefinedWebModel", "query_key_value", "multi_query"),
                                        ("gpt_bigcode", "c_attn", "multi_query"),
                                        ("chatglm", "query_key_value", "multi_query_attention")):
            with self.subTest(model_type):
                stored = named("transformer.h.0.self_attention." + leaf, gptq(layer))
                one = self.repack({**config, "model_type": model_type, field: True}, stored)
                self.assertEqual(one[:2],
                                 self.repack({**config, "model_type": "llama"}, stored)[:2])

    def test_rows_that_are_no_heads_are_refused(self):
        module = "transformer.h.0.self_attention.query_key_value"
        config = {"model_type": "bloom", "n_head": 5, "quantization_config": gptq_config()}
        folder = self.folder / "model"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(config))
        save(folder / "model.safetensors", named(module, gptq(Integers(4, 192, HIDDEN))))
        out = self.folder / "out.safetensors"
        done = self.heddle("repack", folder, "-o", out, check=1)
        self.assertIn(f'"{module}": 192 rows are not those of 5 groups', done.err)
        self.assertFalse(out.exists())

    def projections(self):
        q, k, v = Integers(10, 64), Integers(11, 32), Integers(12, 32)
        tensors = {**named(SELF + "q_proj", gptq(q)), **named(SELF + "k_proj", gptq(k)),
                   **named(SELF + "v_proj", gptq(v))}
        return (q, k, v), tensors

    def test_parts_are_packed_as_their_rows_one_after_the_other(self):
        parts, tensors = self.projections()
        config = model(gptq_config())
        specs, packed_tensors, _ = self.repack(config, tensors)
        self.assertEqual(set(packed_tensors), {SELF + "qkv_proj.heddle"})
        self.assertFalse(specs[SELF + "qkv_proj"]["epilogue"]["bias"])
        whole = self.repack(config, named(SELF + "qkv_proj", gptq(concatenated(*parts))))
        self.assertEqual((specs, packed_tensors), whole[:2])
        apart = self.repack(config, tensors, "--no-fuse")[1]
        self.assertEqual(set(apart), {SELF + part + ".heddle"
                                      for part in ("q_proj", "k_proj", "v_proj")})

    def test_parts_of_few_rows(self):
        """Rows are packed 32 at a time, wherever a part ends."""
        parts = [Integers(15 + i, n) for i, n in enumerate((24, 8, 40))]
        tensors = {name: content for part, layer in zip("qkv", parts)
                   for name, content in named(f"{SELF}{part}_proj", gptq(layer)).items()}
        config = model(gptq_config())
        whole = self.repack(config, named(SELF + "qkv_proj", gptq(concatenated(*parts))))
        self.assertEqual(self.repack(config, tensors)[:2], whole[:2])

    def test_biases_are_joined(self):
        _, tensors = self.projections()
        q, v = bias(20, 64), bias(21, 32)
        _, packed_tensors, _ = self.repack(model(gptq_config()), {
            **tensors, SELF + "q_proj.bias": q, SELF + "v_proj.bias": v})
        self.assertEqual(packed_tensors[SELF + "qkv_proj.bias"],
                         joined(q, bias(0, 32, zero=True), v))
        self.assertEqual(len(packed_tensors), 2)

    def test_biases_of_zeros_are_left_out(self):
        _, tensors = self.projections()
        zeros = {SELF + part + ".bias": bias(0, n, zero=True)
                 for part, n in (("q_proj", 64), ("k_proj", 32), ("v_proj", 32))}
        for options in ((), ("--no-fuse",)):
            specs, packed_tensors, _ = self.repack(model(gptq_config()), {**tensors, **zeros},
                                                   *options)
            self.assertEqual({name for name in packed_tensors if "bias" in name}, set())
            self.assertEqual({spec["epilogue"]["bias"] for spec in specs.values()}, {False})

    def test_cross_attention_stays_apart(self):
        names = ("encoder_attn", "cross_attn", "EncDecAttention", "crossattention")
        _, own = self.projections()
        for name in names:
            with self.subTest(name):
                prefix = f"model.decoder.layers.0.{name}."
                cross = {key.replace(SELF, prefix): content for key, content in own.items()}
                specs, _, _ = self.repack(model(gptq_config()), {**own, **cross})
                self.assertEqual(set(specs), {SELF + "qkv_proj", prefix + "q_proj",
                                              prefix + "k_proj", prefix + "v_proj"})

    def test_parts_that_differ_stay_apart_with_a_note(self):
        (_, _, v), tensors = self.projections()
        eight, fine = Integers(30, 32, bits=8), Integers(31, 32, group=16)
        full = Integers(32, 32, scale="F32")
        for field, layer, change in (("the width of their codes", eight, {"bits": 8}),
                                     ("their groups", fine, {"group_size": 16}),
                                     ("the type of their scales", full, {})):
            with self.subTest(field):
                changed = {**tensors, **named(SELF + "v_proj", gptq(layer))}
                config = model(gptq_config(dynamic={".*v_proj": change}))
                specs, _, err = self.repack(config, changed)
                self.assertEqual(set(specs), {SELF + part for part in ("q_proj", "k_proj",
                                                                       "v_proj")})
                self.assertIn(f"note: {SELF}qkv_proj is not made: ", err)
                self.assertIn(f"differ in {field}", err)
        with self.subTest("a part that is not quantised"):
            plain = {key: content for key, content in tensors.items() if "v_proj" not in key}
            weight = "BF16", [32, 64], sixteen(v.values(), "BF16")
            plain[SELF + "v_proj.weight"] = weight
            specs, packed_tensors, _ = self.repack(
                model(gptq_config(modules_to_not_convert=["v_proj"])), plain)
            self.assertEqual(set(specs), {SELF + "q_proj", SELF + "k_proj"})
            self.assertEqual(packed_tensors[SELF + "v_proj.weight"], weight)

    def test_nvfp4_parts_with_factors_of_their_own_stay_apart(self):
        config = model({"quant_method": "modelopt", "quant_algo": "NVFP4"})
        for factors, packed_as in (((0.5, 0.5), {"gate_up_proj"}),
                                   ((0.5, 0.25), {"gate_proj", "up_proj"})):
            tensors = {}
            for part, factor in zip(("gate_proj", "up_proj"), factors):
                layer = Fp4(40, scale="F8_E4M3")
                tensors.update(named(f"model.layers.0.mlp.{part}",
                                     layer.tensors(**{".weight_scale_2": f32(factor)})))
            specs, _, err = self.repack(config, tensors)
            self.assertEqual(set(specs), {f"model.layers.0.mlp.{name}" for name in packed_as})
            self.assertEqual("the scale of the whole tensor" in err, len(packed_as) == 2)

    def test_parts_with_other_factors_for_columns_stay_apart(self):
        """pre_quant_scale, which Model Optimizer's AWQ has for the columns of X."""
        config = model({"quant_method": "modelopt", "quant_algo": "NVFP4_AWQ"})
        for second, packed_as in ((0x3F80, {"gate_up_proj"}), (0x4000, {"gate_proj", "up_proj"})):
            tensors = {}
            for part, code in (("gate_proj", 0x3F80), ("up_proj", second)):
                layer = Fp4(41, scale="F8_E4M3")
                scale = tensor("BF16", [64], "H", [0x3F80] * 63 + [code])
                tensors.update(named(f"mlp.{part}", layer.tensors(
                    **{".weight_scale_2": f32(0.5), ".pre_quant_scale": scale})))
            specs, packed_tensors, err = self.repack(config, tensors)
            self.assertEqual(set(specs), {f"mlp.{name}" for name in packed_as})
            self.assertEqual("pre_quant_scale" in err, len(packed_as) == 2)
            for name in specs:
                self.assertTrue(specs[name]["activation"]["pre_scale"])
                self.assertIn(name + ".pre_quant_scale", packed_tensors)
            self.assertEqual(len(packed_tensors), 2 * len(specs))

    def test_parts_with_a_scale_each_have_one_to_a_row(self):
        gate, up = Bytes(50, block=(16, 64)), Bytes(51, block=(16, 64))
        tensors = {**named("mlp.gate_proj", gate.tensors([])), **named("mlp.up_proj",
                                                                       up.tensors([]))}
        specs, _, _ = self.repack(model(FP8), tensors)
        weight = specs["mlp.gate_up_proj"]["weight"]
        self.assertEqual((weight["group_size"], weight["scale_dtype"]), (-1, "fp32"))

    def test_gpt2_has_inputs_as_rows(self):
        layer = Integers(60, 64, 64)
        config = {"model_type": "gpt2", "torch_dtype": "float16",
                  "quantization_config": gptq_config()}
        stored = named("h.0.attn.c_proj", gptq(layer))
        specs, _, _ = self.repack(config, stored)
        self.assertEqual(specs["h.0.attn.c_proj"]["shape"]["n"], 64)
        out = self.folder / "plain.safetensors"
        self.heddle("dequantize", self.folder / "model", "-o", out, check=0)
        values = layer.values()
        transposed = [values[n * 64 + k] for k in range(64) for n in range(64)]
        self.assertEqual(load(out)[1]["h.0.attn.c_proj.weight"],
                         ("F16", [64, 64], sixteen(transposed, "F16")))

    def test_packed_bytes_do_not_tell_the_form(self):
        """The same codes, zero points and scales of seven forms give the same file."""
        layer = Integers(70)
        compressed = {"quant_method": "compressed-tensors", "format": "pack-quantized",
                      "config_groups": {"a": {"targets": ["Linear"], "weights": {
                          "num_bits": 4, "type": "int", "symmetric": False, "strategy": "group",
                          "group_size": 32}}}}
        quark = {"quant_method": "quark", "export": {"pack_method": "order"},
                 "global_quant_config": {"weight": {
                     "dtype": "int4", "qscheme": "per_group", "group_size": 32,
                     "symmetric": False}}}
        forms = (
            (gptq_config(), gptq(layer)),
            (gptq_config(checkpoint_format="gptq_v2"), gptq(layer, minus_one=False)),
            (gptq_config(pack_dtype="int8"), gptq(layer, word_bits=8)),
            (AWQ, awq(layer)),
            ({**AWQ, "version": "gemv"}, awq_gemv(layer)),
            (compressed, packed(layer)),
            (quark, quark_int4(layer, order=COLUMN_ORDER, signed=True)))
        files = [self.repack({**MODEL, "quantization_config": config}, named("mlp.down_proj", own))
                 for config, own in forms]
        for file in files:
            self.assertEqual(file[:2], files[0][:2])

    def test_a_smaller_last_group_is_split_from_the_others(self):
        """K = 96 in groups of 64 is K = 96 in groups of 32 whose first two are alike."""
        uneven, even = Integers(71, k=96, group=64), Integers(71, k=96, group=32)
        even.codes = uneven.codes
        even.zeros = [[row[0], *row] for row in uneven.zeros]
        even.scales.codes = [[row[0], *row] for row in uneven.scales.codes]
        blocks = Bytes(72, n=24, k=96, block=(16, 64))
        groups = Bytes(73, n=24, k=96, block=(1, 32))
        groups.codes = blocks.codes
        groups.scales.codes = [[row[0], *row] for row in
                               (blocks.scales.codes[n // 16] for n in range(24))]
        grouped = compressed("float-quantized", floats(strategy="group", group_size=32))
        for first, own, second, other in (
                (gptq_config(group_size=64), gptq(uneven), gptq_config(), gptq(even)),
                ({**AWQ, "group_size": 64}, awq(uneven), AWQ, awq(even)),
                ({**FP8, "weight_block_size": [16, 64]}, blocks.tensors(), grouped,
                 groups.tensors())):
            with self.subTest(first["quant_method"]):
                stored = self.repack(model(first), named("mlp.down_proj", own))
                split = self.repack(model(second), named("mlp.down_proj", other))
                self.assertEqual(stored[:2], split[:2])

    def test_zero_points_of_bytes_are_those_of_words(self):
        """INT8 with zero points, and eight bits packed into words."""
        signed = Bytes(74, "I8", block=(1, 32), scale="BF16", zeros=True)
        words = Integers(75, bits=8, scale="BF16")
        words.codes = [[code ^ 128 for code in row] for row in signed.codes]
        words.zeros = [[zero + 128 for zero in row] for row in signed.zeros]
        words.scales.codes = signed.scales.codes
        weights = {"num_bits": 8, "type": "int", "symmetric": False, "strategy": "group",
                   "group_size": 32}
        first = self.repack(model(compressed("int-quantized", weights)),
                            named("mlp.down_proj", signed.tensors(zeros=True)))
        second = self.repack(model(compressed("pack-quantized", weights)),
                             named("mlp.down_proj", packed(words)))
        self.assertEqual(first[:2], second[:2])


if __name__ == "__main__":
    unittest.main()
