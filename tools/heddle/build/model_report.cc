#include "tools/heddle/build/model_report.h"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <utility>

#include "generator/model/layer_json.h"
#include "tools/heddle/shared/table.h"

namespace heddle {
namespace {

std::string_view parent_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return path.substr(0, dot == path.npos ? 0 : dot + 1);
}

// "self_attn.q_proj + k_proj + v_proj".
std::string modules_text(const ModelLayer& layer) {
  std::string text;
  for (const ModelPart& part : layer.parts) {
    const std::string_view parent = parent_of(part.path);
    const bool same = !text.empty() && parent == parent_of(layer.parts.front().path);
    text += (text.empty() ? "" : " + ") + (same ? part.path.substr(parent.size()) : part.path);
  }
  return text.empty() ? layer.name : text;
}

std::string shape_text(const ModelLayer& layer) {
  if (layer.n == 0 || layer.k == 0) return "-";
  const std::string side = fmt::format("{} x {}", layer.n, layer.k);
  return layer.matrices > 1 ? fmt::format("{} of {}", layer.matrices, side) : side;
}

std::string place_text(const ModelLayer& layer) {
  if (!layer.layers.empty()) {
    return layer.layers.size() == 1
               ? fmt::format("{}", layer.layers.front())
               : fmt::format("{} ({})", ranges_text(layer.layers), layer.layers.size());
  }
  return layer.copies > 1 ? fmt::format("({})", layer.copies) : "-";
}

// The operations between the layers' kernels, where one of them makes codes.
std::string rows_text(const Model& model) {
  Table table({{"ROWS"}, {"COLUMNS"}, {"X"}, {"Y"}});
  bool quantizes = false;
  for (const ModelKernel& kernel : model.kernels) {
    const auto* rows = kernel.spec.get_if<RowTransformSpec>();
    if (rows == nullptr) continue;
    quantizes = quantizes || rows->output.is_quantized();
    table.add_row({kernel.spec.name(), fmt::format("{}", rows->shape.columns),
                   std::string(to_string(rows->input)) + (rows->residual ? ", residual" : ""),
                   operand_text(to_string(rows->output.dtype), rows->output.granularity)});
  }
  return quantizes ? table.text() + "\n" : "";
}

}  // namespace

std::string ranges_text(const std::vector<int>& indices) {
  constexpr int kMostRuns = 3;
  std::string text;
  int runs = 0;
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t end = i + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
    if (++runs > kMostRuns) return text + " ...";
    const std::string run = end - i == 1 ? fmt::format("{}", indices[i])
                                         : fmt::format("{}-{}", indices[i], indices[end - 1]);
    text += (text.empty() ? "" : ", ") + run;
    i = end;
  }
  return text;
}

std::string layers_text(const Model& model) {
  if (model.layers.empty()) return {};
  Table table({{"LAYER"}, {"SHAPE"}, {"IN"}, {"WEIGHTS"}, {"X"}, {"SERVED BY"}});
  // A reason that many layers have is told once, below the table.
  std::vector<std::string> reasons;
  for (const ModelLayer& layer : model.layers) {
    std::string served;
    if (layer.kernel >= 0) {
      served = model.kernels[static_cast<std::size_t>(layer.kernel)].spec.name();
    } else {
      std::size_t at = 0;
      while (at < reasons.size() && reasons[at] != layer.reason) ++at;
      if (at == reasons.size()) reasons.push_back(layer.reason);
      served = fmt::format("none ({})", at + 1);
    }
    table.add_row({modules_text(layer), shape_text(layer), place_text(layer),
                   layer.weights.empty() ? "-" : layer.weights, x_text(layer, model),
                   std::move(served)});
  }
  std::string text = table.text();
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    text += fmt::format("({}) {}\n", i + 1, reasons[i]);
  }
  return text + "\n" + rows_text(model);
}

std::string served_text(const Model& model) {
  if (model.layers.empty()) return {};
  const ServedCount count = served_count(model);
  return fmt::format("{} of {} layers served\n", count.served, count.total);
}

}  // namespace heddle
