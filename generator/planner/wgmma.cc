#include "generator/planner/wgmma.h"

#include <algorithm>

#include "generator/planner/default_tile.h"
#include "generator/planner/refuse.h"
#include "generator/planner/scale_mode.h"
#include "generator/planner/stage.h"
#include "generator/planner/wgmma_ring.h"
#include "generator/planner/wgmma_shares.h"
#include "generator/planner/wgmma_stage.h"
#include "generator/spec/weight_meaning.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

constexpr std::int64_t kFewestTokens = 9;  // below, streams and tiles waste less
// That multiply; four of a row tile each where their registers hold its sums.
constexpr int kWarpgroups = 2, kMostWarpgroups = 4;
constexpr int kMostTokensOfFour = 64;
constexpr int kFewestStages = 3;  // else shorter ones
constexpr int kDecodedSets = 2;
// Where others add meanwhile, who have registers, too; more tokens were slower as often as faster.
constexpr int kMostSumsBesideAdding = 64;
constexpr int kMostTokensFirst = 64;
constexpr int kTokensOfWarps = 16;  // up to which mma.sync is faster
constexpr int kFewTokens = 32;      // whose stages are long

bool is_plain(const EpilogueSpec& epilogue) {
  return !epilogue.bias && !epilogue.residual && epilogue.activation == Activation::kNone;
}

// Whether the 112 registers of a thread of four warpgroups hold its sums and those of a group that
// are not scaled yet, beside what decoding and the end of a tile take.
bool four_hold_sums(const GemmSpec& spec, const GemmVariant& v) {
  if (v.tile_m < kMostTokensOfFour || v.scale_mode == ScaleMode::kWeight) return true;
  if (!v.shares_rows) return false;
  const WeightSpec& weight = spec.weight;
  if (weight.bits == 4) return weight.type != WeightType::kNf4;
  const bool simple = is_integer(weight.type) && weight.zero_point == ZeroPoint::kNone;
  return simple && (weight.bits <= 5 || is_plain(spec.epilogue));
}

int tile_tokens(std::int64_t m_max) {
  for (const int tokens : {16, 32, 64, 96}) {
    if (m_max <= tokens) return tokens;
  }
  return 128;
}

void set_stage(GemmVariant& v, int columns) {
  v.stage_k = columns;
  v.stage_chunks = std::max(columns / WeightLayout::kChunkK, 1);
}

// Two chunks where the tokens leave room for them, four of few tokens: fewer copies and waits. Half
// a chunk where many tokens leave room for two whole ones: while one is multiplied, the other would
// come too late.
void choose_stage(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                  GemmVariant& v) {
  const int fewest = spec.tile.stages.value_or(kFewestStages);
  const auto fits = [&] { return wgmma_stages_that_fit(spec, target, layout, v) >= fewest; };
  int chunks = v.tile_m > 64 ? 1 : v.tile_m <= kFewTokens ? 4 : 2;
  for (; chunks > 1; chunks /= 2) {
    set_stage(v, chunks * WeightLayout::kChunkK);
    if (fits() && chunks <= layout.chunks_per_row_block) return;
  }
  set_stage(v, WeightLayout::kChunkK);
  if (v.tile_m > 128 && !fits() && wgmma_may_halve(spec, v))
    set_stage(v, WeightLayout::kChunkK / 2);
}

// Two or four that multiply, and where scales go. Blocks whose last warpgroup adds have two others.
void choose_warpgroups(const GemmSpec& spec, const WeightLayout& layout, GemmVariant& v) {
  const bool may_four = v.tile_n == kMostWarpgroups * kWgmmaRowTile &&
                        v.tile_m <= kMostTokensOfFour && !v.shares_first;
  v.warps_n = 4 * (may_four ? kMostWarpgroups : kWarpgroups);
  settle_scale(spec, layout, v);
  if (!may_four || four_hold_sums(spec, v)) return;
  v.warps_n = 4 * kWarpgroups;
  settle_scale(spec, layout, v);
}

