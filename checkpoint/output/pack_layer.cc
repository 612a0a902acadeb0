#include "checkpoint/output/pack_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "checkpoint/output/packed_contents.h"
#include "checkpoint/plan/read_group.h"
#include "generator/spec/document.h"
#include "heddle/error.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

// Rows that are unpacked and packed at a time: few, so that their codes stay in the cache, but of
// gates and ups whole blocks of scales.
std::int64_t panel_rows(const GemmSpec& spec) {
  constexpr std::int64_t kPanelRows = 32;
  static_assert(kPanelRows % WeightLayout::kRowBlock == 0);
  static_assert(kBlockRows % WeightLayout::kTileRows == 0);
  if (!spec.weight.has_blocks()) return kPanelRows;
  return spec.epilogue.gated ? 2 * kBlockRows : kBlockRows;
}

// The rows of W that lie in the panel of packed rows `first` and on, gates before ups.
std::vector<RowRun> rows_of_panel(const GemmSpec& spec, std::int64_t first, std::int64_t count) {
  if (!spec.epilogue.gated) return {{first, count}};
  return {{first / 2, count / 2}, {spec.shape.n / 2 + first / 2, count / 2}};
}

// Row blocks are independent of each other: a panel is packed like weights of its own, of which a
// gated one's first half are gates. The metadata per channel of all row blocks follows the last
// one, so it is kept until then, and the tensor's scale follows all else. So is the metadata of
// blocks, of which a panel has whole tiles.
void write_matrix(const FusedLayer& layer, const GemmSpec& spec, std::int64_t matrix,
                  ByteStream* out) {
  GemmSpec panel = spec;
  QuantizedWeights weights;
  std::vector<std::uint8_t> channels;
  std::vector<std::uint8_t> tensor_scale;
  const std::int64_t most_rows = panel_rows(spec);
  for (std::int64_t first = 0; first < spec.shape.n; first += most_rows) {
    panel.shape.n = std::min(most_rows, spec.shape.n - first);
    const std::vector<RowRun> runs = rows_of_panel(spec, first, panel.shape.n);
    layer.rows(matrix, runs, &weights);
    if (spec.weight.has_blocks()) weights.scales = layer.block_scales(matrix, runs);
    const std::vector<std::uint8_t> packed = pack_weights(panel, weights);
    const WeightLayout part = weight_layout(panel);
    const auto at = [&packed](std::size_t offset) {
      return packed.begin() + static_cast<std::ptrdiff_t>(offset);
    };
    out->write(packed.data(), part.channel_offset);
    channels.insert(channels.end(), at(part.channel_offset), at(part.tensor_offset));
    if (first == 0) tensor_scale.assign(at(part.tensor_offset), at(part.total_bytes));
  }
  out->write(channels.data(), channels.size());
  out->write(tensor_scale.data(), tensor_scale.size());
}

[[noreturn]] void refuse_change(const std::string& layer) {
  throw Error(ErrorCategory::kFile, "checkpoint.changed",
              fmt::format("layer \"{}\": its tensors are not those that were there when the "
                          "checkpoint was opened",
                          excerpt(layer)));
}

// What was read of the layer when it was planned, the spec depends on.
void expect_planned(const FusedLayer& layer, const Spec& spec, std::int64_t matrices,
                    const std::vector<std::int32_t>& permutation) {
  GemmSpec gemm = layer.spec();
  gemm.epilogue = spec.gemm().epilogue;
  gemm.pre_scale = spec.gemm().pre_scale;
  if (spec.gemm().has_byte_activations()) {
    gemm.output = gemm.activation;
    gemm.activation = spec.gemm().activation;
    gemm.activation_scale = spec.gemm().activation_scale;
    if (spec.weight().has_blocks()) set_blocks(layer.blocks(), &gemm.weight);
  }
  if (layer.matrices() == matrices && layer.permutation() == permutation &&
      Spec::from_gemm(gemm).canonical_json() == spec.canonical_json()) {
    return;
  }
  refuse_change(layer.name());
}

