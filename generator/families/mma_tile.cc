#include "generator/families/mma_tile.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "generator/families/blocks_that_fit.h"
#include "generator/families/shared_memory.h"
#include "generator/families/tile_fields.h"

namespace heddle {
namespace {

constexpr int kMaxThreads = 1024;
constexpr std::int64_t kMostTilesOfN = 65535;  // the grid's second dimension
// Sums and partial sums beyond this many registers spill, whatever else a thread holds; so do those
// that leave it fewer than kLeastOthers.
constexpr int kMaxSumRegisters = 160;
constexpr int kLeastOthers = 24;

int total_stages(const MmaTile& c) {
  return static_cast<int>(ceil_div(c.shape.chunks, c.stage_k / WeightLayout::kChunkK));
}

}  // namespace

bool leaves_warps_open(const TileSpec& tile) {
  return !tile.k && !tile.warps_m && !tile.warps_n && !tile.warps_k;
}

std::vector<MmaWarps> warps_of(const TileSpec& tile, const std::vector<int>& along_m,
                               const std::vector<int>& along_n, bool any_tile) {
  constexpr int kFewestWarps = 4, kMostWarps = 16;
  std::vector<MmaWarps> all;
  for (const int columns : values_of(tile.k, {128, 256, 512, 1024})) {
    for (const int m : values_of(tile.warps_m, along_m)) {
      for (const int n : values_of(tile.warps_n, along_n)) {
        for (const int k : values_of(tile.warps_k, {1, 2, 4, 8})) {
          const int count = m * n * k;
          if (any_tile || (count >= kFewestWarps && count <= kMostWarps)) {
            all.push_back({columns, n, k, m});
          }
        }
      }
    }
  }
  return all;
}

std::string order_of_k(const MmaTile& c) {
  // One warp of one block adds column by column, however long its stages are.
  if (c.warps_k == 1 && c.split_k == 1) return "K in its order";
  std::string text = fmt::format("K in stages of {} columns over {} warps", c.stage_k, c.warps_k);
  if (c.split_k > 1) text += fmt::format(", in {} parts", c.split_k);
  return text;
}

int row_block_step(const device::EpilogueConfig& epilogue, int warps_n) {
  const int group = epilogue.finds_scales ? epilogue.scale_rows() / device::Chunk::kRows : 1;
  return std::lcm(group, warps_n);
}

std::vector<int> token_counts_beside_groups(std::int64_t m_max) {
  std::vector<int> counts = {8};
  while (counts.back() < std::min<std::int64_t>(m_max, 64)) counts.push_back(2 * counts.back());
  return counts;
}

std::vector<Problem> refuse_warps(const MmaTile& c) {
  Reasons reasons;
  reasons.unless(
      c.tile_m % (8 * c.warps_m) == 0, "/tile/m",
      [&] {
        return fmt::format("each of {} warps along M takes whole tiles of 8 tokens", c.warps_m);
      },
      c.tile_m, [&] { return fmt::format("multiples of {}", 8 * c.warps_m); });
  reasons.unless(
      c.tile_n % (16 * c.warps_n) == 0, "/tile/n",
      [&] {
        return fmt::format("each of {} warps along N takes whole tiles of 16 rows", c.warps_n);
      },
      c.tile_n, [&] { return fmt::format("multiples of {}", 16 * c.warps_n); });
  reasons.unless(c.epilogue.holds_groups(c.tile_n), "/tile/n",
                 "128 outputs of a token that share a scale are of one tile", c.tile_n,
                 [&] { return fmt::format("multiples of {}", c.epilogue.scale_rows()); });
  reasons.unless(
      c.stage_k % 128 == 0 && c.stage_k % (c.run * c.warps_k) == 0, "/tile/k",
      [&] {
        return fmt::format(
            "a stage is whole chunks of 128 columns, of which each of {} warps "
            "along K takes whole runs of {}",
            c.warps_k, c.run);
      },
      c.stage_k, "");
  reasons.unless(c.stage_k <= kMostTileStageColumns, "/tile/k",
                 "a stage of a tile has fewer columns", c.stage_k,
                 [] { return fmt::format("up to {}", kMostTileStageColumns); });
  reasons.unless(c.threads <= kMaxThreads, "/tile", "a block has at most 1024 threads", c.threads,
                 "");
  reasons.unless(c.stages >= 2, "/tile/stages", "a pipeline has at least two stages", c.stages,
                 "2 and up");
  reasons.unless(!c.by_registers || c.stages == 2, "/tile/stages",
                 "the turing path holds one stage in registers and one in shared memory", c.stages,
                 "2");
  return reasons.take();
}

std::vector<Problem> refuse_tile_size(const MmaTile& c, int shared_bytes, int sum_registers,
                                      const GemmSpec& spec, const Target& target,
                                      std::int64_t m_max) {
  Reasons reasons;
  // Where the spec leaves the tile open its rows are those of one group.
  const bool of_group = c.epilogue.finds_scales && !sets_any(spec.tile);
  reasons.unless(
      shared_bytes <= target.shared_per_block, of_group ? "/output/granularity" : "/tile",
      [&] {
        return fmt::format(
            "{}a tile of m {}, n {}, k {} and {} stages needs {} bytes of shared memory, {} has {} "
            "for a block",
            of_group ? "128 outputs of a token that share a scale are of one tile: " : "", c.tile_m,
            c.tile_n, c.stage_k, c.stages, shared_bytes, target.name, target.shared_per_block);
      },
      of_group ? "\"group\"" : "",
      of_group ? "\"tensor\", or an output of 16 bits and a row_transform behind the gemm" : "");
  const int most_sums =
      std::min(kMaxSumRegisters, register_budget(target, c.threads, 1) - kLeastOthers);
  reasons.unless(
      sum_registers <= most_sums, "/tile",
      [&] {
        return fmt::format(
            "a warp's tile of {} rows by {} tokens needs {} registers of a thread for its sums, of "
            "which {} threads leave too few; use a smaller tile, or more warps along M or N",
            c.tile_n / c.warps_n, c.tile_m / c.warps_m, sum_registers, c.threads);
      },
      "", [&] { return fmt::format("at most {}", most_sums); });
  // The shortest stage has one chunk, where the spec sets none.
  const int most_split = spec.tile.k ? total_stages(c) : c.shape.chunks;
  reasons.unless(c.split_k <= total_stages(c), "/tile/split_k",
                 "every block of a split needs a stage of K", c.split_k,
                 [&] { return fmt::format("1 to {}", most_split); });
  const std::int64_t tiles_of_n = ceil_div(c.shape.n, c.tile_n);
  reasons.unless(
      tiles_of_n <= kMostTilesOfN, "/tile/n",
      [&] { return fmt::format("a launch has at most {} tiles along N", kMostTilesOfN); },
      tiles_of_n, "more rows to a tile");
  const std::int64_t tiles = ceil_div(m_max, c.tile_m) * tiles_of_n;
  reasons.unless(c.split_k == 1 || tiles <= kWorkspaceCounterBytes / 4, "/tile/split_k", [&] {
    return fmt::format("M up to {} has {} output tiles, a split serves {}", m_max, tiles,
                       kWorkspaceCounterBytes / 4);
  });
  return reasons.take();
}

}  // namespace heddle