void complete(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
              GemmVariant& v) {
  choose_warpgroups(spec, layout, v);
  const bool four = wgmma_has_four(v);
  // mma.sync would wait for the products of weights and scales; beside three other warpgroups'
  // wgmma takes no longer.
  v.by_warps = v.tile_m <= kTokensOfWarps && v.scale_mode != ScaleMode::kWeight && !four;
  if (spec.tile.k) {
    set_stage(v, *spec.tile.k);
  } else {
    choose_stage(spec, target, layout, v);
  }
  set_wgmma_ring(spec, target, layout, v);
  // Short steps were faster where wgmma takes about as long as decoding, long ones where two sets
  // of sums take turns and in pairs that read tokens once; what follows the sums of these then
  // leaves no registers for them. Nor have four warpgroups any with 64 tokens.
  const bool pairs = wgmma_narrows(v) && v.cluster > 1 && is_plain(spec.epilogue);
  const bool few_rows = v.tile_m > 64 && v.tile_m != 128 && v.tile_n == 128 && !pairs;
  const bool short_steps = v.tile_m == 64 && (v.scale_mode != ScaleMode::kAccumulator || four);
  // Warpgroups that share 64 rows take whole chunks in turns of stages that have several.
  const bool halves = v.tile_n == 64 && v.stage_chunks % kWarpgroups != 0;
  const bool two_bits = v.tile_n == 64 && spec.weight.bits < 3;
  v.step_tiles = short_steps || halves || two_bits || few_rows ? 2 : 4;
}

bool is_too_large(const GemmVariant& v) {
  return sum_registers(v) > kMostWgmmaSums || v.stages < 2;
}

// Blocks share the tiles that are left over before the whole ones where that is faster.
GemmVariant or_shares_first(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                            const GemmVariant& v) {
  if (!v.shares_tiles || v.cluster > 1 || v.m_max > v.tile_m) return v;
  if (v.tile_m > kMostTokensFirst || v.tile_n < kWgmmaRowTile) return v;
  GemmVariant first = v;
  wgmma_share_first(spec, target, layout, true, first);
  if (sum_registers(first) > kMostSumsBesideAdding) return v;
  const bool fits = first.stages >= 2 && first.shared_bytes <= target.shared_per_block;
  return fits && wgmma_clocks(first, layout) < wgmma_clocks(v, layout) ? first : v;
}

GemmVariant choose_tile(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                        std::int64_t m_min, std::int64_t m_max) {
  GemmVariant v;
  v.kernel = GemmKernel::kWgmma;
  v.path = Path::kHopper;
  v.m_min = m_min;
  v.m_max = m_max;
  v.workers = target.sm_count;
  v.shares_tiles = !spec.tile.split_k;
  v.decoded_sets = kDecodedSets;
  v.tile_m = spec.tile.m.value_or(tile_tokens(m_max));
  v.tile_n = spec.tile.n.value_or(v.tile_m <= kFewTokens ? 128 : 256);
  complete(spec, target, layout, v);
  v = or_shares_first(spec, target, layout, v);
  if (spec.tile.n) return v;
  const auto clocks = [&](const GemmVariant& one) { return wgmma_clocks(one, layout); };
  const auto consider_variant = [&](const GemmVariant& other) {
    if (is_too_large(v) || (!is_too_large(other) && clocks(other) < clocks(v))) v = other;
  };
  const auto consider = [&](int tile_m, int tile_n, int cluster) {
    GemmVariant other = v;
    other.tile_m = tile_m;
    other.tile_n = tile_n;
    other.cluster = cluster;
    other.shares_first = false;
    complete(spec, target, layout, other);
    consider_variant(or_shares_first(spec, target, layout, other));
  };
  // Codes of 8 bits were slower with 256 rows for up to 16 tokens.
  if (v.tile_m <= kTokensOfWarps && spec.weight.bits == 8) return v;
  consider(v.tile_m, v.tile_n > 128 ? 128 : 256, 1);
  if (v.tile_m >= 32 && v.tile_m <= 128) consider(v.tile_m, 64, 1);
  const bool has_pairs = target.sm_count >= kWgmmaCluster;
  // A split_k of the user's gives each tile to one block.
  if (has_pairs && v.tile_m <= 64 && m_max <= v.tile_m && !spec.tile.split_k) {
    for (const int rows : {128, 256}) {
      if (v.tile_m < kFewTokens && rows == 128) continue;
      GemmVariant other = v;
      other.tile_n = rows;
      wgmma_share_rows(spec, target, layout, other);
      consider_variant(other);
    }
  }
  if (spec.tile.m || m_max <= 128) return v;
  // Where one or two of them hold all tokens; with more tokens 256 were as fast or faster.
  if (m_max <= 2 * 96) consider(96, 128, 1);
  for (const int tokens : {160, 192, 256}) {
    if (tokens < 256 && m_max > 2 * tokens) continue;
    consider(tokens, 128, 1);
    if (has_pairs) consider(tokens, 128, kWgmmaCluster);
  }
  return v;
}

