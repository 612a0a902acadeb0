#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "checkpoint/convert.h"
#include "checkpoint/layer_plan.h"
#include "checkpoint/output_plan.h"
#include "heddle/spec.h"
#include "heddle/version.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

// Rows that are unpacked and packed at a time: few, so that their codes stay in the cache.
constexpr std::int64_t kPanelRows = 32;
static_assert(kPanelRows % WeightLayout::kRowBlock == 0);

// Matrix after matrix, a panel of rows at a time.
void write_packed(const FusedLayer& layer, const SafetensorsWriter& writer, std::size_t tensor) {
  const GemmSpec& spec = layer.spec();
  const WeightLayout layout = weight_layout(spec);
  const auto row_block_bytes = static_cast<std::uint64_t>(layout.chunks_per_row_block) *
                               static_cast<std::uint64_t>(layout.chunk_bytes);
  const auto channel_bytes = static_cast<std::uint64_t>(layout.channel_bytes);
  GemmSpec panel = spec;
  QuantizedWeights weights;
  for (std::int64_t matrix = 0; matrix < layer.matrices(); ++matrix) {
    const std::uint64_t start = static_cast<std::uint64_t>(matrix) * layout.total_bytes;
    for (std::int64_t first = 0; first < spec.shape.n; first += kPanelRows) {
      panel.shape.n = std::min(kPanelRows, spec.shape.n - first);
      layer.rows(matrix, first, panel.shape.n, &weights);
      const std::vector<std::uint8_t> packed = pack_weights(panel, weights);
      // Row blocks are independent of each other; per-channel metadata follows the last one, and
      // the tensor's scale all else.
      const auto block = static_cast<std::uint64_t>(first / WeightLayout::kRowBlock);
      const WeightLayout part = weight_layout(panel);
      writer.write(tensor, start + block * row_block_bytes, packed.data(), part.channel_offset);
      writer.write(tensor, start + layout.channel_offset + block * channel_bytes,
                   packed.data() + part.channel_offset, part.tensor_offset - part.channel_offset);
      if (first == 0) {
        writer.write(tensor, start + layout.tensor_offset, packed.data() + part.tensor_offset,
                     part.total_bytes - part.tensor_offset);
      }
    }
  }
  const std::vector<std::int32_t>& permutation = layer.permutation();
  if (!permutation.empty()) {
    writer.write(tensor + 1, 0, permutation.data(), permutation.size() * sizeof permutation[0]);
  }
}

std::vector<TensorInfo> outputs_of(const FusedLayer& layer) {
  TensorInfo packed;
  packed.name = layer.name() + ".heddle";
  packed.shape = {static_cast<std::int64_t>(weight_layout(layer.spec()).total_bytes)};
  if (layer.matrices() != 1) packed.shape.insert(packed.shape.begin(), layer.matrices());
  if (layer.permutation().empty()) return {packed};
  TensorInfo permutation;
  permutation.name = layer.name() + ".heddle_perm";
  permutation.type = TensorType::kI32;
  permutation.shape = {layer.spec().shape.k};
  return {packed, permutation};
}

}  // namespace

ConvertReport repack_checkpoint(const Checkpoint& checkpoint, const CheckpointConfig& config,
                                const std::string& output, const ConvertOptions& options) {
  const TensorParallel& parallel = options.pack.parallel;
  LayerPlan layers = plan_layers(checkpoint, config, options.pack);
  OutputPlan plan;
  ConvertReport report;
  report.input_bytes = checkpoint.bytes();
  std::vector<std::string> consumed(layers.inventory.skipped.begin(),
                                    layers.inventory.skipped.end());
  std::map<std::string, std::string> metadata = {
      {"format", "pt"},
      {"heddle.version", HEDDLE_VERSION},
  };
  if (parallel.size > 1) {
    metadata["heddle.tp"] = fmt::format("{}/{}", parallel.rank, parallel.size);
  }
  int version = 1;  // that the bytes of all layers have had since
  for (const PackedLayer& packed : layers.packed) {
    const LayerGroup& group = packed.group;
    metadata[group.name + ".heddle"] = packed.spec.canonical_json();
    version = std::max(version, layout_version(packed.spec.weight()));
    plan.add(group.name, outputs_of(packed.layer),
             [&checkpoint, &config, &parallel, group](const SafetensorsWriter& writer,
                                                      std::size_t first) {
               write_packed(read_group(checkpoint, group, config, parallel, Load::kAll), writer,
                            first);
             });
    for (const LayerName& part : group.parts) {
      for (std::string& name : tensors_of(part, checkpoint)) consumed.push_back(std::move(name));
    }
    for (std::string& name : packed.companions.replaced()) consumed.push_back(std::move(name));
  }
  report.layers = layers.packed.size();
  report.skipped = layers.inventory.skipped.size();
  report.unserved = std::move(layers.unserved);
  report.notes = std::move(layers.notes);
  check_conversion(checkpoint, report.layers + report.unserved.size() + layers.inventory.kept,
                   output);
  for (const PackedLayer& packed : layers.packed) packed.companions.add_to(&plan);
  report.copied = copy_others(checkpoint, consumed, &plan);
  metadata["heddle.layout"] = std::to_string(version);
  plan.set_metadata(std::move(metadata));
  report.output_bytes = plan.write(output, options.jobs, options.progress);
  return report;
}

}  // namespace heddle
