"""Small checkpoints with a layer that no kernel takes (COPIED) or that is not read (REFUSED).

Each has a good layer, too, where only one layer is at fault; `row` as in checkpoint_cases."""

from checkpoint_cases import (
    ATTENTION, FACTOR, FP8, INPUT_SCALE, MLP, MODEL, PLAIN, Case, compressed, floats,
    gptq_config, ints, model, named, quark)
from checkpoint_forms import (
    Bytes, Fp4, Integers, awq, f32, gptq, packed, quark_int4, tensor, whole_codes)

ROWS = Bytes(200)  # a good layer of FP8 with a scale to a row
PACKED = Integers(201, symmetric=True, scale="BF16")
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": True, "version": "gemm"}


def beside(row, name, config, good, own, bad, says, module=MLP, files=None, readable=None):
    """A good layer (`good` with its tensors `own`) and the tensors `bad` of one that is not, which
    is `readable` where dequantize reads it."""
    return Case(row, name, config, {**named(ATTENTION, own), **named(module, bad), **PLAIN},
                files or {}, {ATTENTION: good}, {}, "", module, says, readable)


def whole(row, name, config, says, files=None, tensors=None):
    """A config that is refused as it is."""
    tensors = ROWS.tensors() if tensors is None else tensors
    return Case(row, name, config, {**named(MLP, tensors), **PLAIN}, files or {}, says=says)


def codes(dtype="U8", shape=(8, 32)):
    size = {"U8": 1, "I8": 1, "F8_E4M3": 1, "I32": 4}[dtype]
    count = size
    for side in shape:
        count *= side
    return tensor(dtype, list(shape), "B", [0x11] * count)


FLOATS = tensor("F16", [4, 16], "H", [0x3C00] * 64)
MLX_TENSORS = {".weight": tensor("U32", [16, 8], "I", [7] * 128), ".scales": FLOATS,
               ".biases": FLOATS}
TENSORRT_TENSORS = {".weight": tensor("F16", [64, 4], "H", [0x1234] * 256),
                    ".weights_scaling_factor": FLOATS}


def copied_cases():
    rows = model(compressed("float-quantized", floats()))
    narrow = Bytes(210, n=32, k=112, block=(1, 112))
    yield beside(("any", "K no multiple of 32, N of 8"), "one-layer-stops-repack", rows, ROWS,
                 ROWS.tensors(), narrow.tensors(), ("32 x 112",), "visual.blocks.0.mlp.linear_fc2",
                 readable=narrow)
    gate = Bytes(211, n=1)
    yield beside(("any", "K no multiple of 32, N of 8"), "one-row", rows, ROWS,
                 ROWS.tensors(), gate.tensors(), ("1 x 64",), "model.layers.0.gate", readable=gate)
    fine = Integers(212, group=8)
    yield beside(("any", "groups no multiple of 16"), "groups-of-8",
                 model(gptq_config(dynamic={".*down_proj": {"group_size": 8}})),
                 Integers(213), gptq(Integers(213)), gptq(fine), ("group_size",),
                 readable=fine)
    convolution = Bytes(214, n=16, k=64, block=(1, 64))
    tensors = {".weight": convolution.weight([16, 4, 4, 4]),
               ".weight_scale": convolution.scales.tensor([16, 1, 1, 1])}
    yield beside(("any", "convolutions"), "convolution", rows, ROWS, ROWS.tensors(),
                 tensors, ("convolution",), "visual.patch_embed.proj", readable=convolution)
    table = Bytes(215, n=48)
    yield beside(("any", "embeddings"), "embeddings", rows, ROWS, ROWS.tensors(),
                 table.tensors(), ("table of embeddings",), "model.embed_tokens",
                 readable=table)


