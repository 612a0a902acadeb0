#include "generator/families/tiles/sums.h"

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

ScaleMode tiles_scale_mode(const GemmSpec& spec, const WeightLayout& layout,
                           const device::TilesConfig& c) {
  if (const auto mode = scale_mode_of_types(spec, layout)) return *mode;
  if (c.feeder == device::Feeder::kBulk) {
    const bool may_be_sums = folds_scale(spec) || has_room_for_bulk_sums(c);
    return may_be_sums ? scale_mode_of_entries(spec, layout, c.tile_m) : ScaleMode::kWeight;
  }
  // Per unit of K and row tile: four FMAs for every token tile, or four packed products for every
  // 16 columns. The first also needs twice the registers for sums.
  const bool cheaper = c.token_tiles() < c.unit() / 16;
  return cheaper && has_room_for_partial_sums(c) ? ScaleMode::kAccumulator : ScaleMode::kWeight;
}

}  // namespace heddle
