#include "generator/plan/wgmma.h"

#include <algorithm>

#include "generator/plan/default_tile.h"
#include "generator/plan/refuse.h"
#include "generator/plan/stage.h"

namespace heddle {
namespace {

constexpr std::int64_t kFewestTokens = 9;  // below, streams and tiles waste less
constexpr int kWarpgroups = 2;             // that multiply
constexpr int kMostStages = 8;
constexpr int kFewestLongStages = 3;
constexpr int kDecodedSets = 2;
constexpr int kTokensOfWarps = 16;  // up to which mma.sync is faster
constexpr int kFewTokens = 32;      // whose stages are long
// Blocks of a cluster that share K or tokens. 32 clusters of four did not fit a GPU whose GPCs have
// 16 or 18 SMs.
constexpr int kCluster = 2;
constexpr int kPassRow = 64 + 4;  // floats, as in templates/gemm/wgmma_shape.cuh
constexpr int kRoundedPassBytes = 32 * 2 * (64 + 8);

// Whether a tile may have half of its tokens alone.
bool narrows(const GemmVariant& v) { return v.tile_m > 128; }

int stage_weight_bytes(const GemmVariant& v, const WeightLayout& layout) {
  return v.stage_chunks * v.tile_n / WeightLayout::kRowBlock * layout.chunk_bytes;
}
int stage_token_bytes(const GemmVariant& v) {
  return v.stage_chunks * v.tile_m * 2 * WeightLayout::kChunkK;
}
int wgmma_stage_bytes(const GemmVariant& v, const WeightLayout& layout) {
  return stage_weight_bytes(v, layout) + stage_token_bytes(v);
}

// The same arithmetic as templates/gemm/wgmma_shape.cuh, which checks the result.
int wgmma_shared_bytes(const GemmVariant& v, const WeightLayout& layout) {
  const bool splits_columns = v.tile_n == 64;
  const int own_tokens = splits_columns ? v.tile_m / 2 : v.tile_m;
  const int half_sum_bytes = splits_columns ? 4 * 128 * own_tokens / 2 : 0;
  const int pass_bytes = narrows(v)
                             ? kRoundedPassBytes
                             : std::max(4 * std::min(own_tokens, 32) * kPassRow, half_sum_bytes);
  return v.stages * wgmma_stage_bytes(v, layout) + kWarpgroups * pass_bytes + 2 * v.stages * 8 +
         8 * kWarpgroups;
}
// Whether half of a block's sums find room where its stages were, as there.
bool sums_fit(const GemmVariant& v, const WeightLayout& layout) {
  return !narrows(v) && 2 * v.tile_m * v.tile_n <= v.stages * wgmma_stage_bytes(v, layout);
}

std::int64_t stages_of_k(const GemmVariant& v, const WeightLayout& layout) {
  return ceil_div(layout.chunks_per_row_block, v.stage_chunks);
}

// Clocks of an SM of an H200 at 1965 MHz, fitted to docs/measurements.md.
//
// From M = 129 on. Tokens that a pair reads once count half; with two stages there is the way there
// and back; the GPU is at its limit of power, where a product in a small tile takes longer.
double stage_clocks_of_many(const GemmVariant& v, const WeightLayout& layout, bool in_step) {
  constexpr double kDecode = 185, kDecodeToken = 3, kWay = 700, kWayBytes = 48;
  const double multiply = 4 * (v.tile_m > 128 ? 1.095 : 1.15);
  const double unit = std::max(kDecode + kDecodeToken * v.tile_m, multiply * v.tile_m);
  const bool is_small = v.tile_m * v.tile_n < 256 * 128;
  const double cache = !in_step || is_small ? 28 : v.tile_m == 128 ? 31 : 32;  // bytes a clock
  const int token_bytes = stage_token_bytes(v) / v.cluster;
  const double read = stage_weight_bytes(v, layout) + token_bytes;
  const double clocks = std::max(v.stage_chunks * v.tile_n / 64.0 * unit, read / cache);
  return v.stages > 2 ? clocks : std::max(clocks, kWay + wgmma_stage_bytes(v, layout) / kWayBytes);
}
bool has_many_tokens(const GemmVariant& v) { return v.m_min > 128; }

// A stage: decoding, which wgmma with weights in registers holds up, or wgmma, both a little slower
// where two warpgroups share 64 rows; the L2 cache, which is slower where blocks read tokens of
// different columns. All bytes cost power, and so clock rate.
double stage_clocks(const GemmVariant& v, const WeightLayout& layout, bool in_step) {
  if (has_many_tokens(v)) return stage_clocks_of_many(v, layout, in_step);
  constexpr double kDecode = 170, kDecodeToken = 2.75, kMultiplyToken = 1.07 * 4;
  constexpr double kSharedRows = 1.08, kLeastShared = 335, kPowerBytes = 320, kByWarps = 0.91;
  const double cache = in_step ? 54 : 38;  // bytes a clock
  const double bytes = wgmma_stage_bytes(v, layout);
  double unit = std::max(kDecode + kDecodeToken * v.tile_m, kMultiplyToken * v.tile_m);
  if (v.tile_n == 64) unit = std::max(kLeastShared, unit * kSharedRows);
  if (v.by_warps) unit *= kByWarps;
  return std::max(v.stage_chunks * v.tile_n / 64.0 * unit, bytes / cache) + bytes / kPowerBytes;
}
// Of a tile that is cut in two along its tokens, which many have.
double cut_stage_clocks(const GemmVariant& v, const WeightLayout& layout) {
  GemmVariant half = v;
  half.tile_m /= 2;
  const double clocks = std::max(stage_clocks_of_many(half, layout, true), 1440.0);
  return v.cluster > 1 ? clocks : 1.1 * clocks;
}
// From the last sums of a tile to the next tile; elsewhere where there are few tokens.
double tile_clocks(const GemmVariant& v) {
  return has_many_tokens(v) ? 0.07 * v.tile_m * v.tile_n : 0;
}
double launch_clocks(const GemmVariant& v) { return v.cluster > 1 ? 6000 : 0; }
// To share a tile: the steps of the exchange one after the other, then the sums of one SM.
double tile_bytes(const GemmVariant& v) { return 4.0 * v.tile_m * v.tile_n; }
double cluster_clocks(const GemmVariant& v) { return 1440 + tile_bytes(v) / 51; }
double parts_clocks(const GemmVariant& v, std::int64_t parts) {
  constexpr double kBlock = 1100, kMostBlocks = 4;  // of more blocks the steps overlap
  const double blocks = static_cast<double>(parts);
  return kBlock * std::min(blocks, kMostBlocks) + blocks * tile_bytes(v) / (narrows(v) ? 12 : 30);
}
double equal_clocks(const GemmVariant& v) { return (v.by_warps ? 7100 : 4500) + tile_bytes(v) / 5; }

// With the time that memory takes for all weights: the two hinder each other a little.
double beside_memory(const GemmVariant& v, const WeightLayout& layout, double clocks) {
  constexpr double kBytes = 17.3, kHindrance = 0.15;  // bytes a clock of an SM
  const double memory = static_cast<double>(layout.total_bytes) / (v.workers * kBytes);
  return std::max(clocks, memory) + kHindrance * std::min(clocks, memory);
}

// More SMs at the limit of power, which read tokens of different columns.
constexpr double kManyInParts = 1.2;

struct Choice {
  WgmmaShares shares;
  double clocks = 0;  // of the SM that works longest
};

Choice choose_shares(const GemmVariant& v, const WeightLayout& layout, std::int64_t m) {
  // Blocks that share tokens work on neighbouring tiles: all are counted in clusters.
  const std::int64_t rows = layout.row_blocks * WeightLayout::kRowBlock;
  const std::int64_t row_sets = ceil_div(rows, v.tile_n * v.cluster);
  const std::int64_t token_tiles = ceil_div(m, v.tile_m);
  const std::int64_t tiles = row_sets * token_tiles;
  const std::int64_t stages = stages_of_k(v, layout);
  const std::int64_t workers = v.workers / v.cluster;
  const std::int64_t left = tiles % workers;
  const std::int64_t whole = tiles / workers * stages;
  const auto clocks_of = [&](std::int64_t in_step, std::int64_t apart) {
    const double clocks = static_cast<double>(in_step) * stage_clocks(v, layout, true) +
                          static_cast<double>(apart) * stage_clocks(v, layout, false) +
                          static_cast<double>(ceil_div(tiles, workers)) * tile_clocks(v);
    return beside_memory(v, layout, clocks) + launch_clocks(v);
  };
  const auto count = [&](std::int64_t clusters) { return static_cast<int>(clusters * v.cluster); };

  // Tiles of the last tokens may be narrow from the beginning. Narrow ones come behind the others.
  const bool ends_narrow =
      narrows(v) && token_tiles > 1 && m - (token_tiles - 1) * v.tile_m <= v.tile_m / 2;
  const std::int64_t wide = ends_narrow ? tiles - row_sets : tiles;
  const auto with_cut = [&](std::int64_t cut) -> Choice {
    const std::int64_t all = tiles + cut;
    // The block that works longest is the first, or the first with a wide tile less.
    const auto clocks_at = [&](std::int64_t worker) {
      const std::int64_t own_wide = ceil_div(wide - cut - worker, workers);
      const std::int64_t own_narrow = ceil_div(all - worker, workers) - own_wide;
      const double narrow = own_narrow > 0 ? cut_stage_clocks(v, layout) : 0;
      return clocks_of(own_wide * stages, 0) + static_cast<double>(own_narrow * stages) * narrow;
    };
    return {{count(std::min(all, workers)), -static_cast<int>(cut), v.cluster},
            std::max(clocks_at(0), clocks_at((wide - cut) % workers))};
  };

  Choice best = with_cut(0);
  const auto consider = [&best](const Choice& choice) {
    if (choice.clocks < best.clocks) best = choice;
  };
  if (narrows(v) && wide % workers > 0) consider(with_cut(wide % workers));
  if (!v.shares_tiles || left == 0) return best;
  const double slower = has_many_tokens(v) ? kManyInParts : 1;
  if (v.cluster == 1 && tiles * kCluster <= workers && stages >= kCluster && sums_fit(v, layout)) {
    consider({{count(tiles * kCluster), count(tiles), kCluster, true},
              slower * clocks_of(ceil_div(stages, kCluster), 0) + cluster_clocks(v)});
  }
  // Each tile of the last wave to the same number of blocks, or all of them in equal shares.
  for (std::int64_t parts = 2; tiles < workers && parts <= std::min(workers / tiles, stages);
       ++parts) {
    consider({{count(tiles * parts), static_cast<int>(tiles), v.cluster},
              slower * clocks_of(ceil_div(stages, parts), 0) + parts_clocks(v, parts)});
  }
  if (left * stages >= workers) {
    // A block may end one tile and begin another.
    consider({{count(workers), static_cast<int>(left), v.cluster},
              clocks_of(whole, ceil_div(left * stages, workers)) + equal_clocks(v)});
  }
  return best;
}

int tile_tokens(std::int64_t m_max) {
  for (const int tokens : {16, 32, 64, 96}) {
    if (m_max <= tokens) return tokens;
  }
  return 128;
}

// As many as fit.
int stages_that_fit(const Target& target, const WeightLayout& layout, GemmVariant v) {
  for (v.stages = kMostStages; v.stages > 1; --v.stages) {
    if (wgmma_shared_bytes(v, layout) <= target.shared_per_block) break;
  }
  return v.stages;
}

// Two chunks where the tokens leave room for them, four of few tokens: fewer copies and waits.
int choose_stage_chunks(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                        GemmVariant v) {
  const int fewest = spec.tile.stages.value_or(kFewestLongStages);
  const int most = v.tile_m <= kFewTokens ? 4 : 2;
  for (v.stage_chunks = v.tile_m > 64 ? 1 : most; v.stage_chunks > 1; v.stage_chunks /= 2) {
    const bool fits = stages_that_fit(target, layout, v) >= fewest;
    if (fits && v.stage_chunks <= layout.chunks_per_row_block) break;
  }
  return v.stage_chunks;
}

void complete(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
              GemmVariant& v) {
  v.scale_mode = choose_scale_mode(spec, layout, v);
  v.fold_power = folds_power(spec, v.scale_mode);
  // mma.sync would wait for the products of weights and scales.
  v.by_warps = v.tile_m <= kTokensOfWarps && v.scale_mode != ScaleMode::kWeight;
  v.stage_chunks = spec.tile.k ? std::max(*spec.tile.k / WeightLayout::kChunkK, 1)
                               : choose_stage_chunks(spec, target, layout, v);
  v.stage_k = spec.tile.k.value_or(v.stage_chunks * WeightLayout::kChunkK);
  v.stages = spec.tile.stages.value_or(stages_that_fit(target, layout, v));
  v.shared_bytes = wgmma_shared_bytes(v, layout);
  // Short steps were faster where wgmma takes about as long as decoding, long ones in pairs that
  // read tokens once; what follows the sums then leaves no registers for them.
  const EpilogueSpec& epilogue = spec.epilogue;
  const bool plain =
      !epilogue.bias && !epilogue.residual && epilogue.activation == Activation::kNone;
  const bool pairs = narrows(v) && v.cluster > 1 && plain;
  const bool few_rows = v.tile_m > 64 && v.tile_n == 128 && !pairs;
  v.step_tiles = v.tile_m == 64 || v.tile_n == 64 || few_rows ? 2 : 4;
}

bool is_too_large(const GemmVariant& v) {
  return sum_registers(v) > kMostWgmmaSums || v.stages < 2;
}

}  // namespace

bool wgmma_serves(const GemmSpec& spec, const Target& target, std::int64_t m_min) {
  // Other architectures have other instructions. Factors of the columns of X would have to meet the
  // tokens after the tensor copy, float zero points the sums of the tokens.
  if (target.arch() != 90 || spec.weight.zero_point == ZeroPoint::kFloat) return false;
  if (spec.pre_scale && !spec.act_order) return false;
  if (m_min < kFewestTokens) return false;
  if (spec.path == Path::kHopper) return true;
  // A tile of the user's is one of mma.sync, unless the path says otherwise.
  return spec.path == Path::kAuto && !sets_any(spec.tile);
}

GemmVariant wgmma_variant(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                          std::int64_t m_min, std::int64_t m_max) {
  GemmVariant v;
  v.kernel = GemmKernel::kWgmma;
  v.path = Path::kHopper;
  v.m_min = m_min;
  v.m_max = m_max;
  v.warps_n = 4 * kWarpgroups;
  v.workers = target.sm_count;
  v.shares_tiles = !spec.tile.split_k;
  v.decoded_sets = kDecodedSets;
  v.tile_m = spec.tile.m.value_or(tile_tokens(m_max));
  // 256 rows were slower wherever they were tried with few tokens.
  v.tile_n = spec.tile.n.value_or(v.tile_m <= kFewTokens ? 128 : 256);
  complete(spec, target, layout, v);
  if (spec.tile.n || v.by_warps) return v;
  const auto clocks = [&](const GemmVariant& one) { return wgmma_clocks(one, layout); };
  const auto consider = [&](int tile_m, int tile_n, int cluster) {
    GemmVariant other = v;
    other.tile_m = tile_m;
    other.tile_n = tile_n;
    other.cluster = cluster;
    complete(spec, target, layout, other);
    if (is_too_large(v) || (!is_too_large(other) && clocks(other) < clocks(v))) v = other;
  };
  if (v.tile_n > 128) consider(v.tile_m, 128, 1);
  if (v.tile_m >= 32 && v.tile_m <= 128) consider(v.tile_m, 64, 1);
  if (spec.tile.m || m_max <= 128) return v;
  // Where one or two of them hold all tokens; with more tokens 256 were as fast or faster.
  if (m_max <= 2 * 96) consider(96, 128, 1);
  for (const int tokens : {160, 192, 256}) {
    if (tokens < 256 && m_max > 2 * tokens) continue;
    consider(tokens, 128, 1);
    consider(tokens, 128, kCluster);
  }
  return v;
}

double wgmma_clocks(const GemmVariant& v, const WeightLayout& layout) {
  return choose_shares(v, layout, std::min(v.m_max, kOpenRangeTokens)).clocks;
}

int wgmma_box_tokens(const GemmVariant& v) { return v.tile_m < 96 ? v.tile_m : v.tile_m / 2; }

WgmmaShares wgmma_shares(const GemmVariant& variant, const WeightLayout& layout, std::int64_t m) {
  return choose_shares(variant, layout, m).shares;
}

std::size_t wgmma_partial_bytes(const GemmVariant& v) {
  if (!v.shares_tiles) return 0;
  // Two places for each block.
  return static_cast<std::size_t>(2 * 4) * v.workers * v.tile_m * v.tile_n;
}

}  // namespace heddle
