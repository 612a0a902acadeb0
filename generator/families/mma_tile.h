// MmaTile: what all tiles of mma.sync have whose warps feed them, and why one cannot be built; grid
// and workspace where thread blocks share the K of a tile by way of the workspace
// (templates/schedule/split_k.cuh).
#ifndef HEDDLE_GENERATOR_FAMILIES_MMA_TILE_H_
#define HEDDLE_GENERATOR_FAMILIES_MMA_TILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "generator/families/fields.h"
#include "generator/families/refuse.h"
#include "generator/families/shared_memory.h"
#include "generator/operations/kernel_argument.h"
#include "heddle/inspect/plan.h"
#include "steps/config.h"

namespace heddle {

// Columns of a stage, at most: the shared memory of larger ones would not fit into an int.
inline constexpr int kMostTileStageColumns = 4096;

struct MmaTile {
  int tile_m, tile_n, stage_k, stages, split_k;
  int warps_m, warps_n, warps_k;
  int threads;
  int run;  // columns of a stage that a warp along K takes multiples of
  bool by_registers;
  device::WeightShape shape;
  device::EpilogueConfig epilogue;
};
// Config: a family's configuration.
template <class Config>
MmaTile mma_tile(const Config& c, int run, bool by_registers) {
  return {c.tile_m,  c.tile_n,    c.stage_k, c.stages,     c.split_k, c.warps_m, c.warps_n,
          c.warps_k, c.threads(), run,       by_registers, c.shape,   c.epilogue};
}

// Columns of a stage and the warps that share them, the rows and the tokens of a tile.
struct MmaWarps {
  int columns, n, k;
  int m = 1;
};

// Whether the spec's tile leaves open what MmaWarps has.
bool leaves_warps_open(const TileSpec& tile);
// All warps with what the tile sets and with one of these numbers along M and along N. `any_tile`:
// also more or fewer warps than are ever fast.
std::vector<MmaWarps> warps_of(const TileSpec& tile, const std::vector<int>& along_m,
                               const std::vector<int>& along_n, bool any_tile);

// The order in which a tile's sums over K are added, for Family::arithmetic(): a warp's stage by
// stage, then those of the warps, then those of the parts (templates/steps/tile_epilogue.cuh).
std::string order_of_k(const MmaTile& tile);

// Row blocks of a tile are a multiple of this: as many for each warp, and whole groups of outputs
// where these share scales that the kernel finds.
int row_block_step(const device::EpilogueConfig& epilogue, int warps_n);

// Tokens of tiles that may fit where those of whole groups of outputs and more tokens do not.
std::vector<int> token_counts_beside_groups(std::int64_t m_max);

// Every reason why the warps cannot share the tile's stages; empty if they can.
std::vector<Problem> refuse_warps(const MmaTile& tile);

// Every reason why the target has no room for a tile of so many tokens that refuse_warps() lets
// pass. `sum_registers`: those of a thread.
std::vector<Problem> refuse_tile_size(const MmaTile& tile, int shared_bytes, int sum_registers,
                                      const GemmSpec& spec, const Target& target,
                                      std::int64_t m_max);

// x counts tiles of M, the one count that may pass 65535, y tiles of N, z parts of K.
template <class Config>
KernelLaunch split_launch(const Config& c, std::int64_t m) noexcept {
  const auto count = [](std::int64_t value) { return static_cast<unsigned int>(value); };
  return {count(ceil_div(m, c.tile_m)), count(ceil_div(c.shape.n, c.tile_n)), count(c.split_k)};
}

// The sums of all parts of K of each tile, behind the counters.
template <class Config>
std::size_t split_workspace_bytes(const Config& c, std::int64_t m) noexcept {
  if (c.split_k == 1) return 0;
  const std::int64_t tiles = ceil_div(m, c.tile_m) * ceil_div(c.shape.n, c.tile_n);
  return static_cast<std::size_t>(kWorkspaceCounterBytes +
                                  4 * tiles * c.split_k * c.tile_m * c.tile_n);
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_MMA_TILE_H_
