// The configuration of a layer of experts whose products are those of warpgroups
// (warpgroup_experts.cuh).
#pragma once

#include "experts/config.h"
#include "warpgroup/config.h"

namespace heddle::device {

// A tile that has place for tile_rows rows of an expert, and fewer of them, is multiplied by a
// narrower instruction that holds them: by half of its columns, of some tiles three quarters, or
// all. With fewer columns than half, decoding takes as long as with half. Each width is a main loop
// of its own in the kernel's text, and takes registers: with one more, some kernels spill.
struct TileWidths {
  int tile_rows;

  HEDDLE_BOTH constexpr int fewest() const { return tile_rows < 32 ? tile_rows : tile_rows / 2; }
  HEDDLE_BOTH constexpr int step() const {
    return tile_rows / (tile_rows <= 32 || tile_rows > 192 ? 2 : 4);
  }
};
// Its rows are copied in boxes of so many. Each takes a fetching warp some dozens of clocks.
HEDDLE_BOTH constexpr int box_rows(int tile_rows) {
  return tile_rows <= 32 ? 8 : tile_rows <= 64 ? 16 : 32;
}

struct WarpgroupExpertsConfig {
  ExpertLayer layer;
  WarpgroupConfig gate_up;  // both have the same tokens in a tile, and the same threads
  WarpgroupConfig down;
  WeightShape gate_up_shape;
  WeightShape down_shape;

  HEDDLE_BOTH constexpr int threads() const { return gate_up.threads(); }
  HEDDLE_BOTH constexpr int shared_bytes() const {
    return max_of(max_of(gate_up.shared_bytes(), down.shared_bytes()), layer.route_shared_bytes());
  }

  HEDDLE_FIELDS(layer, gate_up, down, gate_up_shape, down_shape)
};

}  // namespace heddle::device
