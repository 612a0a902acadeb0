#include "generator/model/layer_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "generator/model/model_json.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

ordered_json layer_json(const ModelLayer& layer, const Model& model) {
  auto parts = ordered_json::array();
  for (const ModelPart& part : layer.parts) {
    parts.push_back({{"module", part.path}, {"n", part.n}});
  }
  ordered_json json = {{"name", layer.name},
                       {"kind", to_string(layer.kind)},
                       {"parts", std::move(parts)},
                       {"n", layer.n},
                       {"k", layer.k},
                       {"matrices", layer.matrices},
                       {"bias", layer.bias},
                       {"layers", layer.layers},
                       {"count", layer.count()},
                       {"weights", layer.weights}};
  json["x"] = x_text(layer, model);
  if (layer.kernel < 0) {
    json["kernel"] = nullptr;
    json["reason"] = layer.reason;
  } else {
    json["kernel"] = model.kernels[static_cast<std::size_t>(layer.kernel)].spec.name();
  }
  return json;
}

ordered_json kernels_json(const std::vector<ModelKernel>& kernels) {
  auto list = ordered_json::array();
  for (const ModelKernel& kernel : kernels) {
    ordered_json entry = {{"name", kernel.spec.name()},
                          {"spec", ordered_json::parse(spec_line(kernel.spec))},
                          {"covers", kernel.covers},
                          {"layers", kernel.layers}};
    if (kernel.routed) entry["routed"] = ordered_json::parse(spec_line(*kernel.routed));
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

std::string operand_text(std::string_view dtype, RowGranularity granularity) {
  if (granularity == RowGranularity::kNone) return std::string(dtype);
  return fmt::format("{} {}", dtype, to_string(granularity));
}

std::string x_text(const ModelLayer& layer, const Model& model) {
  if (layer.kernel < 0) return "-";
  const Spec& spec = model.kernels[static_cast<std::size_t>(layer.kernel)].spec;
  if (const auto* moe = spec.get_if<MoeSpec>()) return std::string(to_string(moe->activation));
  const auto* gemm = spec.get_if<GemmSpec>();
  if (gemm == nullptr) return "-";
  return operand_text(to_string(gemm->activation), gemm->activation_scale.granularity);
}

ServedCount served_count(const Model& model) {
  ServedCount count;
  for (const ModelLayer& layer : model.layers) {
    count.total += layer.count();
    if (layer.kernel >= 0) count.served += layer.count();
  }
  return count;
}

void add_model_json(const Model& model, ordered_json* json) {
  auto layers = ordered_json::array();
  for (const ModelLayer& layer : model.layers) layers.push_back(layer_json(layer, model));
  const ServedCount count = served_count(model);
  (*json)["layers"] = std::move(layers);
  (*json)["served"] = count.served;
  (*json)["total"] = count.total;
  (*json)["model"] = facts_json(model);
}

std::string model_to_json(const Model& model) {
  auto unserved = ordered_json::array();
  for (const ModelUnserved& one : model.unserved) {
    unserved.push_back({{"name", one.name}, {"reason", one.reason}, {"layers", one.layers}});
  }
  ordered_json json = {
      {"model_type", model.model_type},         {"quant_method", model.quant_method},
      {"kernels", kernels_json(model.kernels)}, {"rows", kernels_json(model.rows)},
      {"unserved", std::move(unserved)},        {"notes", model.notes},
      {"assumptions", model.assumptions}};
  add_model_json(model, &json);
  return json.dump();
}

std::string unserved_name(const ModelUnserved& unserved) {
  if (unserved.layers < 2) return unserved.name;
  return fmt::format("{} ({} layers)", unserved.name, unserved.layers);
}

std::vector<std::string> unserved_lines(const Model& model) {
  std::vector<std::string> lines;
  for (const ModelUnserved& one : model.unserved) {
    lines.push_back(fmt::format("no kernel for {}: {}", unserved_name(one), one.reason));
  }
  return lines;
}

std::vector<std::string> remark_lines(const Model& model) {
  std::vector<std::string> lines;
  for (const std::string& note : model.notes) lines.push_back("note: " + note);
  for (const std::string& what : model.assumptions) lines.push_back("assumed: " + what);
  for (std::string& line : unserved_lines(model)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace heddle