// One expert after the other, of which one at a time is in memory.
void write_experts(const Checkpoint& checkpoint, const CheckpointConfig& config,
                   const TensorParallel& parallel, const std::vector<LayerGroup>& experts,
                   const ExpertOrder& order, TensorScales tensor_scales, const GemmSpec& spec,
                   ByteStream* out) {
  const std::string planned = Spec::from_gemm(spec).canonical_json();
  for (std::size_t i = 0; i < experts.size(); ++i) {
    std::vector<std::int32_t> rows;
    if (!order.rows_as.empty()) {
      rows = read_group(checkpoint, order.rows_as[i], config, parallel, Load::kShape).permutation();
    }
    const FusedLayer layer =
        read_group(checkpoint, experts[i], config, parallel, Load::kAll, tensor_scales, rows);
    if (layer.spec().act_order && !order.sorts_columns) refuse_change(layer.name());
    GemmSpec gemm = spec;
    gemm.shape.n = layer.spec().shape.n;
    gemm.shape.k = layer.spec().shape.k;
    gemm.weight = layer.spec().weight;
    if (Spec::from_gemm(gemm).canonical_json() != planned) refuse_change(layer.name());
    write_matrix(layer, spec, 0, out);
  }
}

// The order of columns of one expert after the other.
void write_orders(const Checkpoint& checkpoint, const CheckpointConfig& config,
                  const TensorParallel& parallel, const std::vector<LayerGroup>& experts,
                  TensorScales tensor_scales, std::int64_t columns, ByteStream* out) {
  for (const LayerGroup& expert : experts) {
    const FusedLayer layer =
        read_group(checkpoint, expert, config, parallel, Load::kShape, tensor_scales);
    if (layer.spec().shape.k != columns) refuse_change(layer.name());
    std::vector<std::int32_t> order = layer.permutation();
    if (order.empty()) {
      order.resize(static_cast<std::size_t>(columns));
      std::iota(order.begin(), order.end(), 0);
    }
    out->write(order.data(), order.size() * sizeof order[0]);
  }
}

}  // namespace

MadeTensor packed_weights(const Checkpoint& checkpoint, const CheckpointConfig& config,
                          const TensorParallel& parallel, const PackedLayer& planned) {
  MadeTensor made;
  made.info.name = planned.group.name + kPackedSuffix;
  const std::size_t bytes = weight_layout(planned.spec.gemm()).total_bytes;
  made.info.shape = {static_cast<std::int64_t>(bytes)};
  if (planned.matrices != 1) made.info.shape.insert(made.info.shape.begin(), planned.matrices);
  made.info.bytes = static_cast<std::uint64_t>(planned.matrices) * bytes;
  if (!planned.experts.empty()) {
    made.make = [&checkpoint, &config, parallel, experts = planned.experts, order = planned.order,
                 scales = planned.tensor_scales, spec = planned.spec](ByteStream* out) {
      write_experts(checkpoint, config, parallel, experts, order, scales, spec.gemm(), out);
    };
    return made;
  }
  made.make = [&checkpoint, &config, parallel, group = planned.group, spec = planned.spec,
               matrices = planned.matrices, permutation = planned.permutation](ByteStream* out) {
    const FusedLayer layer = read_group(checkpoint, group, config, parallel, Load::kAll);
    expect_planned(layer, spec, matrices, permutation);
    for (std::int64_t matrix = 0; matrix < matrices; ++matrix) {
      write_matrix(layer, spec.gemm(), matrix, out);
    }
  };
  return made;
}

std::optional<MadeTensor> packed_permutation(const Checkpoint& checkpoint,
                                             const CheckpointConfig& config,
                                             const TensorParallel& parallel,
                                             const PackedLayer& planned) {
  if (!planned.spec.gemm().act_order) return std::nullopt;
  const std::int64_t k = planned.spec.weight_shape().k;
  MadeTensor made;
  made.info.name = planned.group.name + kPermutationSuffix;
  made.info.type = TensorType::kI32;
  made.info.shape = {k};
  made.info.bytes = static_cast<std::uint64_t>(k) * sizeof(std::int32_t);
  if (!planned.experts.empty()) {
    if (planned.matrices != 1) made.info.shape.insert(made.info.shape.begin(), planned.matrices);
    made.info.bytes *= static_cast<std::uint64_t>(planned.matrices);
    made.make = [&checkpoint, &config, parallel, experts = planned.experts,
                 scales = planned.tensor_scales, k](ByteStream* out) {
      write_orders(checkpoint, config, parallel, experts, scales, k, out);
    };
    return made;
  }
  made.make = [permutation = planned.permutation](ByteStream* out) {
    out->write(permutation.data(), permutation.size() * sizeof permutation[0]);
  };
  return made;
}

}  // namespace heddle
