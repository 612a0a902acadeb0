"""Small checkpoints of every form that docs/checkpoints.md says is served.

`row` of a case is the quantiser and the form as the table of quantisers there has them."""

import dataclasses
import json

from checkpoint_forms import (
    COLUMN_ORDER, Bytes, Fp4, Integers, awq, awq_gemv, f32, gptq, nearest_f32, packed,
    quark_int4, tensor, whole_codes)
from safetensors_file import save

ATTENTION = "model.layers.0.self_attn.o_proj"
MLP = "model.layers.0.mlp.down_proj"
PLAIN = {"model.norm.weight": tensor("BF16", [4], "H", [0x3F80, 0, 0x8000, 0x7F80])}
MODEL = {"model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 64,
         "intermediate_size": 128, "num_attention_heads": 4, "num_key_value_heads": 2,
         "num_hidden_layers": 1, "vocab_size": 64}


@dataclasses.dataclass
class Case:
    row: tuple  # of the table
    name: str
    config: dict
    tensors: dict  # name: (dtype, shape, bytes)
    beside: dict = dataclasses.field(default_factory=dict)  # other configs: name of file, content
    # Served and copied: module, its layer (values()) and the "weight" that its spec must have.
    layers: dict = dataclasses.field(default_factory=dict)
    weight: dict = dataclasses.field(default_factory=dict)
    note: str = ""  # that must be there
    # Copied and refused: the layer, empty where the whole config is refused, and words that the
    # message must have.
    module: str = ""
    says: tuple = ()
    readable: object = None  # the layer, where dequantize reads it

    def write(self, folder):
        folder.mkdir(parents=True)
        save(folder / "model.safetensors", self.tensors)
        for name, content in {"config.json": self.config, **self.beside}.items():
            (folder / name).write_text(json.dumps(content))
        return folder


def named(module, tensors):
    return {module + suffix: content for suffix, content in tensors.items()}


def model(quantization, **config):
    return {**MODEL, **config, "quantization_config": quantization}


def integer_weight(layer, scale="fp16", zero_point="int", **others):
    return {"type": "uint", "bits": layer.bits, "group_size": layer.group, "scale_dtype": scale,
            "zero_point": zero_point, **others}


def one(row, name, config, layer, tensors, weight, beside=None, note=""):
    """A checkpoint of one layer and a tensor that is not quantised."""
    return Case(row, name, config, {**named(MLP, tensors), **PLAIN}, beside or {}, {MLP: layer},
                {MLP: weight}, note)


def two(row, name, config, attention, mlp, beside=None):
    """Each of the two is a layer, its tensors and the weight of its spec."""
    layers = {ATTENTION: attention, MLP: mlp}
    tensors = {key: content for module, (_, own, _) in layers.items()
               for key, content in named(module, own).items()}
    return Case(row, name, config, {**tensors, **PLAIN}, beside or {},
                {module: layer for module, (layer, _, _) in layers.items()},
                {module: weight for module, (_, _, weight) in layers.items()})


def gptq_config(**changes):
    return {"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": False, "desc_act": False,
            "checkpoint_format": "gptq", "lm_head": False, **changes}


def compressed(form, weights, **changes):
    return {"quant_method": "compressed-tensors", "format": form, "ignore": ["lm_head"],
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}, **changes}


def ints(bits=4, group=32, symmetric=True, **changes):
    return {"num_bits": bits, "type": "int", "symmetric": symmetric,
            "strategy": "group", "group_size": group, **changes}


def floats(bits=8, strategy="channel", **changes):
    return {"num_bits": bits, "type": "float", "symmetric": True, "strategy": strategy, **changes}


def quark(weight, **changes):
    return {"quant_method": "quark", "global_quant_config": {"weight": weight}, **changes}


FP8 = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic",
       "modules_to_not_convert": ["lm_head"]}
MXFP4 = {"type": "e2m1", "bits": 4, "group_size": 32, "scale_dtype": "e8m0"}
MXFP8 = {"type": "e4m3", "bits": 8, "group_size": 32, "scale_dtype": "e8m0"}
NVFP4 = {"type": "e2m1", "bits": 4, "group_size": 16, "scale_dtype": "e4m3", "tensor_scale": True}
INPUT_SCALE = {".input_scale": tensor("F32", [1], "f", [0.5])}  # static, of activations
FACTOR = nearest_f32(1 / 3000)
DIVISOR = nearest_f32(2999.0)


def fp8_weight(group, scale="fp32", kind="e4m3"):
    return {"type": kind, "bits": 8, "group_size": group, "scale_dtype": scale}


