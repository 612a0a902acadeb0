#include "generator/families/tiles/warps.h"

#include <iterator>

#include "generator/families/tile_fields.h"

namespace heddle {
namespace {

// Best is a run of 128 columns for each warp, whose scales are looked at once, with few rows; with
// many tokens warps lie along the rows, so that fewer sums meet at the end.
constexpr TilesWarps kWarps[] = {{1024, 1, 8}, {512, 1, 8}, {512, 2, 4}, {256, 1, 4},   {256, 2, 4},
                                 {256, 4, 2},  {128, 4, 2}, {128, 8, 1}, {128, 4, 1, 2}};
// The least shared memory: that of weights of 16 bits where a thread block has 64 KiB.
constexpr TilesWarps kFewestRows = {128, 2, 2};
constexpr TilesWarps kBulkWarps[] = {{1024, 1, 8}, {512, 3, 4}, {512, 2, 4}, {512, 1, 8},
                                     {512, 1, 4},  {256, 3, 4}, {256, 2, 4}, {256, 1, 4}};

}  // namespace

std::vector<TilesWarps> tiles_warps(const TileSpec& tile, bool bulk, bool any_tile) {
  if (!tile.k && !tile.warps_m && !tile.warps_n && !tile.warps_k) {
    if (bulk) return {std::begin(kBulkWarps), std::end(kBulkWarps)};
    std::vector<TilesWarps> all(std::begin(kWarps), std::end(kWarps));
    if (any_tile) all.push_back(kFewestRows);
    return all;
  }
  // With some of them set, the others as they come.
  constexpr int kFewestWarps = 4, kMostWarps = 16;
  std::vector<TilesWarps> all;
  for (const int columns : values_of(tile.k, {128, 256, 512, 1024})) {
    // Every warp of a tile that bulk copies feed has all tokens.
    for (const int m :
         values_of(tile.warps_m, bulk ? std::vector<int>{1} : std::vector<int>{1, 2})) {
      for (const int n : values_of(tile.warps_n, {1, 2, 3, 4, 8})) {
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

}  // namespace heddle
