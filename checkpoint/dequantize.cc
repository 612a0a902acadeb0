#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "checkpoint/convert.h"
#include "checkpoint/layer_names.h"
#include "checkpoint/output_plan.h"
#include "checkpoint/read_layer.h"
#include "generator/spec/document.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::int64_t kPanelElements = std::int64_t{1} << 19;
constexpr std::int64_t kPanelRows = 32;  // a multiple: AWQ's words are unpacked by 32 rows

void write_rows(const QuantizedRows& layer, DType dtype, const SafetensorsWriter& writer,
                std::size_t tensor) {
  const std::int64_t k = layer.k();
  const std::int64_t rows = layer.matrices() * layer.n();
  const std::int64_t panel = std::max(kPanelRows, kPanelElements / k / kPanelRows * kPanelRows);
  std::vector<std::uint16_t> values(static_cast<std::size_t>(std::min(panel, rows) * k));
  for (std::int64_t first = 0; first < rows; first += panel) {
    const std::int64_t count = std::min(panel, rows - first);
    layer.rows(first, count, dtype, values.data());
    writer.write(tensor, static_cast<std::uint64_t>(first * k) * 2, values.data(),
                 static_cast<std::size_t>(count * k) * 2);
  }
}

std::vector<LayerName> chosen_layers(const Checkpoint& checkpoint, const std::string& name) {
  std::vector<LayerName> layers = quantised_layers(checkpoint);
  if (name.empty()) return layers;
  for (LayerName& layer : layers) {
    if (layer.name == name) return {std::move(layer)};
  }
  throw Error(ErrorCategory::kUsage, "checkpoint.no_layer",
              fmt::format("the checkpoint has no quantised layer \"{}\"{}", excerpt(name),
                          layers.empty() ? std::string()
                                         : fmt::format("; its first is \"{}\"",
                                                       excerpt(layers.front().name))));
}

}  // namespace

ConvertReport dequantize_checkpoint(const Checkpoint& checkpoint, const CheckpointConfig& config,
                                    const std::string& output, const ConvertOptions& options) {
  OutputPlan plan;
  ConvertReport report;
  std::vector<std::string> consumed;
  for (const LayerName& layer : chosen_layers(checkpoint, options.layer)) {
    const auto shape_only = read_layer(checkpoint, layer, config, Load::kShape);
    const DType dtype = config.dtype.value_or(shape_only->native_dtype());
    TensorInfo tensor;
    tensor.name = layer.name + ".weight";
    tensor.type = dtype == DType::kBf16 ? TensorType::kBf16 : TensorType::kF16;
    tensor.shape = shape_only->shape();
    plan.add(
        layer.name, {tensor},
        [&checkpoint, &config, layer, dtype](const SafetensorsWriter& writer, std::size_t first) {
          write_rows(*read_layer(checkpoint, layer, config, Load::kAll), dtype, writer, first);
        });
    for (const std::string& name : tensors_of(layer, checkpoint)) {
      consumed.push_back(name);
      report.input_bytes += checkpoint.find(name)->bytes;
    }
    ++report.layers;
  }
  if (options.layer.empty()) {
    report.copied = copy_others(checkpoint, consumed, &plan);
    report.input_bytes = checkpoint.bytes();
  }
  check_conversion(checkpoint, report, output);
  plan.set_metadata({{"format", "pt"}});
  report.output_bytes = plan.write(output, options);
  return report;
}

}  // namespace heddle
