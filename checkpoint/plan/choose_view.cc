#include "checkpoint/plan/choose_view.h"

#include <fmt/format.h>

#include <utility>

#include "checkpoint/modules/layer_error.h"
#include "checkpoint/modules/module_roles.h"
#include "checkpoint/plan/tensor_parallel.h"

namespace heddle {
namespace {

// All queries, then all keys, then all values. The checkpoint has them group by group, [groups,
// queries + 2, head_dim].
std::vector<RowRun> ordered_rows(const QuantizedRows& layer, const FusedQkv& fused) {
  const std::int64_t heads = fused.groups * (fused.queries + 2);
  if (heads < 1 || layer.n() % heads != 0) {
    refuse_layer(
        layer.name(),
        fmt::format("{} rows are not those of {} groups of {} heads of queries, one of keys "
                    "and one of values, which the config says",
                    layer.n(), fused.groups, fused.queries));
  }
  const std::int64_t dim = layer.n() / heads;
  std::vector<RowRun> runs;
  for (const auto& [begin, end] : {std::pair{std::int64_t{0}, fused.queries},
                                   {fused.queries, fused.queries + 1},
                                   {fused.queries + 1, fused.queries + 2}}) {
    for (std::int64_t g = 0; g < fused.groups; ++g) {
      runs.push_back({(g * (fused.queries + 2) + begin) * dim, (end - begin) * dim});
    }
  }
  return runs;
}

// All gates, then all ups, of rows that take turns.
std::vector<RowRun> paired_rows(const QuantizedRows& layer) {
  if (layer.n() % 2 != 0) {
    refuse_layer(layer.name(), fmt::format("{} rows are no pairs of a gate and an up", layer.n()));
  }
  std::vector<RowRun> runs;
  for (const std::int64_t half : {0, 1}) {
    for (std::int64_t row = half; row < layer.n(); row += 2) runs.push_back({row, 1});
  }
  return runs;
}

}  // namespace

LayerView view_of(const QuantizedRows& layer, const CheckpointConfig& config,
                  const TensorParallel& parallel) {
  LayerView view;
  if (config.fused_qkv && leaf_of_layer(layer.name()) == config.fused_qkv->module) {
    view.rows.push_back(ordered_rows(layer, *config.fused_qkv));
  }
  const LinearRow* const row = row_of_module(config, layer.name());
  if (row != nullptr && row->order == RowOrder::kByPairs) view.rows.push_back(paired_rows(layer));
  if (parallel.size > 1) split(layer, config, parallel, &view);
  return view;
}

}  // namespace heddle