def awq_cases():
    config = {"quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": True}
    layer = Integers(1)
    weight = integer_weight(layer)
    yield one(("awq", "`version` gemm"), "awq-gemm", model({**config, "version": "gemm"}), layer,
              awq(layer), weight)
    yield one(("awq", "`version` gemm"), "awq-no-version-no-dtype",
              {"quantization_config": {"quant_method": "awq", "w_bit": 4, "q_group_size": 32}},
              layer, awq(layer), weight)
    yield one(("awq", "`version` gemm"), "awq-quant-config-json-only", MODEL, layer, awq(layer),
              weight, {"quant_config.json": {"w_bit": 4, "q_group_size": 32, "zero_point": True}})
    even = Integers(3, symmetric=True)
    symmetric = awq(even)
    del symmetric[".qzeros"]
    yield one(("awq", "`version` gemm"), "awq-symmetric-without-zeros",
              model({**config, "zero_point": False}), even, symmetric,
              integer_weight(even, zero_point="none"))
    yield one(("awq", "`version` gemv"), "awq-gemv", model({**config, "version": "gemv"}), layer,
              awq_gemv(layer), weight)
    wide = Integers(2, k=384)
    yield one(("awq", "`version` gemv"), "awq-gemv-12-groups",
              model({**config, "version": "gemv"}), wide, awq_gemv(wide), weight)


def gptq_cases():
    row = ("gptq", "v1, v2 of 2, 3, 4, 8 bits")
    for bits in (2, 3, 4, 8):
        layer = Integers(10 + bits, n=32, bits=bits)
        for label, minus_one in (("gptq", True), ("gptq_v2", False)):
            yield one(row, f"{label}-{bits}-bits",
                      model(gptq_config(bits=bits, checkpoint_format=label)), layer,
                      gptq(layer, minus_one=minus_one), integer_weight(layer))
    layer = Integers(20)
    v2 = gptq_config(format="gptq_v2")
    del v2["checkpoint_format"]
    yield one(row, "gptq-format-key-without-checkpoint-format", model(v2), layer,
              gptq(layer, minus_one=False), integer_weight(layer))
    yield one(row, "gptq-no-g-idx-fp32-scales", model(gptq_config()),
              Integers(21, scale="F32"), gptq(Integers(21, scale="F32"), index=False),
              integer_weight(layer, "fp32"))
    yield one(row, "gptq-quantize-config-json-only", MODEL, layer, gptq(layer),
              integer_weight(layer),
              {"quantize_config.json": {"bits": 4, "group_size": 32, "desc_act": False,
                                        "sym": False}})
    head = Integers(31)
    yield Case(row, "gptq-lm-head", model(gptq_config(lm_head=True)),
               {**named("lm_head", gptq(head)), **PLAIN}, {}, {"lm_head": head},
               {"lm_head": integer_weight(head)})
    even = Integers(22, symmetric=True)
    none = integer_weight(even, zero_point="none")
    symmetric = model(gptq_config(sym=True))
    row = ("gptq", "`sym`")
    yield one(row, "gptq-sym", symmetric, even, gptq(even), none)
    yield one(row, "gptq-sym-zeros-v2-label-v1", symmetric, even, gptq(even, minus_one=False), none)
    yield one(row, "gptq-sym-zeros-v1-label-v2",
              model(gptq_config(sym=True, checkpoint_format="gptq_v2")), even, gptq(even), none)
    yield one(row, "gptq-sym-no-zeros", symmetric, even, gptq(even, zeros=False), none)
    row = ("gptq", "`desc_act`")
    shuffled = Integers(23, act_order=True)
    yield one(row, "gptq-act-order", model(gptq_config(desc_act=True)), shuffled, gptq(shuffled),
              integer_weight(shuffled))
    yield one(row, "gptq-desc-act-but-order-in-place", model(gptq_config(desc_act=True)), layer,
              gptq(layer), integer_weight(layer))
    row = ("gptq", "`pack_dtype` int8, int16, int64")
    for word_bits in (8, 16, 64):
        for bits in (2, 4, 8):
            words = Integers(24 + bits, n=32, bits=bits)
            yield one(row, f"gptq-int{word_bits}-{bits}-bits",
                      model(gptq_config(bits=bits, pack_dtype=f"int{word_bits}")), words,
                      gptq(words, word_bits=word_bits), integer_weight(words))
    row = ("gptq", "`dynamic`")
    eight = Integers(30, n=32, bits=8, group=16)
    rules = {r".*down_proj.*": {"bits": 8, "group_size": 16}, r"-:.*lm_head": {}}
    yield two(row, "gptq-dynamic-bits", model(gptq_config(dynamic=rules)),
              (layer, gptq(layer), integer_weight(layer)),
              (eight, gptq(eight), integer_weight(eight)))