def refused_tensor_cases():
    """One layer is at fault, which --keep or --skip takes out of the way."""
    rows = model(compressed("float-quantized", floats()))
    row = ("any", "codes without scales, scales without codes")
    yield beside(row, "fp8-without-scale", model(FP8), ROWS, ROWS.tensors(),
                 {".weight": ROWS.weight()}, ("scale",))
    yield beside(row, "u8-of-nobody", rows, ROWS, ROWS.tensors(), {".weight": codes()},
                 ("U8 [8, 32]",))
    yield beside(row, "i32-of-nobody", rows, ROWS, ROWS.tensors(), {".codebook": codes("I32")},
                 ("I32 [8, 32]",))
    yield beside(row, "scale-without-weight", rows, ROWS, ROWS.tensors(),
                 {".weight_scale": ROWS.scales.tensor([16, 1])}, ("a scale without its weight",))
    layer = Integers(220)
    without = awq(layer)
    del without[".scales"]
    yield beside(row, "awq-without-scales", model(AWQ), layer, awq(layer), without,
                 (MLP + ".scales is missing",))
    nv = Fp4(221, scale="F8_E4M3", factor=FACTOR)
    divided = nv.tensors(".weight_packed", **{".weight_global_scale": f32(3000)})
    nv_config = compressed("nvfp4-pack-quantized", floats(4, "tensor_group", group_size=16))
    row = ("any", "NVFP4 without its second scale")
    yield beside(row, "nvfp4-global-scale-missing", model(nv_config), nv,
                 divided, nv.tensors(".weight_packed"), (MLP + ".weight_global_scale is missing",))
    yield beside(row, "nvfp4-modelopt-scale2-missing",
                 model({"quant_method": "modelopt", "quant_algo": "NVFP4"}), nv,
                 nv.tensors(**{".weight_scale_2": f32(FACTOR)}), nv.tensors(),
                 (MLP + ".weight_scale_2 is missing",))
    yield beside(row, "nvfp4-factor-of-zero", model(nv_config), nv,
                 divided, nv.tensors(".weight_packed", **{".weight_global_scale": f32(0)}),
                 ("no finite factor",))
    row = ("any", "tensors that contradict each other or the config")
    even = Integers(222, symmetric=True)
    yield beside(row, "gptq-sym-but-zeros-differ", model(gptq_config(sym=True)), even, gptq(even),
                 gptq(layer), ("symmetric", "zero point 8"))
    yield beside(row, "ct-symmetric-but-zeros-differ", model(compressed("pack-quantized", ints())),
                 PACKED, packed(PACKED), packed(Integers(223, scale="BF16")), ("symmetric",))
    eight = Integers(224, bits=8)
    yield beside(row, "gptq-bits-not-of-the-shape", model(gptq_config()), layer, gptq(layer),
                 gptq(eight), ("groups",))
    yield beside(row, "group-size-not-of-the-scales", model(gptq_config()), layer, gptq(layer),
                 gptq(Integers(225, group=16)), ("4 groups of scales", "group_size is 32"))
    yield beside(row, "fp8-scale-of-no-block", rows, ROWS, ROWS.tensors(),
                 {".weight": ROWS.weight(), ".weight_scale": ROWS.scales.tensor([4, 4])},
                 (MLP + ".weight_scale is F32 [4, 4]",))
    yield beside(row, "said-not-to-be-quantised",
                 model({**AWQ, "modules_to_not_convert": ["mlp"]}), layer, awq(layer), awq(layer),
                 ("not quantised",))
    yield beside(row, "names-of-another-method", model(AWQ), layer, awq(layer), packed(PACKED),
                 ("quant_method \"awq\"",))
    shuffled = Integers(234, act_order=True)
    yield beside(row, "gptq-desc-act-without-g-idx", model(gptq_config(desc_act=True)), shuffled,
                 gptq(shuffled), gptq(shuffled, index=False), (MLP + ".g_idx is missing",))
    asymmetric = Integers(235, scale="BF16")
    yield beside(row, "ct-actorder-without-g-idx",
                 model(compressed("pack-quantized", ints(symmetric=False, actorder="group"))),
                 asymmetric, packed(asymmetric, index=True), packed(asymmetric),
                 (MLP + ".weight_g_idx is missing",))
    yield beside(row, "ct-without-zeros",
                 model(compressed("pack-quantized", ints(symmetric=False))), asymmetric,
                 packed(asymmetric), packed(asymmetric, zeros=None),
                 (MLP + ".weight_zero_point is missing",))
    zeros = Bytes(236, "I8", zeros=True)
    weights = {"num_bits": 8, "type": "int", "symmetric": False, "strategy": "channel"}
    yield beside(row, "int8-without-zeros", model(compressed("int-quantized", weights)), zeros,
                 zeros.tensors(zeros=True), zeros.tensors(),
                 (MLP + ".weight_zero_point is missing",))
    no_zeros = awq(layer)
    del no_zeros[".qzeros"]
    yield beside(row, "awq-without-zeros", model(AWQ), layer, awq(layer), no_zeros,
                 (MLP + ".qzeros is missing",))
    uint4 = {"dtype": "uint4", "qscheme": "per_group", "group_size": 32, "symmetric": False}
    yield beside(row, "quark-without-zeros", model(quark(uint4)), layer, quark_int4(layer),
                 quark_int4(layer, zeros=False), (MLP + ".weight_zero_point is missing",))
    row = ("any", "tensors named as those of a refused quantiser")
    for suffix, name in ((".codes", "AQLM"), (".centroids", "VPTQ"), (".Qidxs", "QuIP"),
                         (".W_q", "HQQ"), (".absmax", "bitsandbytes"), (".SCB", "bitsandbytes"),
                         (".q_weight", "ExLlamaV2"), (".trellis", "ExLlamaV3"),
                         ("._weight_qdata", "torchao"), (".weight._data", "Quanto")):
        yield beside(row, "tensor" + suffix.replace(".", "-"), rows, ROWS, ROWS.tensors(),
                     {suffix: codes()}, (name + " is not read",))
    yield beside(row, "tensors-of-mlx", rows, ROWS, ROWS.tensors(), MLX_TENSORS,
                 ("MLX is not read",))
    yield beside(row, "tensors-of-tensorrt-llm", rows, ROWS, ROWS.tensors(), TENSORRT_TENSORS,
                 ("TensorRT-LLM is not read",))
    row = ("compressed-tensors", "2:4 sparsity")
    sparse = compressed("float-quantized", floats(), sparsity_config={
        "format": "sparse-24-bitmask", "targets": ["Linear"], "ignore": ["re:.*o_proj"]})
    yield beside(row, "ct-sparse24-bitmask", model(sparse), ROWS, ROWS.tensors(),
                 {".compressed": codes("F8_E4M3", (16, 32)), ".bitmask": codes("U8", (16, 8)),
                  ".shape": tensor("I64", [2], "q", [16, 64]),
                  ".weight_scale": ROWS.scales.tensor([16, 1])}, ("sparse",))
    row = ("compressed-tensors", "pack-quantized whose two forms have one shape")
    short = Integers(226, bits=3, k=20, group=20, symmetric=True, scale="BF16")
    three = {"a": {"targets": ["re:.*o_proj"], "weights": ints()},
             "b": {"targets": ["re:.*down_proj"], "weights": ints(3, 20)}}
    yield beside(row, "ct-3-bits-of-20-columns",
                 model(compressed("pack-quantized", ints(), config_groups=three)), PACKED,
                 packed(PACKED), packed(short, pack=whole_codes), ("20 columns of 3 bits",))
    row = ("modelopt", "INT4_AWQ, W4A16_AWQ, W4A8_AWQ and others")
    mixed = {ATTENTION: {"quant_algo": "FP8"}, MLP: {"quant_algo": "W4A16_AWQ", "group_size": 32}}
    fp8 = Bytes(227, block=(16, 64))
    yield beside(row, "modelopt-mixed-int4awq-hfquant-only", MODEL, fp8,
                 {**fp8.tensors([]), **INPUT_SCALE},
                 {".weight": codes("U8", (8, 64)), ".weight_scale": Integers(0).scales.tensor(
                     [16, 2]), ".pre_quant_scale": tensor("F16", [64], "H", [0x3C00] * 64)},
                 ("W4A16_AWQ",), files={"hf_quant_config.json": {
                     "producer": {"name": "modelopt"}, "quantization": {
                         "quant_algo": "MIXED_PRECISION", "quantized_layers": mixed}}})
    row = ("quark", "other types, several stages")
    good = quark({"dtype": "fp8_e4m3", "qscheme": "per_tensor"})
    for name, weight in (("quark-mxfp6", {"dtype": "fp6_e2m3", "qscheme": "per_group",
                                          "group_size": 32}),
                         ("quark-two-stages", [{"dtype": "fp8_e4m3", "qscheme": "per_tensor"}])):
        layers = {"*down_proj": {"weight": weight}}
        yield beside(row, name, model({**good, "layer_quant_config": layers}), fp8,
                     fp8.tensors([]), {".weight": codes("U8", (16, 48)),
                                       ".weight_scale": codes("U8", (16, 2))}, ("Quark's",))
    row = ("auto-round", "`data_type` not int")
    extra = {MLP: {"bits": 4, "data_type": "mx_fp"}}
    yield beside(row, "auto-round-extra-mx-fp",
                 model({"quant_method": "auto-round", "bits": 4, "group_size": 32, "sym": False,
                        "packing_format": "auto_round:auto_gptq", "extra_config": extra}), layer,
                 gptq(layer), gptq(layer), ("mx_fp",))
    row = ("fp8", "experts that may be [E, K, N]")
    square = Bytes(228, n=64, k=64, block=(16, 32), matrices=2)
    name = "model.layers.0.mlp.experts.gate_up_proj"
    yield beside(row, "fp8-square-experts", model({**FP8, "weight_block_size": [16, 32]}),
                 Bytes(229, block=(16, 32)),
                 Bytes(229, block=(16, 32)).tensors(scale_name=".weight_scale_inv"),
                 {"": square.weight([2, 64, 64]), "_scale_inv": square.scales.tensor([2, 4, 2])},
                 ("hidden_size is 64",), name)


