#include "generator/families/tiles/read_ahead.h"

#include "generator/families/scale_mode.h"

namespace heddle {
namespace {

constexpr int kFewestTokenTiles = 8;  // of a warp; fewer have little use for reading ahead
constexpr int kMostSums = 128;        // registers

}  // namespace

bool can_read_ahead(const GemmSpec& spec, const WeightLayout& layout, const GemmVariant& v) {
  if (v.path != Path::kAmpere || v.stages < 2) return false;
  if (v.token_tiles() < kFewestTokenTiles) return false;
  const int tile_pairs = v.row_tiles() * v.token_tiles();
  if (v.row_tiles() < 2 || 4 * tile_pairs > kMostSums) return false;
  // A step of 16 columns is decoded at a time.
  const WeightSpec& weight = spec.weight;
  if ((weight.bits != 4 && weight.bits != 8) || weight.interleave == Interleave::kTrtllm) {
    return false;
  }
  if (weight.zero_point == ZeroPoint::kFloat) return false;
  if (choose_scale_mode(spec, layout, v) == ScaleMode::kAccumulator) return false;
  // Every thread copies as much of the tokens, every warp of the weights, in each turn.
  const int turns = v.stage_k / v.warps_k / 64;
  if (turns == 0) return false;  // refuse_tile() says why
  const int units = v.stage_k / 8;
  if (v.threads() % (8 * units) != 0 || v.tile_m % (v.threads() / units * turns) != 0) return false;
  return v.tile_n / WeightLayout::kRowBlock % (v.threads() / 32 * turns) == 0;
}

}  // namespace heddle