def auto_round_cases():
    base = {"quant_method": "auto-round", "bits": 4, "group_size": 32, "sym": False,
            "data_type": "int"}
    layer = Integers(40)
    weight = integer_weight(layer)
    row = ("auto-round", "`packing_format` auto_gptq, auto_awq, gptqmodel")
    for form, tensors in (("auto_round:auto_gptq", gptq(layer)),
                          ("auto_round:gptqmodel", gptq(layer, minus_one=False)),
                          ("auto_round:auto_awq", awq(layer))):
        yield one(row, form.replace(":", "-"), model({**base, "packing_format": form}), layer,
                  tensors, weight)
    eight = Integers(41, bits=8)
    extra = {MLP: {"bits": 8}, "lm_head": {"bits": 16}}
    yield two(("auto-round", "`extra_config`"), "auto-round-extra-config",
              model({**base, "packing_format": "auto_round:auto_gptq", "extra_config": extra}),
              (layer, gptq(layer), weight), (eight, gptq(eight), integer_weight(eight)))


def packed_cases():
    row = ("compressed-tensors", "pack-quantized, 1 to 8 bits")
    for bits in range(1, 9):
        layer = Integers(50 + bits, bits=bits, scale="BF16", k=96)
        for zeros in ("I32", "I8"):
            yield one(row, f"ct-{bits}-bits-zeros-{zeros}",
                      model(compressed("pack-quantized", ints(bits, symmetric=False))), layer,
                      packed(layer, zeros=zeros), integer_weight(layer, "bf16"))
    tensor_row = ("compressed-tensors", "pack-quantized per tensor")
    for bits in range(1, 9):
        for shape, zeros in (([1], None), ([1, 1] if bits % 2 else [], "I8")):
            layer = Integers(310 + bits, bits=bits, scale="BF16", k=96, whole=True,
                             symmetric=zeros is None)
            weights = {"num_bits": bits, "type": "int", "symmetric": zeros is None,
                       "strategy": "tensor"}
            yield one(tensor_row, f"ct-{bits}-bits-tensor-zeros-{zeros}",
                      model(compressed("pack-quantized", weights)), layer,
                      packed(layer, zeros=zeros, one=shape),
                      {**integer_weight(layer, "bf16", "int" if zeros else "none"),
                       "group_size": -1 if zeros else 0})
    layer = Integers(60, symmetric=True, scale="BF16")
    none = integer_weight(layer, "bf16", "none")
    yield one(row, "ct-symmetric", model(compressed("pack-quantized", ints())), layer,
              packed(layer, zeros=None), none)
    multimodal = {"model_type": "kimi_k25", "vision_config": {},
                  "text_config": model(compressed("pack-quantized", ints()))}
    yield one(row, "quantization-config-in-text-config", multimodal, layer,
              packed(layer, zeros=None), none)
    shuffled = Integers(61, act_order=True, scale="BF16")
    yield one(("compressed-tensors", "pack-quantized with `actorder`"), "ct-actorder",
              model(compressed("pack-quantized", ints(actorder="group", symmetric=False))),
              shuffled, packed(shuffled, index=True), integer_weight(shuffled, "bf16"))
    row = ("compressed-tensors", "pack-quantized of older versions")
    for bits in (3, 5, 6, 7):
        loose = Integers(62 + bits, bits=bits, scale="BF16", n=32, k=96)
        yield one(row, f"ct-{bits}-bits-whole-codes",
                  model(compressed("pack-quantized", ints(bits, symmetric=False))), loose,
                  packed(loose, pack=whole_codes), integer_weight(loose, "bf16"))


