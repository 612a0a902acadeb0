#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "checkpoint/convert.h"
#include "checkpoint/fused_layer.h"
#include "checkpoint/layer_names.h"
#include "checkpoint/output_plan.h"
#include "generator/spec/document.h"
#include "heddle/error.h"
#include "heddle/spec.h"
#include "heddle/version.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

// Rows that are unpacked and packed at a time: few, so that their codes stay in the cache.
constexpr std::int64_t kPanelRows = 32;
static_assert(kPanelRows % WeightLayout::kRowBlock == 0);

FusedLayer read_group(const Checkpoint& checkpoint, const LayerGroup& group,
                      const CheckpointConfig& config, Load load) {
  std::vector<IntegerLayer> parts;
  bool bias = true;
  for (const LayerName& part : group.parts) {
    if (part.kind != LayerName::Kind::kQweight && part.kind != LayerName::Kind::kPacked) {
      throw Error(ErrorCategory::kUnsupported, "checkpoint.repack",
                  fmt::format("layer \"{}\" has weights of FP8 or FP4, for which there is no "
                              "packed layout; dequantize can read it",
                              excerpt(part.name)));
    }
    parts.push_back(IntegerLayer::read(checkpoint, part, config, load));
    bias = bias && checkpoint.find(part.name + ".bias") != nullptr;
  }
  return {group.name, std::move(parts), config.dtype, bias};
}

// Rows of a layer as weights of their own.
GemmSpec with_rows(const GemmSpec& spec, std::int64_t rows) {
  GemmSpec panel = spec;
  panel.shape.n = rows;
  return panel;
}

// The layer's spec; throws where no kernel can take it. Packing the smallest weights of its kind
// shows whether there is a layout for them.
Spec checked_spec(const FusedLayer& layer) {
  try {
    Spec spec = Spec::from_gemm(layer.spec());
    GemmSpec small = with_rows(spec.gemm(), 1);
    const WeightSpec& weight = small.weight;
    if (weight.group_size != kPerChannel) small.shape.k = weight.group_size;
    const auto k = static_cast<std::size_t>(small.shape.k);
    const std::size_t zeros = weight.zero_point == ZeroPoint::kInt ? 1 : 0;
    const std::size_t scale = weight.scale_dtype == DType::kFp32 ? 4 : 2;
    static_cast<void>(
        pack_weights(small, {std::vector<std::uint8_t>(k), std::vector<std::uint8_t>(scale),
                             std::vector<std::uint8_t>(zeros)}));
    return spec;
  } catch (const Error& error) {
    throw Error(ErrorCategory::kUnsupported, "checkpoint.repack",
                fmt::format("layer \"{}\" ({} x {}, {}-bit weights) cannot be packed: {}",
                            excerpt(layer.name()), layer.spec().shape.n, layer.spec().shape.k,
                            layer.spec().weight.bits, error.what()));
  }
}

void write_packed(const FusedLayer& layer, const SafetensorsWriter& writer, std::size_t tensor) {
  const GemmSpec& spec = layer.spec();
  const WeightLayout layout = weight_layout(spec);
  const auto row_block_bytes = static_cast<std::uint64_t>(layout.chunks_per_row_block) *
                               static_cast<std::uint64_t>(layout.chunk_bytes);
  const auto channel_bytes = static_cast<std::uint64_t>(layout.channel_bytes);
  for (std::int64_t first = 0; first < spec.shape.n; first += kPanelRows) {
    const GemmSpec panel = with_rows(spec, std::min(kPanelRows, spec.shape.n - first));
    const std::vector<std::uint8_t> packed = pack_weights(panel, layer.rows(first, panel.shape.n));
    // Row blocks are independent of each other; per-channel metadata follows the last one.
    const auto block = static_cast<std::uint64_t>(first / WeightLayout::kRowBlock);
    const std::size_t chunks = weight_layout(panel).channel_offset;
    writer.write(tensor, block * row_block_bytes, packed.data(), chunks);
    writer.write(tensor, layout.channel_offset + block * channel_bytes, packed.data() + chunks,
                 packed.size() - chunks);
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
  OutputPlan plan;
  ConvertReport report;
  report.input_bytes = checkpoint.bytes();
  std::vector<std::string> consumed;
  std::map<std::string, std::string> metadata = {
      {"format", "pt"},
      {"heddle.version", HEDDLE_VERSION},
      {"heddle.layout", std::to_string(kLayoutVersion)},
  };
  for (const LayerGroup& group : group_layers(quantised_layers(checkpoint), options.fuse)) {
    const FusedLayer shape_only = read_group(checkpoint, group, config, Load::kShape);
    metadata[group.name + ".heddle"] = checked_spec(shape_only).canonical_json();
    plan.add(group.name, outputs_of(shape_only),
             [&checkpoint, &config, group](const SafetensorsWriter& writer, std::size_t first) {
               write_packed(read_group(checkpoint, group, config, Load::kAll), writer, first);
             });
    for (const LayerName& part : group.parts) {
      for (const std::string& name : tensors_of(part, checkpoint)) consumed.push_back(name);
    }
    ++report.layers;
  }
  report.copied = copy_others(checkpoint, consumed, &plan);
  plan.set_metadata(std::move(metadata));
  report.output_bytes = plan.write(output, options);
  return report;
}

}  // namespace heddle