def refused_config_cases():
    """The config alone tells that nothing of it can be read."""
    for version in ("gemv_fast", "marlin"):
        yield whole(("awq", "other `version`s"), f"awq-{version}",
                    model({**AWQ, "version": version}), ("/quantization_config/version", version))
    row = ("gptq", "Marlin's order")
    yield whole(row, "gptq-marlin-flag", model(gptq_config(is_marlin_format=True)),
                ("/quantization_config/is_marlin_format",))
    yield whole(row, "gptq-checkpoint-format-marlin",
                model(gptq_config(checkpoint_format="marlin")),
                ("/quantization_config/checkpoint_format",))
    for bits in (1, 5, 6, 7):
        yield whole(("gptq", "other widths"), f"gptq-{bits}-bits", model(gptq_config(bits=bits)),
                    ("/quantization_config/bits", "allowed: 2, 3, 4 or 8"))
    yield whole(("gptq", "bit planes"), "gptq-planes",
                model(gptq_config(checkpoint_format="gptq_p")),
                ("/quantization_config/checkpoint_format", "gptq_p"))
    row = ("any", "configs that contradict each other")
    yield whole(row, "gptq-formats-differ", model(gptq_config(format="gptq_v2")),
                ("/quantization_config/format", "checkpoint_format says \"gptq\""))
    yield whole(row, "modelopt-algorithms-differ",
                model({"quant_method": "modelopt", "quant_algo": "FP8"}), ("NVFP4", "FP8"),
                {"hf_quant_config.json": {"quantization": {"quant_algo": "NVFP4"}}})
    yield whole(row, "modelopt-group-of-another-size",
                model({"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 32}),
                ("/quantization_config/group_size",))
    row = ("auto-round", "`data_type` not int")
    yield whole(row, "auto-round-mx-fp",
                model({"quant_method": "auto-round", "bits": 4, "data_type": "mx_fp"}),
                ("/quantization_config/data_type",))
    yield whole(("auto-round", "other packings"), "auto-round-marlin",
                model({"quant_method": "auto-round", "bits": 4,
                       "packing_format": "auto_round:marlin"}),
                ("/quantization_config/packing_format",))
    row = ("compressed-tensors", "2:4 sparsity")
    for form in ("marlin-24", "sparse-24-bitmask"):
        yield whole(row, f"ct-{form}", model(compressed(form, ints())),
                    ("/quantization_config/format", "sparse"))
    yield whole(("compressed-tensors", "other formats"), "ct-unknown-format",
                model(compressed("wibble-quantized", ints())), ("wibble-quantized",))
    transform = {"config_groups": {"R4": {"type": "hadamard", "apply": [
        {"targets": ["re:.*down_proj$"], "location": "input"}]}}}
    yield whole(("compressed-tensors", "`transform_config` of activations"), "ct-transform-config",
                model(compressed("pack-quantized", ints(), transform_config=transform)),
                ("transform_config", "down_proj"), tensors=packed(PACKED))
    yield whole(("fp8", "other `fmt`s"), "fp8-e4m3fnuz", model({**FP8, "fmt": "e4m3fnuz"}),
                ("/quantization_config/fmt",))
    row = ("modelopt", "INT4_AWQ, W4A16_AWQ, W4A8_AWQ and others")
    for algorithm in ("INT4_AWQ", "W4A8_AWQ", "W4A16_AWQ", "WIBBLE"):
        yield whole(row, f"modelopt-{algorithm}",
                    model({"quant_method": "modelopt", "quant_algo": algorithm}),
                    ("/quantization_config/quant_algo", algorithm))
    fp8 = {"dtype": "fp8_e4m3", "qscheme": "per_tensor"}
    yield whole(("quark", "rotations"), "quark-rotation",
                model(quark(fp8, algo_config=[{"name": "rotation"}])), ("algo_config",))
    yield whole(("awq", "other widths than 4 bits"), "awq-3-bits", model({**AWQ, "bits": 3}),
                ("allowed: 4",), tensors=awq(Integers(230)))
    others = ("any", "any other `quant_method`")
    for method in ("aqlm", "vptq", "higgs", "exl2", "exl3", "quip", "hqq", "bitsandbytes",
                   "torchao", "gguf", "marlin", "bitblas"):
        yield whole((method, "any"), method, model({"quant_method": method}),
                    ("/quantization_config/quant_method", "is not read: ", "; take "))
    for method in ("quanto", "eetq", "spqr", "bitnet", "sinq", "fp_quant", "qqq", "paroquant"):
        yield whole(others, method, model({"quant_method": method}),
                    ("/quantization_config/quant_method", "is not read: ", "; take "))
    mlx = {"group_size": 64, "bits": 4}
    yield whole(("MLX", "any"), "mlx", {**model(mlx), "quantization": mlx},
                ("/quantization: MLX is not read", "--dequantize"), tensors=MLX_TENSORS)
    yield whole(("TensorRT-LLM", "any"), "tensorrt-llm",
                {"architecture": "LlamaForCausalLM", "dtype": "float16",
                 "quantization": {"quant_algo": "W4A16_AWQ", "group_size": 128}},
                ("/quantization: TensorRT-LLM is not read",), tensors=TENSORRT_TENSORS)
    yield whole(others, "unknown-method",
                model({"quant_method": "wibble"}), ("wibble", "not known"))
    yield whole(("any", "packed integers without a config"), "no-config",
                {"model_type": "llama"}, ("quantization_config",), tensors=gptq(Integers(231)))


# What dequantize reads and repack does not.
UNEVEN = Integers(232, act_order=True)
UNEVEN.index[:] = [0] * 40 + [1] * 24
REPACK_REFUSED = [beside(("gptq", "`desc_act` with groups of several sizes"), "gptq-uneven-groups",
                         model(gptq_config(desc_act=True)), Integers(233), gptq(Integers(233)),
                         gptq(UNEVEN), ("g_idx", "32 columns"), readable=UNEVEN)]

# No safetensors files; the rows of all are one.
WRONG_FILES_ROW = ("any", "GGUF, PyTorch, ONNX, other files")
# Name: content, what it is called, whether the content alone tells.
WRONG_FILES = {"model.gguf": (b"GGUF" + bytes(range(60)), "GGUF", True),
               "pytorch_model.bin": (b"PK\x03\x04" + bytes(60), "PyTorch", True),
               "model.onnx": (b"\x08\x0a" + bytes(60), "ONNX", False),
               "onnx/model.onnx": (bytes(60), "ONNX", False),
               "openvino_model.bin": (bytes(60), "OpenVINO", False),
               "rank0.engine": (bytes(60), "TensorRT", False)}

COPIED = list(copied_cases())
REFUSED = [*refused_tensor_cases(), *refused_config_cases()]