def group_cases():
    """Integers in groups as large as a row, or with a last one that is smaller."""
    row = ("any", "a scale per row or a smaller last group")
    whole = Integers(170, group=64, scale="BF16")
    weight = {**integer_weight(whole, "bf16"), "group_size": -1}
    yield one(row, "gptq-per-row", model(gptq_config(group_size=-1, desc_act=True)), whole,
              gptq(whole), weight)
    channel = {"num_bits": 4, "type": "int", "symmetric": False, "strategy": "channel"}
    yield one(row, "ct-per-row", model(compressed("pack-quantized", channel)), whole,
              packed(whole), weight)
    uneven = Integers(171, k=96, group=64)
    weight = {**integer_weight(uneven), "group_size": 32}
    quantized = {"quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": True}
    yield one(row, "gptq-last-group-smaller", model(gptq_config(group_size=64)), uneven,
              gptq(uneven), weight)
    for version, pack in (("gemm", awq), ("gemv", awq_gemv)):
        yield one(row, f"awq-{version}-last-group-smaller",
                  model({**quantized, "version": version}), uneven, pack(uneven), weight)
    yield one(row, "ct-last-group-smaller",
              model(compressed("pack-quantized", ints(4, 64, symmetric=False))), uneven,
              packed(uneven), weight)
    unused = packed(whole, index=True)
    unused[".weight_g_idx"] = tensor("I32", [64], "i", [-1] * 64)
    dense = compressed("pack-quantized", channel, sparsity_config={"format": "dense"})
    yield one(("compressed-tensors", "pack-quantized with `actorder`"), "ct-g-idx-not-in-use",
              model(dense), whole, unused, {**integer_weight(whole, "bf16"), "group_size": -1})


def rounding_cases():
    """Products that overflow, are subnormal, or are ties of two values of 16 bits."""
    row = ("compressed-tensors", "float-quantized, naive-quantized")
    for dtype in ("float16", "bfloat16"):
        layer = Bytes(180, n=64)
        exponents = (-40, -24, -16, 0, 9) if dtype == "float16" else (-120, -100, 0, 120)
        values = [nearest_f32((1 + i % 7 / 8 + i % 5 / 4096) * 2.0**exponents[i % len(exponents)])
                  for i in range(64)]
        layer.scales.values = [[value] for value in values]
        tensors = layer.tensors()
        tensors[".weight_scale"] = tensor("F32", [64, 1], "f", values)
        yield one(row, f"rounded-to-{dtype}",
                  model(compressed("float-quantized", floats()), torch_dtype=dtype), layer, tensors,
                  fp8_weight(-1))


def byte_cases():
    """float-, int- and naive-quantized."""
    row = ("compressed-tensors", "float-quantized, naive-quantized")
    places = (("tensor", (16, 64), [1], {}, 0), ("channel", (1, 64), [16, 1], {}, -1),
              ("group", (1, 32), [16, 2], {"group_size": 32}, 32),
              ("block", (8, 32), [2, 2], {"block_structure": [8, 32]}, 32))
    for strategy, block, shape, fields, group in places:
        layer = Bytes(70, block=block, scale="BF16")
        yield one(row, f"ct-fp8-{strategy}",
                  model(compressed("float-quantized", floats(strategy=strategy, **fields))), layer,
                  layer.tensors(shape), fp8_weight(group, "bf16"))
    layer = Bytes(71, block=(1, 64), scale="F32")
    yield one(row, "ct-naive", model(compressed("naive-quantized", floats())), layer,
              layer.tensors(), fp8_weight(-1))
    row = ("compressed-tensors", "int-quantized")
    for strategy, block, shape, fields, group in places[:3]:
        layer = Bytes(72, "I8", block=block, scale="BF16")
        weights = ints(8, None, strategy=strategy, **fields)
        if strategy != "group":
            del weights["group_size"]
        yield one(row, f"ct-int8-{strategy}", model(compressed("int-quantized", weights)), layer,
                  layer.tensors(shape), fp8_weight(group, "bf16", "int"))
        zeros = Bytes(73, "I8", block=block, scale="BF16", zeros=True)
        yield one(row, f"ct-int8-{strategy}-zeros",
                  model(compressed("int-quantized", {**weights, "symmetric": False})), zeros,
                  zeros.tensors(shape, zeros=True),
                  {**fp8_weight(group or -1, "bf16", "uint"), "zero_point": "int"})


