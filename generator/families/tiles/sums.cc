#include "generator/families/tiles/sums.h"

#include "generator/families/tile_fields.h"

namespace heddle {

int sum_registers(const device::TilesConfig& c) {
  return (c.scaling.mode == ScaleMode::kAccumulator ? 8 : 4) * c.row_tiles() * c.token_tiles();
}

bool has_room_for_partial_sums(const device::TilesConfig& c) {
  constexpr int kMostRegisters = 64;
  return 2 * 4 * c.row_tiles() * c.token_tiles() <= kMostRegisters;
}

bool has_room_for_bulk_sums(const device::TilesConfig& c) {
  constexpr int kManyTokens = 32, kManyThreads = 256;  // more threads have fewer registers
  return c.tile_m <= kManyTokens || c.row_tiles() == 1 || c.threads() <= kManyThreads;
}

bool fits_registers(const device::TilesConfig& c, const GemmSpec& spec, int registers) {
  constexpr int kUsualWarps = 8;
  constexpr int kTileColumns = 16;  // of a matrix instruction
  if (c.feeder == device::Feeder::kBulk) {
    const bool wide_scales =
        c.scaling.mode == ScaleMode::kAccumulator && spec.weight.scale_dtype == DType::kFp32;
    // Each tile of 16 columns has scales and zero points of its own.
    const bool dense_zeros =
        spec.weight.zero_point == ZeroPoint::kInt && c.weights.meta_group == kTileColumns;
    const bool few = wide_scales || dense_zeros || c.warps_n * c.warps_k > kUsualWarps;
    return 8 * c.row_tiles() * c.token_tiles() < registers * (few ? 6 : 7) / 16;
  }
  // Float zero points have sums of their own.
  const int others = spec.weight.zero_point == ZeroPoint::kFloat ? registers / 16 : 0;
  if (!c.reads_ahead) return sum_registers(c) + others <= registers / 4;
  // can_read_ahead() has seen to the sums.
  return c.stage_k == WeightLayout::kChunkK;
}

bool two_may_share_registers(const device::TilesConfig& c, const GemmSpec& spec) {
  return !c.epilogue.finds_scales || sets_any(spec.tile) || c.row_tiles() <= 2;
}

bool may_lack_registers(const device::TilesConfig& c, const GemmSpec& spec, int registers) {
  return !c.epilogue.finds_scales || sets_any(spec.tile) || sum_registers(c) <= 3 * registers / 8;
}

ScaleMode tiles_scale_mode(const GemmSpec& spec, const WeightLayout& layout,
                           const device::TilesConfig& c) {
  if (const auto mode = scale_mode_of_types(spec, layout)) return *mode;
  if (c.feeder == device::Feeder::kBulk) {
    const bool may_be_sums = folds_scale(spec) || has_room_for_bulk_sums(c);
    return may_be_sums ? scale_mode_of_entries(spec, layout, c.tile_m) : ScaleMode::kWeight;
  }
  // Per unit of K and row tile: four FMAs for every token tile, or four packed products for every
  // 16 columns. The first also needs twice the registers for sums.
  const bool cheaper = spec.batch_invariant ? scale_mode_of_entries(spec, layout, c.tile_m) ==
                                                  ScaleMode::kAccumulator
                                            : c.token_tiles() < c.unit() / 16;
  return cheaper && has_room_for_partial_sums(c) ? ScaleMode::kAccumulator : ScaleMode::kWeight;
}

}  // namespace heddle
