#include "generator/model/unread_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "generator/model/module_pattern.h"

namespace heddle {
namespace {

using namespace std::string_view_literals;

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
std::string_view says_mlx(const Node& config) {
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

std::string_view says_tensorrt_llm(const Node& config) {
  const Node* object = object_of(config, kQuantizationKey);
  const Node* algorithm = object == nullptr ? nullptr : object->find("quant_algo");
  return algorithm != nullptr && algorithm->kind == Node::Kind::kString ? kQuantizationKey
                                                                        : std::string_view();
}

std::string_view says_bitsandbytes(const Node& config) {
  const Node* object = object_of(config, kConfigKey);
  return object != nullptr && has_any(*object, {"load_in_4bit", "load_in_8bit"})
             ? kConfigKey
             : std::string_view();
}

std::string_view says_aqlm(const Node& config) {
  return object_of(config, "aqlm") != nullptr ? "aqlm" : "";
}

std::string_view says_quip(const Node& config) {
  return object_of(config, "quip_params") != nullptr ? "quip_params" : "";
}

// A row that several things may recognise.
struct Row {
  UnreadFormat format;
  // Beginnings of "quant_method".
  std::array<std::string_view, 2> methods{};
  // The key of the config that says it; empty: none.
  std::string_view (*says)(const Node& config) = nullptr;
  // Endings of tensors' names, and those that must be there beside such a tensor.
  std::array<std::string_view, 6> tensors{};
  std::array<std::string_view, 2> beside{};
  // Shell patterns for files' names; first bytes.
  std::array<std::string_view, 5> files{};
  std::array<std::string_view, 2> content{};
};

// The first row that fits is the one.
constexpr Row kRows[] = {
    {.format = {"AQLM", "its additive codebooks need a decode plan of their own", kOriginal},
     .methods = {"aqlm"},
     .says = says_aqlm,
     .tensors = {".codebooks", ".codes"}},
    {.format = {"VPTQ", "its vector codebooks need a decode plan of their own", kOriginal},
     .methods = {"vptq"},
     .tensors = {".centroids", ".centroids.weight", ".res_centroids.weight"}},
    {.format = {"HIGGS", "it has lattice codebooks, and rotates activations at run time",
                kOriginal},
     .methods = {"higgs"},
     .tensors = {".tables2"}},
    {.format = {"QuIP", "it has lattice or trellis codes, and rotates activations at run time",
                kOriginal},
     .methods = {"quip", "qtip"},
     .says = says_quip,
     .tensors = {".Qidxs"}},
    {.format = {"ExLlamaV2", "its columns have several widths", kOriginal},
     .methods = {"exl2"},
     .tensors = {".q_weight", ".q_invperm", ".q_groups", ".q_scale_max"}},
    {.format = {"ExLlamaV3", "it has trellis codes, and rotates activations at run time",
                kOriginal},
     .methods = {"exl3"},
     .tensors = {".trellis", ".suh", ".svh"}},
    {.format = {"HQQ", "its zero points are floats in a layout of their own", kOriginal},
     .methods = {"hqq"},
     .tensors = {".W_q"}},
    {.format = {"bitsandbytes",
                "its values come from tables, and its scales may be quantised themselves",
                kOriginal},
     .methods = {"bitsandbytes"},
     .says = says_bitsandbytes,
     .tensors = {".absmax", ".nested_absmax", ".quant_map", ".nested_quant_map", ".SCB",
                 ".quant_state.bitsandbytes__nf4"}},
    {.format = {"bitsandbytes",
                "its values come from tables, and its scales may be quantised themselves",
                kOriginal},
     .tensors = {".quant_state.bitsandbytes__fp4"}},
    {.format = {"torchao", "there is no importer for its tensors (_weight_qdata and others)",
                kOriginal},
     .methods = {"torchao"},
     .tensors = {"._weight_qdata", "._weight_scale", "._weight_zero_point"}},
    {.format = {"Quanto", "there is no importer for its tensors (weight._data and others)",
                kOriginal},
     .methods = {"quanto"},
     .tensors = {".weight._data", ".weight._scale", ".weight._shift"}},
    {.format = {"EETQ", "there is no importer for its order of codes", kOriginal},
     .methods = {"eetq"},
     .tensors = {".weight_scales"}},
    {.format = {"SpQR", "its outliers are sparse, which needs kernels of their own", kOriginal},
     .methods = {"spqr"},
     .tensors = {".dense_weights", ".row_offsets", ".col_vals"}},
    {.format = {"BitNet", "its codes have three values, four codes to a byte of rows", kOriginal},
     .methods = {"bitnet"}},
    {.format = {"SINQ", "it has a second scale for each column", kOriginal}, .methods = {"sinq"}},
    {.format = {"FP-Quant", "it rotates activations at run time", kOriginal},
     .methods = {"fp-quant"},
     .tensors = {".forward_hadamard_matrix", ".backward_hadamard_matrix"}},
    {.format = {"QQQ", "there is no importer for its order of codes", kOriginal},
     .methods = {"qqq"}},
    {.format = {"ParoQuant", "it rotates activations at run time", kOriginal},
     .methods = {"paroquant"}},
    {.format = {"Marlin", "there is no importer for its order of codes",
                "take the checkpoint that was converted to Marlin"},
     .methods = {"marlin"}},
    {.format = {"BitBLAS", "there is no importer for its order of codes",
                "take the checkpoint that was converted to BitBLAS"},
     .methods = {"bitblas"}},
    {.format = {"MLX", "there is no importer for its tensors (weight of U32, scales, biases)",
                "mlx_lm.convert --dequantize makes a 16-bit model of it (--dense)"},
     .methods = {"mlx"},
     .says = says_mlx,
     .tensors = {".biases", ".scales", ".weight"},
     .beside = {".biases", ".scales"},
     .files = {"weights.npz", "weights.*.npz"}},
    {.format = {"TensorRT-LLM",
                "there is no importer for its tensors, whose 16 bits may be packed integers",
                "take the Hugging Face checkpoint that it was converted from"},
     .says = says_tensorrt_llm,
     .tensors = {".weights_scaling_factor", ".activation_scaling_factor",
                 ".prequant_scaling_factor", ".weight"},
     .beside = {".weights_scaling_factor"}},
    {.format = {"TensorRT-LLM", "there is no importer for its order of codes",
                "take the Hugging Face checkpoint that it was converted from"},
     .tensors = {".per_channel_scale", ".weight"},
     .beside = {".per_channel_scale"}},
    {.format = {"GGUF", "its weights lie in super-blocks",
                "take the safetensors checkpoint that it was converted from, or save what "
                "Transformers loads with gguf_file"},
     .methods = {"gguf"},
     .files = {"*.gguf", "*.ggml", "*.llamafile"},
     .content = {"GGUF"}},
    {.format = {"ONNX", "its weights are part of a graph", kConverted},
     .files = {"*.onnx", "*.onnx_data", "*.onnx.data", "*.ort"}},
    {.format = {"OpenVINO", "its weights are part of a graph", kConverted},
     .files = {"openvino_*.xml", "openvino_*.bin", "*.xml"}},
    {.format = {"TensorRT", "its engines are compiled for one GPU", kConverted},
     .files = {"*.engine", "*.plan", "*.trt"}},
    {.format = {"MLC", "its weights are packed for its own kernels", kConverted},
     .files = {"params_shard_*.bin"}},
    {.format = {"Core ML", "its weights are part of a program", kConverted},
     .files = {"*.mlpackage", "*.mlmodel", "*.mlmodelc"}},
    {.format = {"ExecuTorch", "its weights are part of a program", kConverted}, .files = {"*.pte"}},
    {.format = {"TensorFlow", "its files are no safetensors", kConverted},
     .files = {"*.h5", "*.tflite", "*.litertlm"},
     .content = {"\x89HDF"}},
    {.format = {"Flax", "its files are no safetensors", kConverted}, .files = {"*.msgpack"}},
    {.format = {"NeMo", "its files are no safetensors", kConverted}, .files = {"*.nemo"}},
    {.format = {"PyTorch", "its files hold pickled objects, which run code when they are loaded",
                "load it and save it with save_pretrained or safetensors.torch.save_file"},
     .files = {"*.pt", "*.pth", "*.ckpt", "pytorch_model*.bin"},
     .content = {"PK\x03\x04"sv, "\x80\x02"sv}},
    {.format = {"PyTorch (or another binary format)", "only safetensors files are",
                "load it and save it with save_pretrained or safetensors.torch.save_file"},
     .files = {"*.bin"}},
};

bool any_is(std::span<const std::string_view> list,
            const std::function<bool(std::string_view)>& is) {
  return std::any_of(list.begin(), list.end(),
                     [&](std::string_view entry) { return !entry.empty() && is(entry); });
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
    const std::string_view key = row.says == nullptr ? std::string_view() : row.says(config);
    if (!key.empty()) return UnreadConfig{&row.format, key};
  }
  return {};
}

const UnreadFormat* format_of_tensor(std::string_view name,
                                     const std::function<bool(const std::string&)>& has) {
  return first_row([&](const Row& row) {
    return any_is(row.tensors, [&](std::string_view ending) {
      if (!name.ends_with(ending)) return false;
      const std::string stem(name.substr(0, name.size() - ending.size()));
      return std::all_of(row.beside.begin(), row.beside.end(), [&](std::string_view other) {
        return other.empty() || has(stem + std::string(other));
      });
    });
  });
}

const UnreadFormat* format_of_file_name(std::string_view name) {
  return first_row([&](const Row& row) {
    return any_is(row.files, [&](std::string_view pattern) { return matches_glob(pattern, name); });
  });
}

const UnreadFormat* format_of_first_bytes(std::string_view first_bytes) {
  return first_row([&](const Row& row) {
    return any_is(row.content,
                  [&](std::string_view start) { return first_bytes.starts_with(start); });
  });
}

}  // namespace heddle
