#include "generator/model/read_quantization.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "generator/model/method_readers.h"
#include "generator/model/quantization_builder.h"
#include "generator/model/unread_formats.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::array<
    std::pair<std::string_view, void (*)(const ConfigReader&, QuantizationBuilder&)>, 9>
    kReaders = {{{"awq", read_awq},
                 {"gptq", read_gptq},
                 {"auto-round", read_auto_round},
                 {"compressed-tensors", read_compressed_tensors},
                 {"fp8", read_fp8},
                 {"fbgemm-fp8", read_fbgemm_fp8},
                 {"modelopt", read_modelopt},
                 {"mxfp4", read_mxfp4},
                 {"quark", read_quark}}};

std::string known_methods() {
  std::string list;
  for (const auto& [method, reader] : kReaders)
    list += (list.empty() ? "" : ", ") + quoted_excerpt(method);
  return list;
}

// One spelling for each method.
std::string canonical(std::string method) {
  method = lower(std::move(method));
  std::replace(method.begin(), method.end(), '_', '-');
  if (method == "intel/auto-round" || method == "autoround") return "auto-round";
  if (method == "modelopt-fp4" || method == "modelopt-mixed") return "modelopt";
  return method;
}

// Writers that leave "quant_method" out are known by their other fields.
std::string method_of(const ConfigReader& config) {
  if (config.has("quant_method")) return canonical(config.required_string("quant_method"));
  if (config.has("quant_algo") || config.has("kv_cache_quant_algo") || config.has("producer")) {
    return "modelopt";
  }
  if (config.has("config_groups") && config.has("format")) return "compressed-tensors";
  if (config.has("w_bit")) return "awq";
  config.add("missing_field", "quant_method",
             "the field is required: the others are of no quantiser that Heddle knows",
             known_methods());
  return {};
}

Quantization read_method(const ConfigReader& config, const std::string& method,
                         const QuantizationSources& sources) {
  const ConfigReader root(*sources.config, "", config.findings());
  QuantizationBuilder builder(method, sources, root.text("expert_dtype"));
  builder.set_pointer(config.pointer());
  const auto* const reader = std::find_if(kReaders.begin(), kReaders.end(),
                                          [&](const auto& known) { return known.first == method; });
  if (reader != kReaders.end()) {
    reader->second(config, builder);
  } else if (!method.empty()) {
    if (const UnreadFormat* format = format_of_method(method)) {
      refuse_quantization(config, "quant_method", format->refusal(), quoted_excerpt(method),
                          known_methods());
    }
    refuse_quantization(config, "quant_method", "this quantisation is not known to Heddle",
                        quoted_excerpt(method), known_methods());
  }
  return builder.take();
}

struct Place {
  const Node* node = nullptr;
  std::string pointer;
};

// In a multimodal model the quantisation may stand in the language model's config.
Place place_in_config(const Node& config, Findings& findings) {
  const ConfigReader root(config, "", findings);
  for (const std::string_view key : {"quantization_config", "compression_config"}) {
    if (const Node* node = root.object(key)) return {node, root.pointer(key)};
  }
  for (const std::string_view wrapper : {"text_config", "llm_config", "language_config"}) {
    const Node* text = root.object(wrapper);
    if (text == nullptr) continue;
    const ConfigReader inner(*text, root.pointer(wrapper), findings);
    for (const std::string_view key : {"quantization_config", "compression_config"}) {
      if (const Node* node = inner.object(key)) return {node, inner.pointer(key)};
    }
  }
  return {};
}

Place place_in_hf_quant_config(const Node& document, Findings& findings) {
  const std::string name = "hf_quant_config.json";
  const ConfigReader root(document, name, findings);
  if (const Node* node = root.object("quantization")) return {node, root.pointer("quantization")};
  if (root.has("quant_algo")) return {&document, name};
  root.add("missing_field", "quantization", "the field is required");
  return {};
}

constexpr std::string_view kAlgorithmField[] = {"quant_algo"};
constexpr std::string_view kQuantizeFields[] = {
    "quant_method", "bits",       "w_bit",    "group_size",        "q_group_size",
    "sym",          "zero_point", "desc_act", "checkpoint_format", "format"};

// `config` with those of these fields that it lacks and `other` has.
Node with_fields_of(const Node& other, const Node& config) {
  Node merged = config;
  for (const std::string_view field : kQuantizeFields) {
    const Node* there = other.find(field);
    if (there == nullptr || config.find(field) != nullptr) continue;
    merged.keys.emplace_back(field);
    merged.items.push_back(*there);
  }
  return merged;
}

// Fields that both documents have must say the same.
void check_same(const ConfigReader& config, const Node& other, const char* file,
                std::span<const std::string_view> fields) {
  for (const std::string_view field : fields) {
    const Node* here = config.node(field);
    const Node* there = other.find(field);
    if (here == nullptr || there == nullptr || there->kind == Node::Kind::kNull) continue;
    if (lower(excerpt(*here)) == lower(excerpt(*there))) continue;
    refuse_quantization(config, field,
                        std::string(file) + " says " + excerpt(*there) + ", the config another",
                        excerpt(*here), "the same in both");
  }
}

// Model Optimizer's own object inside of another.
Place innermost(Place place, Findings& findings) {
  const ConfigReader reader(*place.node, place.pointer, findings);
  const Node* nested = place.node->find("quantization");
  if (nested == nullptr || nested->kind != Node::Kind::kObject) return place;
  return {nested, reader.pointer("quantization")};
}

}  // namespace

Quantization read_quantization(const QuantizationSources& sources, Findings& findings) {
  if (const auto unread = format_of_config(*sources.config)) {
    refuse_quantization(ConfigReader(*sources.config, "", findings), unread->key,
                        unread->format->refusal(), "", "");
  }
  Place place = place_in_config(*sources.config, findings);
  const Place beside = sources.hf_quant_config == nullptr
                           ? Place()
                           : place_in_hf_quant_config(*sources.hf_quant_config, findings);
  if (!findings.empty()) return {};
  if (place.node != nullptr) {
    place = innermost(std::move(place), findings);
  } else if (beside.node != nullptr) {
    place = beside;
  } else if (sources.quantize_config != nullptr) {
    place = {sources.quantize_config, "quantize_config.json"};
  } else {
    return {};
  }
  // What AutoGPTQ and AutoAWQ write beside the config may say more than the config.
  Node merged;
  const Node* const quantize_config = sources.quantize_config;
  if (quantize_config != nullptr && quantize_config != place.node) {
    check_same(ConfigReader(*place.node, place.pointer, findings), *quantize_config,
               "quantize_config.json", kQuantizeFields);
    merged = with_fields_of(*quantize_config, *place.node);
    place.node = &merged;
  }
  const ConfigReader reader(*place.node, place.pointer, findings);
  if (beside.node != nullptr && beside.node != place.node) {
    check_same(reader, *beside.node, "hf_quant_config.json", kAlgorithmField);
  }
  std::string method;
  if (place.node == sources.quantize_config && !reader.has("quant_method")) {
    method = reader.has("w_bit") ? "awq" : "gptq";
  } else if (place.node == beside.node) {
    method = "modelopt";
  } else {
    method = method_of(reader);
  }
  if (beside.node != nullptr && method != "modelopt" && !reader.has("quant_algo")) {
    refuse_quantization(reader, "quant_method",
                        "hf_quant_config.json is of Model Optimizer, the config of another method",
                        quoted_excerpt(method), "the same in both");
  }
  return read_method(reader, method, sources);
}

}  // namespace heddle
