#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "checkpoint/forms/read_layer.h"
#include "checkpoint/modules/layer_names.h"
#include "checkpoint/output/convert.h"
#include "checkpoint/output/output_plan.h"
#include "checkpoint/plan/cache_note.h"
#include "checkpoint/plan/expected_layers.h"
#include "checkpoint/plan/expert_sets.h"
#include "checkpoint/plan/inventory.h"
#include "checkpoint/plan/plain_layers.h"
#include "generator/spec/document.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::int64_t kPanelElements = std::int64_t{1} << 19;
constexpr std::int64_t kPanelRows = 32;  // a multiple: AWQ's words are unpacked by 32 rows

void write_rows(const QuantizedRows& layer, DType dtype, ByteStream* out) {
  const std::int64_t k = layer.k();
  const std::int64_t rows = layer.matrices() * layer.n();
  const std::int64_t panel = std::max(kPanelRows, kPanelElements / k / kPanelRows * kPanelRows);
  std::vector<std::uint16_t> values(static_cast<std::size_t>(std::min(panel, rows) * k));
  for (std::int64_t first = 0; first < rows; first += panel) {
    const std::int64_t count = std::min(panel, rows - first);
    layer.rows(first, count, dtype, values.data());
    out->write(values.data(), static_cast<std::size_t>(count * k) * 2);
  }
}

// GPT-2's Conv1D has inputs as rows. Such layers are small: the whole of one fits into memory.
void write_transposed(const QuantizedRows& layer, DType dtype, ByteStream* out) {
  const auto n = static_cast<std::size_t>(layer.n());
  const auto k = static_cast<std::size_t>(layer.k());
  std::vector<std::uint16_t> row(k);
  std::vector<std::uint16_t> values(n * k);
  for (std::size_t i = 0; i < n; ++i) {
    layer.rows(static_cast<std::int64_t>(i), 1, dtype, row.data());
    for (std::size_t j = 0; j < k; ++j) values[j * n + i] = row[j];
  }
  out->write(values.data(), values.size() * sizeof values[0]);
}

// All layers, or the one of that name with only its tensors.
Inventory chosen_layers(const Checkpoint& checkpoint, const CheckpointConfig& config,
                        const ConvertOptions& options) {
  Inventory inventory = take_inventory(checkpoint, config, options.pack.choice);
  if (options.layer.empty()) return inventory;
  inventory.unknown.clear();
  for (LayerName& layer : inventory.layers) {
    if (layer.name != options.layer) continue;
    LayerName only = std::move(layer);
    inventory.layers = {std::move(only)};
    return inventory;
  }
  throw Error(
      ErrorCategory::kUsage, "checkpoint.no_layer",
      fmt::format("the checkpoint has no quantised layer \"{}\"{}", excerpt(options.layer),
                  inventory.layers.empty() ? std::string()
                                           : fmt::format("; its first is \"{}\"",
                                                         excerpt(inventory.layers.front().name))));
}

// Layers of experts that are not whole, or not those of the config. Each tensor is read by itself,
// so that what is there is right.
std::vector<std::string> notes_of_experts(const Checkpoint& checkpoint,
                                          const CheckpointConfig& config) {
  if (!config.decoder) return {};
  std::vector<std::string> notes;
  const std::vector<MissingLayer> missing = ExpectedLayers(config).missing(checkpoint, false);
  if (!missing.empty()) notes.push_back(note_of_missing(missing));
  const PlainLayers plain(checkpoint, config, true, 0);
  std::vector<LayerName> layers = take_inventory(checkpoint, config, {}, &plain).layers;
  for (const ExpertSet& set : take_expert_sets(checkpoint, config, &layers)) {
    if (set.fault.empty()) continue;
    notes.push_back(
        fmt::format("layer \"{}\": {}; what is there is written", excerpt(set.name), set.fault));
  }
  return notes;
}

// Biases follow the names of their weights, of which MXFP4 stacks get another one.
void rename_biases(const std::vector<LayerName>& layers, std::vector<MadeTensor>* copies) {
  std::map<std::string, std::string> names;
  for (const LayerName& layer : layers) {
    LayerName plain = layer;
    plain.kind = LayerName::Kind::kPlain;
    const bool is_module = layer.plain_tensor() == plain.plain_tensor();
    if (is_module && bias_of(layer) != bias_of(plain)) names[bias_of(layer)] = bias_of(plain);
  }
  for (MadeTensor& copy : *copies) {
    const auto found = names.find(copy.info.name);
    if (found != names.end()) copy.info.name = found->second;
  }
}

}  // namespace

ConvertReport dequantize_checkpoint(const Checkpoint& checkpoint, const CheckpointConfig& config,
                                    const std::string& output, const ConvertOptions& options) {
  OutputPlan plan;
  ConvertReport report;
  report.notes = notes_of_config(checkpoint, config);
  if (options.layer.empty()) {
    for (std::string& note : notes_of_experts(checkpoint, config)) {
      report.notes.push_back(std::move(note));
    }
  }
  Unconverted unconverted;
  std::size_t scaled = 0;
  const Inventory inventory = chosen_layers(checkpoint, config, options);
  std::vector<std::string> consumed(inventory.skipped.begin(), inventory.skipped.end());
  for (const LayerName& layer : inventory.layers) {
    try {
      const auto shape_only = read_layer(checkpoint, layer, config, Load::kShape);
      const DType dtype = config.dtype.value_or(shape_only->native_dtype());
      const bool transposed = config.transposed_linears && shape_only->shape().size() == 2;
      MadeTensor tensor;
      tensor.info.name = layer.plain_tensor();
      tensor.info.type = dtype == DType::kBf16 ? TensorType::kBf16 : TensorType::kF16;
      tensor.info.shape = shape_only->plain_shape();
      if (transposed) std::swap(tensor.info.shape[0], tensor.info.shape[1]);
      tensor.make = [&checkpoint, &config, layer, dtype, transposed](ByteStream* out) {
        const auto rows = read_layer(checkpoint, layer, config, Load::kAll);
        (transposed ? write_transposed : write_rows)(*rows, dtype, out);
      };
      plan.add(std::move(tensor));
    } catch (const Error& error) {
      unconverted.add(error);
      continue;
    }
    scaled += checkpoint.find(layer.name + ".pre_quant_scale") != nullptr ? 1 : 0;
    for (const std::string& name : tensors_of(layer, checkpoint)) {
      consumed.push_back(name);
      report.input_bytes += checkpoint.find(name)->bytes;
    }
    ++report.layers;
  }
  for (const UnknownTensors& tensors : inventory.unknown) unconverted.add(tensors);
  unconverted.throw_if_any();
  report.skipped = inventory.skipped.size();
  if (scaled > 0) {
    report.notes.push_back(
        fmt::format("{} layers have a pre_quant_scale, which is copied: columns of X are "
                    "multiplied by it first",
                    scaled));
  }
  if (options.layer.empty()) {
    std::vector<MadeTensor> copies = copies_of_others(checkpoint, consumed);
    rename_biases(inventory.layers, &copies);
    report.copied = copies.size();
    add_copies(std::move(copies), &plan);
    report.input_bytes = checkpoint.bytes();
  }
  check_conversion(checkpoint, report.layers + inventory.kept, output);
  plan.set_metadata({{"format", "pt"}});
  report.output_bytes = plan.write(output, options.jobs, options.progress);
  return report;
}

}  // namespace heddle