def compressed_float_cases():
    nv = compressed("nvfp4-pack-quantized", floats(4, "tensor_group", group_size=16))
    layer = Fp4(80, scale="F8_E4M3", factor=nearest_f32(1 / DIVISOR))
    tensors = layer.tensors(".weight_packed", **{".weight_global_scale": f32(DIVISOR)})
    yield one(("compressed-tensors", "nvfp4-pack-quantized"), "ct-nvfp4", model(nv), layer,
              tensors, NVFP4)
    mx = Fp4(81)
    yield one(("compressed-tensors", "mxfp4-pack-quantized"), "ct-mxfp4",
              model(compressed("mxfp4-pack-quantized", floats(4, "group", group_size=32))), mx,
              mx.tensors(".weight_packed"), MXFP4)
    eight = Bytes(82, block=(1, 32), scale="U8")
    yield one(("compressed-tensors", "mxfp8-quantized"), "ct-mxfp8",
              model(compressed("mxfp8-quantized", floats(8, "group", group_size=32))), eight,
              eight.tensors(), MXFP8)
    mixed = {**nv, "format": "mixed-precision", "config_groups": {
        "a": {"targets": ["re:.*self_attn.*"], "weights": floats(), "format": "float-quantized"},
        "b": {"targets": ["re:.*mlp.*"], "weights": floats(4, "tensor_group", group_size=16),
              "format": "nvfp4-pack-quantized"}}}
    rows = Bytes(83)
    yield two(("compressed-tensors", "mixed-precision"), "ct-mixed-precision", model(mixed),
              (rows, rows.tensors(), fp8_weight(-1)), (layer, tensors, NVFP4))
    whole = {"transform_config": {"config_groups": {"R1": {
        "type": "hadamard", "apply": [{"targets": ["Linear"], "location": "weight_input"}]}}}}
    even = Integers(84, symmetric=True, scale="BF16")
    yield one(("compressed-tensors", "`transform_config` of weights alone"), "ct-weight-transform",
              model(compressed("pack-quantized", ints(), **whole)), even,
              packed(even, zeros=None), integer_weight(even, "bf16", "none"))


