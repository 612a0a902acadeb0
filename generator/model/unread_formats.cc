#include "generator/model/unread_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <span>

#include "generator/model/module_pattern.h"

namespace heddle {
namespace {

constexpr const char* kOriginal =
    "take the 16-bit model that it was made from (--dense), or quantise that with a method that is "
    "read";
constexpr const char* kConverted = "take the safetensors checkpoint that it was converted from";

// The object's field; null where there is none.
const Node* object_of(const Node& config, std::string_view key) {
  const Node* node = config.find(key);
  return node != nullptr && node->kind == Node::Kind::kObject ? node : nullptr;
}

bool has_any(const Node& object, std::initializer_list<std::string_view> keys) {
  return std::any_of(keys.begin(), keys.end(),
                     [&](std::string_view key) { return object.find(key) != nullptr; });
}

constexpr std::string_view kConfigKey = "quantization_config";
constexpr std::string_view kQuantizationKey = "quantization";

// Widths and groups with nothing of what GPTQ and AWQ have beside them.
std::string_view mlx_key(const Node& config) {
  for (const std::string_view key : {kQuantizationKey, kConfigKey}) {
    const Node* object = object_of(config, key);
    if (object != nullptr && object->find("bits") != nullptr &&
        object->find("group_size") != nullptr &&
        !has_any(*object, {"quant_algo", "sym", "desc_act", "zero_point", "version", "data_type",
                           "checkpoint_format", "format", "damp_percent"})) {
      return key;
    }
  }
  return {};
}

std::string_view tensorrt_llm_key(const Node& config) {
  const Node* object = object_of(config, kQuantizationKey);
  const Node* algorithm = object == nullptr ? nullptr : object->find("quant_algo");
  return algorithm != nullptr && algorithm->kind == Node::Kind::kString ? kQuantizationKey
                                                                        : std::string_view();
}

std::string_view bitsandbytes_key(const Node& config) {
  const Node* object = object_of(config, kConfigKey);
  return object != nullptr && has_any(*object, {"load_in_4bit", "load_in_8bit"})
             ? kConfigKey
             : std::string_view();
}

std::string_view aqlm_key(const Node& config) {
  return object_of(config, "aqlm") != nullptr ? "aqlm" : "";
}

std::string_view quip_key(const Node& config) {
  return object_of(config, "quip_params") != nullptr ? "quip_params" : "";
}

// Lists of texts of any length in rows that the compiler makes.
using Texts = std::span<const std::string_view>;

template <std::size_t size>
struct Literal {
  // NOLINTNEXTLINE(google-explicit-constructor): the literals of kTexts are converted
  constexpr Literal(const char (&text)[size]) { std::copy_n(text, size, bytes.begin()); }
  constexpr std::string_view view() const { return {bytes.data(), size - 1}; }
  std::array<char, size> bytes{};
};

template <Literal... literals>
constexpr std::array<std::string_view, sizeof...(literals)> kTexts = {literals.view()...};

// Endings of tensors' names that tell only with tensors of all of the other endings beside.
struct TensorsTogether {
  Texts endings;
  Texts beside;
};

constexpr TensorsTogether kMlxTensors[] = {
    {kTexts<".biases", ".scales", ".weight">, kTexts<".biases", ".scales">}};
constexpr TensorsTogether kTensorRtLlmTensors[] = {
    {kTexts<".weights_scaling_factor", ".activation_scaling_factor", ".prequant_scaling_factor",
            ".weight">,
     kTexts<".weights_scaling_factor">},
    {kTexts<".per_channel_scale", ".weight">, kTexts<".per_channel_scale">}};

// A format, and all that it is recognised by: any of it.
struct Row {
  UnreadFormat format;
  // Beginnings of "quant_method".
  Texts methods{};
  // The member of the config that tells; empty: none.
  std::string_view (*key_that_tells)(const Node& config) = nullptr;
  // Endings and parts of tensors' names.
  Texts tensors{};
  Texts tensor_parts{};
  std::span<const TensorsTogether> tensors_together{};
  // Shell patterns for files' names; first bytes.
  Texts files{};
  Texts first_bytes{};
};

// What training leaves beside the weights, in the files of some format.
constexpr Texts kNoWeights =
    kTexts<"training_args.bin", "optimizer*.bin", "optimizer*.pt", "scheduler*.bin",
           "scheduler*.pt", "scaler*.pt", "sampler*.bin", "rng_state*.pth">;

// The first row that fits is the one.
constexpr Row kRows[] = {
    {.format = {"AQLM", "its additive codebooks need a decode plan of their own", kOriginal},
     .methods = kTexts<"aqlm">,
     .key_that_tells = aqlm_key,
     .tensors = kTexts<".codebooks", ".codes">},
    {.format = {"VPTQ", "its vector codebooks need a decode plan of their own", kOriginal},
     .methods = kTexts<"vptq">,
     .tensors = kTexts<".centroids", ".centroids.weight", ".res_centroids.weight">},
    {.format = {"HIGGS", "it has lattice codebooks, and rotates activations at run time",
                kOriginal},
     .methods = kTexts<"higgs">,
     .tensors = kTexts<".tables2">},
    {.format = {"QuIP", "it has lattice or trellis codes, and rotates activations at run time",
                kOriginal},
     .methods = kTexts<"quip", "qtip">,
     .key_that_tells = quip_key,
     .tensors = kTexts<".Qidxs">},
    {.format = {"ExLlamaV2", "its columns have several widths", kOriginal},
     .methods = kTexts<"exl2">,
     .tensors = kTexts<".q_weight", ".q_invperm", ".q_groups", ".q_scale_max">},
    {.format = {"ExLlamaV3", "it has trellis codes, and rotates activations at run time",
                kOriginal},
     .methods = kTexts<"exl3">,
     .tensors = kTexts<".trellis", ".suh", ".svh">},
    {.format = {"HQQ", "its zero points are floats in a layout of their own", kOriginal},
     .methods = kTexts<"hqq">,
     .tensors = kTexts<".W_q">},
    {.format = {"bitsandbytes",
                "its values come from tables, and its scales may be quantised themselves",
                kOriginal},
     .methods = kTexts<"bitsandbytes">,
     .key_that_tells = bitsandbytes_key,
     .tensors = kTexts<".absmax", ".nested_absmax", ".quant_map", ".nested_quant_map", ".SCB">,
     .tensor_parts = kTexts<".quant_state.bitsandbytes__">},
    {.format = {"torchao", "there is no importer for its tensors (_weight_qdata and others)",
                kOriginal},
     .methods = kTexts<"torchao">,
     .tensors = kTexts<"._weight_qdata", "._weight_scale", "._weight_zero_point">},
    {.format = {"Quanto", "there is no importer for its tensors (weight._data and others)",
                kOriginal},
     .methods = kTexts<"quanto">,
     .tensors = kTexts<".weight._data", ".weight._scale", ".weight._shift">},
    {.format = {"EETQ", "there is no importer for its order of codes", kOriginal},
     .methods = kTexts<"eetq">,
     .tensors = kTexts<".weight_scales">},
    {.format = {"SpQR", "its outliers are sparse, which needs kernels of their own", kOriginal},
     .methods = kTexts<"spqr">,
     .tensors = kTexts<".dense_weights", ".row_offsets", ".col_vals">},
    {.format = {"BitNet", "its codes have three values, four codes to a byte of rows", kOriginal},
     .methods = kTexts<"bitnet">},
    {.format = {"SINQ", "it has a second scale for each column", kOriginal},
     .methods = kTexts<"sinq">},
    {.format = {"FP-Quant", "it rotates activations at run time", kOriginal},
     .methods = kTexts<"fp-quant">,
     .tensors = kTexts<".forward_hadamard_matrix", ".backward_hadamard_matrix">},
    {.format = {"QQQ", "there is no importer for its order of codes", kOriginal},
     .methods = kTexts<"qqq">},
    {.format = {"ParoQuant", "it rotates activations at run time", kOriginal},
     .methods = kTexts<"paroquant">},
    {.format = {"Marlin", "there is no importer for its order of codes",
                "take the checkpoint that was converted to Marlin"},
     .methods = kTexts<"marlin">},
    {.format = {"BitBLAS", "there is no importer for its order of codes",
                "take the checkpoint that was converted to BitBLAS"},
     .methods = kTexts<"bitblas">},
    {.format = {"MLX", "there is no importer for its tensors (weight of U32, scales, biases)",
                "mlx_lm.convert --dequantize makes a 16-bit model of it (--dense)"},
     .methods = kTexts<"mlx">,
     .key_that_tells = mlx_key,
     .tensors_together = kMlxTensors,
     .files = kTexts<"weights.npz", "weights.*.npz">},
    {.format = {"TensorRT-LLM",
                "there is no importer for its tensors, whose codes have an order of their own and "
                "whose 16 bits may be packed integers",
                "take the Hugging Face checkpoint that it was converted from"},
     .key_that_tells = tensorrt_llm_key,
     .tensors_together = kTensorRtLlmTensors},
    {.format = {"GGUF", "its weights lie in super-blocks",
                "take the safetensors checkpoint that it was converted from, or save what "
                "Transformers loads with gguf_file"},
     .methods = kTexts<"gguf">,
     .files = kTexts<"*.gguf", "*.ggml", "*.llamafile">,
     .first_bytes = kTexts<"GGUF">},
    {.format = {"ONNX", "its weights are part of a graph", kConverted},
     .files = kTexts<"*.onnx", "*.onnx_data", "*.onnx.data", "*.ort">},
    {.format = {"OpenVINO", "its weights are part of a graph", kConverted},
     .files = kTexts<"openvino_*.xml", "openvino_*.bin">},
    {.format = {"TensorRT", "its engines are compiled for one GPU", kConverted},
     .files = kTexts<"*.engine", "*.plan", "*.trt">},
    {.format = {"MLC", "its weights are packed for its own kernels", kConverted},
     .files = kTexts<"params_shard_*.bin">},
    {.format = {"Core ML", "its weights are part of a program", kConverted},
     .files = kTexts<"*.mlpackage", "*.mlmodel", "*.mlmodelc">},
    {.format = {"ExecuTorch", "its weights are part of a program", kConverted},
     .files = kTexts<"*.pte">},
    {.format = {"TensorFlow", "its files are no safetensors", kConverted},
     .files = kTexts<"*.h5", "*.tflite", "*.litertlm">,
     .first_bytes = kTexts<"\x89HDF">},
    {.format = {"Flax", "its files are no safetensors", kConverted}, .files = kTexts<"*.msgpack">},
    {.format = {"NeMo", "its files are no safetensors", kConverted}, .files = kTexts<"*.nemo">},
    {.format = {"PyTorch", "its files hold pickled objects, which run code when they are loaded",
                "load it and save it with save_pretrained or safetensors.torch.save_file"},
     .files = kTexts<"*.pt", "*.pth", "*.ckpt", "pytorch_model*.bin">,
     .first_bytes = kTexts<"PK\x03\x04", "\x80\x02">},
    {.format = {"PyTorch (or another binary format)", "only safetensors files are",
                "load it and save it with save_pretrained or safetensors.torch.save_file"},
     .files = kTexts<"*.bin">},
};

bool any_is(Texts list, const std::function<bool(std::string_view)>& is) {
  return std::any_of(list.begin(), list.end(), is);
}

using HasTensor = std::function<bool(const std::string&)>;

bool has_beside(const TensorsTogether& together, std::string_view name, const HasTensor& has) {
  return any_is(together.endings, [&](std::string_view ending) {
    if (!name.ends_with(ending)) return false;
    const std::string stem(name.substr(0, name.size() - ending.size()));
    return std::all_of(together.beside.begin(), together.beside.end(),
                       [&](std::string_view other) { return has(stem + std::string(other)); });
  });
}

bool has_tensor_of(const Row& row, std::string_view name, const HasTensor& has) {
  return any_is(row.tensors, [&](std::string_view ending) { return name.ends_with(ending); }) ||
         any_is(row.tensor_parts,
                [&](std::string_view part) { return name.find(part) != name.npos; }) ||
         std::any_of(row.tensors_together.begin(), row.tensors_together.end(),
                     [&](const TensorsTogether& one) { return has_beside(one, name, has); });
}

template <class Fits>
const UnreadFormat* first_row(const Fits& fits) {
  const auto* const row = std::find_if(std::begin(kRows), std::end(kRows), fits);
  return row == std::end(kRows) ? nullptr : &row->format;
}

}  // namespace

std::string UnreadFormat::refusal() const {
  return fmt::format("{} is not read: {}; {}", name, why, instead);
}

const UnreadFormat* format_of_method(std::string_view method) {
  return first_row([&](const Row& row) {
    return any_is(row.methods, [&](std::string_view known) { return method.starts_with(known); });
  });
}

std::optional<UnreadConfig> format_of_config(const Node& config) {
  const Node* quantization = object_of(config, kConfigKey);
  if (quantization != nullptr && quantization->find("quant_method") != nullptr) return {};
  for (const Row& row : kRows) {
    if (row.key_that_tells == nullptr) continue;
    const std::string_view key = row.key_that_tells(config);
    if (!key.empty()) return UnreadConfig{&row.format, key};
  }
  return {};
}

const UnreadFormat* format_of_tensor(std::string_view name,
                                     const std::function<bool(const std::string&)>& has) {
  return first_row([&](const Row& row) { return has_tensor_of(row, name, has); });
}

const UnreadFormat* format_of_file_name(std::string_view name) {
  const auto fits = [&](std::string_view pattern) { return matches_glob(pattern, name); };
  if (any_is(kNoWeights, fits)) return nullptr;
  return first_row([&](const Row& row) { return any_is(row.files, fits); });
}

const UnreadFormat* format_of_first_bytes(std::string_view first_bytes) {
  return first_row([&](const Row& row) {
    return any_is(row.first_bytes,
                  [&](std::string_view start) { return first_bytes.starts_with(start); });
  });
}

}  // namespace heddle
