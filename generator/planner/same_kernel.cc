#include "generator/planner/same_kernel.h"

#include <tuple>

namespace heddle {
namespace {

// The binding names every field, so that a new one does not compile until it is decided on here.
auto deciding_fields(const GemmVariant& v) {
  const auto& [name, m_min, m_max, path, kernel, tile_m, tile_n, stage_k, stages, stages_ahead,
               split_k, warps_m, warps_n, warps_k, reads_ahead, workers, stage_chunks, cluster,
               shares_tiles, shares_in_pairs, step_tiles, decoded_sets, scale_mode, fold_power,
               fold_scale, shared_bytes, blocks_per_sm] = v;
  return std::make_tuple(path, kernel, tile_m, tile_n, stage_k, stages, stages_ahead, split_k,
                         warps_m, warps_n, warps_k, reads_ahead, workers, stage_chunks, cluster,
                         shares_tiles, shares_in_pairs, step_tiles, decoded_sets, scale_mode,
                         fold_power, fold_scale, shared_bytes, blocks_per_sm);
}

}  // namespace

bool is_same_kernel(const GemmVariant& a, const GemmVariant& b) {
  return deciding_fields(a) == deciding_fields(b);
}

}  // namespace heddle
