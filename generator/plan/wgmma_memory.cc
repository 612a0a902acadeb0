#include "generator/plan/wgmma_memory.h"

#include <algorithm>

#include "generator/plan/wgmma_stage.h"

namespace heddle {
namespace {

constexpr int kPassRow = 64 + 4;  // floats, as in templates/gemm/wgmma_shape.cuh
constexpr int kRoundedPassBytes = 32 * 2 * (64 + 8);

// Of blocks that exchange sums; whether those that share tiles are pairs is settled later.
int exchange_barriers(const GemmVariant& v) {
  if (v.shares_rows) return 2;
  if (v.shares_first) return 1;
  return v.shares_tiles ? wgmma_warpgroups(v) + 1 : 0;
}

}  // namespace

int wgmma_shared_bytes(const GemmVariant& v, const WeightLayout& layout) {
  const bool splits_columns = v.tile_n == 64;
  const int own_tokens = splits_columns ? v.tile_m / 2 : v.tile_m;
  const int half_sum_bytes = splits_columns ? 4 * 128 * own_tokens / 2 : 0;
  const int pass_bytes = wgmma_narrows(v) || wgmma_has_four(v)
                             ? kRoundedPassBytes
                             : std::max(4 * std::min(own_tokens, 32) * kPassRow, half_sum_bytes);
  const int given_bytes = v.shares_rows ? 4 * 128 * v.tile_m / 4 : 0;
  const int warpgroups = wgmma_warpgroups(v);
  const int others = warpgroups + (v.shares_first ? 1 : 0) - 1;  // that store
  return v.stages * wgmma_stage_bytes(v, layout) + others * pass_bytes +
         std::max(pass_bytes, given_bytes) + 2 * v.stages * 8 + 8 * warpgroups +
         8 * exchange_barriers(v);
}

}  // namespace heddle
