#include "generator/families/tiles/warps.h"

#include <iterator>

namespace heddle {
namespace {

// Best is a run of 128 columns for each warp, whose scales are looked at once, with few rows; with
// many tokens warps lie along the rows, so that fewer sums meet at the end.
constexpr MmaWarps kWarps[] = {{1024, 1, 8}, {512, 1, 8}, {512, 2, 4}, {256, 1, 4},   {256, 2, 4},
                               {256, 4, 2},  {128, 4, 2}, {128, 8, 1}, {128, 4, 1, 2}};
// The least shared memory: that of weights of 16 bits where a thread block has 64 KiB.
constexpr MmaWarps kFewestRows = {128, 2, 2};
constexpr MmaWarps kBulkWarps[] = {{1024, 1, 8}, {512, 3, 4}, {512, 2, 4}, {512, 1, 8},
                                   {512, 1, 4},  {256, 3, 4}, {256, 2, 4}, {256, 1, 4}};

}  // namespace

std::vector<MmaWarps> tiles_warps(const TileSpec& tile, bool bulk, bool any_tile) {
  if (!leaves_warps_open(tile)) {
    // Every warp of a tile that bulk copies feed has all tokens.
    return warps_of(tile, bulk ? std::vector<int>{1} : std::vector<int>{1, 2}, {1, 2, 3, 4, 8},
                    any_tile);
  }
  if (bulk) return {std::begin(kBulkWarps), std::end(kBulkWarps)};
  std::vector<MmaWarps> all(std::begin(kWarps), std::end(kWarps));
  if (any_tile) all.push_back(kFewestRows);
  return all;
}

}  // namespace heddle
