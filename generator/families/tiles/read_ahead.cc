#include "generator/families/tiles/read_ahead.h"

namespace heddle {
namespace {

constexpr int kFewestTokenTiles = 8;  // of a warp; fewer have little use for reading ahead
constexpr int kMostSums = 128;        // registers

}  // namespace

bool can_read_ahead(const WeightSpec& weight, const device::TilesConfig& c) {
  if (c.feeder != device::Feeder::kAsync || c.stages < 2) return false;
  if (c.token_tiles() < kFewestTokenTiles) return false;
  const int tile_pairs = c.row_tiles() * c.token_tiles();
  if (c.row_tiles() < 2 || 4 * tile_pairs > kMostSums) return false;
  // A step of 16 columns is decoded at a time.
  const bool by_steps = weight.bits == 4 || weight.bits == 8 || weight.bits == 16;
  if (!by_steps || weight.interleave == Interleave::kTrtllm) {
    return false;
  }
  if (weight.zero_point == ZeroPoint::kFloat) return false;
  if (c.scaling.mode == device::ScaleMode::kAccumulator) return false;
  // Every thread copies as much of the tokens, every warp of the weights, in each slice.
  const int slices = c.run() / 64;
  if (slices == 0) return false;  // refuse_tile() says why
  const int units = c.stage_k / 8;
  if (c.threads() % (8 * units) != 0 || c.tile_m % (c.threads() / units * slices) != 0)
    return false;
  return c.stage_row_blocks() % (c.threads() / 32 * slices) == 0;
}

}  // namespace heddle