def fp8_cases():
    row = ("fp8", "per tensor, row or `weight_block_size`")
    blocks = model({**FP8, "weight_block_size": [8, 32]})
    for name in (".weight_scale_inv", ".weight_scale", ".scale", ".scale_inv"):
        layer = Bytes(90, block=(8, 32))
        yield one(row, f"fp8-blocks{name.replace('.', '-')}", blocks, layer,
                  layer.tensors(scale_name=name), fp8_weight(32))
    layer = Bytes(91, "F8_E5M2", block=(16, 64), scale="F32")
    yield one(row, "fp8-e5m2-tensor", model({**FP8, "fmt": "e5m2"}), layer, layer.tensors([]),
              fp8_weight(0, kind="e5m2"), note="activations")
    rows = Bytes(96)
    yield one(row, "fp8-without-a-config", {"torch_dtype": "bfloat16"}, rows, rows.tensors(),
              fp8_weight(-1))
    row = ("fp8", "blocks that do not divide N or K")
    ragged = Bytes(92, n=24, k=96, block=(16, 64))
    yield one(row, "fp8-block-k-ragged", model({**FP8, "weight_block_size": [16, 64]}), ragged,
              ragged.tensors(scale_name=".weight_scale_inv"), fp8_weight(32))
    big = Bytes(93, n=16, k=352, block=(128, 128))
    yield one(row, "fp8-block-352-of-128", model({**FP8, "weight_block_size": [128, 128]}), big,
              big.tensors(scale_name=".weight_scale_inv"),
              {**fp8_weight(128), "group_rows": 128})  # with activations of 8 bits
    row = ("fp8", "experts of one tensor [E, N, K]")
    name = "model.layers.0.mlp.experts.gate_up_proj"
    experts = Bytes(94, n=24, k=64, block=(16, 32), matrices=3)
    tensors = {name: experts.weight([3, 24, 64]),
               name + "_scale_inv": experts.scales.tensor([3, 2, 2]), **PLAIN}
    yield Case(row, "fp8-stacked-experts-no-weight-suffix",
               model({**FP8, "weight_block_size": [16, 32]}), tensors, {}, {name: experts},
               {name: fp8_weight(32)})
    row = ("fbgemm_fp8", "per row")
    rows = Bytes(95)
    yield one(row, "fbgemm-fp8",
              model({"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0}), rows,
              rows.tensors(), fp8_weight(-1))


def mxfp4_cases():
    row = ("mxfp4", "`blocks` and `scales` of experts")
    name = "model.layers.0.mlp.experts.gate_up_proj"
    for join in (".", "_"):
        experts = Fp4(100, matrices=2)
        yield Case(row, f"mxfp4{join}blocks", model({"quant_method": "mxfp4"}),
                   {**named(name, experts.blocks(join)), **PLAIN}, {}, {name: experts},
                   {name: MXFP4})


def modelopt_cases():
    def config(algorithm, **fields):
        return {"quant_method": "modelopt", "quant_algo": algorithm, **fields}

    row = ("modelopt", "FP8, FP8_PER_CHANNEL_PER_TOKEN, FP8_PB_WO, MXFP8")
    whole = Bytes(110, block=(16, 64))
    static = {**whole.tensors([]), **INPUT_SCALE}
    yield one(row, "modelopt-fp8", model(config("FP8")), whole, static, fp8_weight(0))
    yield one(row, "modelopt-fp8-hf-quant-config-only", MODEL, whole, static, fp8_weight(0),
              {"hf_quant_config.json": {"producer": {"name": "modelopt"}, "quantization": {
                  "quant_algo": "FP8", "kv_cache_quant_algo": "FP8",
                  "exclude_modules": ["lm_head"]}}}, note="key-value cache")
    rows = Bytes(111)
    yield one(row, "modelopt-fp8-rows", model(config("FP8_PER_CHANNEL_PER_TOKEN")), rows,
              rows.tensors([16]), fp8_weight(-1))
    blocks = Bytes(112, n=256, k=256, block=(128, 128))
    yield one(row, "modelopt-fp8-pb-wo", model(config("FP8_PB_WO")), blocks,
              blocks.tensors([2, 1, 2, 1]), fp8_weight(128))
    mx = Bytes(113, block=(1, 32), scale="U8")
    yield one(row, "modelopt-mxfp8", model(config("MXFP8")), mx, mx.tensors(), MXFP8)
    row = ("modelopt", "NVFP4, NVFP4_AWQ, W4A16_NVFP4")
    layer = Fp4(114, scale="F8_E4M3", factor=FACTOR)
    tensors = layer.tensors(**{".weight_scale_2": f32(FACTOR)})
    for algorithm in ("NVFP4", "W4A16_NVFP4"):
        yield one(row, "modelopt-" + algorithm.lower(), model(config(algorithm, group_size=16)),
                  layer, tensors, NVFP4)
    scaled = {**tensors, ".pre_quant_scale": tensor("BF16", [64], "H", [0x3F80] * 64)}
    yield one(row, "modelopt-nvfp4-awq", model(config("NVFP4_AWQ")), layer, scaled, NVFP4)
    mixed = {ATTENTION: {"quant_algo": "FP8"}, MLP: {"quant_algo": "NVFP4", "group_size": 16}}
    yield two(("modelopt", "MIXED_PRECISION"), "modelopt-mixed-precision",
              model(config("MIXED_PRECISION", quantized_layers=mixed)),
              (whole, static, fp8_weight(0)), (layer, tensors, NVFP4))


def quark_cases():
    layer = Integers(120)
    even = Integers(121, symmetric=True)
    row = ("quark", "int4, uint4 by group")
    for dtype in ("int4", "uint4"):
        weight = {"dtype": dtype, "qscheme": "per_group", "group_size": 32, "symmetric": False}
        for pack, order in (("reorder", None), ("order", COLUMN_ORDER)):
            stored = {} if order is None else {"order": order}
            yield one(row, f"quark-{dtype}-{pack}",
                      model(quark(weight, export={"pack_method": pack})), layer,
                      quark_int4(layer, signed=dtype == "int4", **stored), integer_weight(layer))
    weight = {"dtype": "int4", "qscheme": "per_group", "group_size": 32, "symmetric": True}
    yield one(row, "quark-int4-symmetric", model(quark(weight)), even,
              quark_int4(even, signed=True, zeros=False),
              integer_weight(even, zero_point="none"))
    row = ("quark", "fp8, int8, mxfp4")
    whole = Bytes(122, block=(16, 64))
    yield one(row, "quark-fp8",
              model(quark({"dtype": "fp8_e4m3", "qscheme": "per_tensor"})), whole,
              whole.tensors([]), fp8_weight(0))
    rows = Bytes(123, "I8", scale="F16")
    yield one(row, "quark-int8",
              model(quark({"dtype": "int8", "qscheme": "per_channel", "symmetric": True})), rows,
              rows.tensors([16]), fp8_weight(-1, "fp16", "int"))
    mx = Fp4(124)
    yield one(row, "quark-mxfp4",
              model(quark({"dtype": "fp4", "qscheme": "per_group", "group_size": 32,
                           "scale_format": "e8m0"})), mx, mx.tensors(), MXFP4)


SERVED = [case for cases in (awq_cases, gptq_cases, auto_round_cases, packed_cases, group_cases,
                             rounding_cases, byte_cases, compressed_float_cases, fp8_cases,
                             mxfp4_cases, modelopt_cases, quark_cases) for case in cases()]