// Where a tile has all tokens of the range, blocks share tiles in one way: the kernel has no other.
void settle_sharing(const WeightLayout& layout, GemmVariant& v) {
  v.shares_in_pairs = wgmma_may_pair(v, layout);
  if (v.tile_n < kWgmmaRowTile) return;  // refuse_wgmma() says why
  if (!v.shares_tiles || v.m_max > v.tile_m || wgmma_narrows(v)) return;
  const WgmmaShares shares = wgmma_shares(v, layout, v.m_max);
  v.shares_tiles = shares.shared_tiles > 0;
  v.shares_in_pairs = shares.sums_in_cluster;
}

}  // namespace

bool wgmma_serves(const GemmSpec& spec, const Target& target, std::int64_t m_min) {
  // Other architectures have other instructions. Factors of the columns of X would have to meet the
  // tokens after the tensor copy, float zero points the sums of the tokens.
  if (!has_wgmma(target) || spec.weight.zero_point == ZeroPoint::kFloat) return false;
  if (spec.pre_scale && !spec.act_order) return false;
  if (m_min < kFewestTokens) return false;
  if (spec.path == Path::kHopper) return true;
  // A tile of the user's is one of mma.sync, unless the path says otherwise.
  return spec.path == Path::kAuto && !sets_any(spec.tile);
}

GemmVariant wgmma_variant(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                          std::int64_t m_min, std::int64_t m_max) {
  GemmVariant v = choose_tile(spec, target, layout, m_min, m_max);
  settle_sharing(layout, v);
  settle_wgmma_ring(spec, target, layout, v);
  return v;
}

bool wgmma_pairs_fill(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                      std::int64_t m_min, std::int64_t m_max) {
  constexpr double kFull = 0.9;
  if (sets_any(spec.tile) || !wgmma_serves(spec, target, m_min)) return false;
  const GemmVariant v = wgmma_variant(spec, target, layout, m_min, m_max);
  if (!v.shares_rows || !wgmma_has_four(v)) return false;
  const std::int64_t set_rows = warpgroup_sizes(layout, v).set_row_tiles() * kWgmmaRowTile;
  const std::int64_t pairs = v.workers / kWgmmaCluster;
  const std::int64_t rounds = ceil_div(spec.shape.n, set_rows * pairs);
  return static_cast<double>(spec.shape.n) >=
         kFull * static_cast<double>(rounds * pairs * set_rows);
}

void wgmma_share_tokens(int cluster, GemmVariant& v) {
  v.cluster = cluster;
  v.shares_in_pairs = v.shares_in_pairs && cluster == 1;
}

void wgmma_share_rows(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                      GemmVariant& v) {
  v.shares_rows = true;
  v.shares_tiles = false;
  v.shares_in_pairs = false;
  v.shares_first = false;
  complete(spec, target, layout, v);
}

void wgmma_share_first(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                       bool first, GemmVariant& v) {
  v.shares_first = first;
  v.shares_tiles = v.shares_tiles || first;
  v.shares_in_pairs = v.shares_in_pairs && !first;
  complete(spec, target, layout, v);
}

bool wgmma_may_halve(const GemmSpec& spec, const GemmVariant& v) {
  return v.tile_m >= 128 && v.tile_n == 128 && v.stage_chunks == 1 &&
         v.scale_mode != ScaleMode::kAccumulator && spec.weight.interleave != Interleave::kTrtllm;
}

std::size_t wgmma_partial_bytes(const GemmVariant& v) {
  if (!v.shares_tiles) return 0;
  // Two places for each block.
  return static_cast<std::size_t>(2 * 4) * v.workers * v.tile_m * v.tile_n;
}

}  // namespace heddle
