#include "generator/families/warpgroup/arithmetic.h"

#include <fmt/format.h>

#include "generator/families/scale_mode.h"
#include "generator/families/warpgroup/shares.h"

namespace heddle {
namespace {

using device::WarpgroupConfig;

// Columns whose products are added in the tensor cores before they meet the others in FP32.
std::string group_text(const WarpgroupConfig& c) {
  return c.has_group_sums() ? fmt::format(", sums of {} columns in FP32", c.group_columns()) : "";
}

// The columns of each of two warpgroups that share rows; their sums change places without changing
// the result.
const char* warpgroup_text(const WarpgroupConfig& c) {
  if (!c.splits_columns()) return "K in its order";
  return c.splits_chunks() ? "halves of each 128 columns" : "every other 128 columns";
}

// Which columns of a tile the blocks have that share it: all tiles in as many equal parts, or some
// of them by all blocks, which end inside of tiles (templates/schedule/shared_tiles.cuh). Sums of
// parts are added in the order of K, in the cluster as by way of the workspace.
std::string parts_text(const WarpgroupKernel& c, const WgmmaShares& shares) {
  const int columns = c.stage_chunks * device::Chunk::kColumns;
  const int rows = c.cluster_rows();
  const int blocks = shares.sums_in_cluster ? shares.workers : shares.workers / c.cluster;
  const auto tiles = device::ceil_div(device::Chunk::kRows * c.shape.row_blocks, rows);
  if (shares.shared_tiles == tiles && blocks % tiles == 0) {
    return fmt::format(", in {} parts of {} steps of {} columns", blocks / tiles, c.total_units(),
                       columns);
  }
  return fmt::format(", {} tiles of {} rows by {} blocks in steps of {} columns",
                     shares.shared_tiles, rows, blocks, columns);
}

}  // namespace

std::string wgmma_block_arithmetic(const WarpgroupConfig& c) {
  // Whether tokens or rows of W are the rows of the instruction: that both give the same sums is
  // not known of the hardware.
  return fmt::format("tiles of wgmma{}, {}{}, {}", c.has_token_rows() ? " by tokens" : "",
                     scale_text(c.scaling.mode), group_text(c), warpgroup_text(c));
}

std::optional<std::string> wgmma_arithmetic(const GemmRequest& gemm, const WarpgroupKernel& c) {
  std::string text = wgmma_block_arithmetic(c);
  if (!c.shares_tiles()) return text;
  if (!c.has_one_token_tile()) return std::nullopt;
  // Tiles of all tokens are shared alike by every launch: by what the most tokens take.
  const WgmmaShares shares = wgmma_shares(gemm, c, c.tokens);
  return shares.shared_tiles == 0 ? text : text + parts_text(c, shares);
}

}  // namespace heddle
