#include "generator/planner/bulk.h"

#include <algorithm>

#include "generator/families/tiles/config.h"
#include "generator/planner/default_tile.h"
#include "generator/planner/scale_mode.h"
#include "generator/planner/stage.h"
#include "generator/planner/stream_shape.h"
#include "generator/planner/stream_warps.h"
#include "generator/planner/wgmma.h"
#include "generator/spec/weight_meaning.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

constexpr int kFewestStages = 3;
constexpr int kMostStages = 8;
constexpr int kStagesAhead = 2;
constexpr int kFewestStagesOfLongRow = 8;
constexpr int kFewBits = 3;  // of integers, which are decoded no faster than the memory brings them
// Row tiles by token tiles of a warp whose sums leave registers for the rest: with eight warps that
// multiply, or more.
constexpr int kMostSumTiles = 14, kMostSumTilesOfMany = 8;

// The first that fits: best is a run of 128 columns for each warp, whose scales are looked at once,
// and copies as long as that allows.
struct Stage {
  int columns, warps_n, warps_k;
  int fewest = kFewestStages;
  std::int64_t most_tokens = kMostBulkTokens;

  int run() const { return columns / warps_k; }
};
constexpr Stage kStages[] = {
    {1024, 1, 8}, {512, 3, 4}, {512, 2, 4}, {1024, 1, 8, /*fewest=*/2, /*most_tokens=*/8},
    {512, 1, 8},  {256, 3, 4}, {256, 2, 4}, {256, 1, 4}};

// Where it is faster, as far as it was measured on an H200; docs/planning.md has the rules in
// words.
constexpr std::int64_t kMostTokens = 16;       // wgmma is faster with more
constexpr std::int64_t kEight = 8;             // from more on small shapes, too, and uneven ones
constexpr std::int64_t kFewestTokens = 5;      // of large shapes
constexpr std::int64_t kFewestOfLongRows = 3;  // which other kernels would share between blocks
constexpr int kLongRow = 107;                  // chunks
constexpr int kLongRowOfMore = 48;             // the same from kFewestTokens on
// Of one and two tokens: row blocks that streams should not copy from inside of a line of memory.
constexpr std::int64_t kLongRowBytes = 170'000;
constexpr int kShortRow = 36, kSmallBlocks = 3;  // small: so many chunks, row blocks of an SM
constexpr int kFewestChunks = 12;                // tiles are faster with fewer
constexpr int kFewChunks = 24;    // streams are slower with fewer: warps have one or two
constexpr int kRoundOfTiles = 8;  // row blocks of wgmma, which such rows suit
constexpr double kEven = 0.75;    // of fill(), and more
// Where it is less: the longest rows, in chunks,
// from kFewestTokens on, and the shortest with up to kEight, since of those streams leave room.
constexpr int kLongestUneven = 111, kShortestUneven = 65;
constexpr int kNarrowBits = 4;

// Then few registers are left for anything.
bool has_many_warps(const GemmVariant& v) { return v.warps_n * v.warps_k > 8; }

// Whether weights of more than one stage may be ahead of the tokens: of up to eight, which are soon
// there, or in long rows, in a ring that holds more, and where the memory and not decoding sets the
// pace.
bool may_be_ahead(const GemmSpec& spec, const WeightLayout& layout, const GemmVariant& v) {
  const bool decodes_slowly =
      is_integer_up_to(spec.weight, kFewBits) || has_small_scales(spec.weight);
  const bool is_long =
      ceil_div(layout.chunks_per_row_block, v.stage_chunks) >= kFewestStagesOfLongRow;
  return (v.tile_m <= kEight || (is_long && !has_many_warps(v))) && v.stages > kStagesAhead &&
         !decodes_slowly;
}

// Whether an SM has the shared memory and the registers for two of these blocks, so that one can
// start while another, of the launch before, still runs.
bool fits_twice(const Target& target, const GemmVariant& v) {
  constexpr int kFewThreads = 160, kFewSumTiles = 4;
  const bool has_registers =
      v.threads() <= kFewThreads || v.row_tiles() * v.token_tiles() <= kFewSumTiles;
  return has_registers && 2 * (v.shared_bytes + kReservedSharedBytes) <= target.shared_per_sm;
}

// As many as fit, or as the spec asks for.
void choose_stages(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                   GemmVariant& v) {
  // Blocks that share K have some of the stages each.
  const auto of_block =
      static_cast<int>(ceil_div(tiles_sizes(layout, v).total_stages(), v.split_k));
  const int most = v.split_k == 1 ? kMostStages : std::clamp(of_block, 2, kMostStages);
  v.stages = spec.tile.stages.value_or(most);
  while (v.stages > 1 && !spec.tile.stages &&
         tiles_config(spec, layout, v).shared_bytes() > target.shared_per_block) {
    --v.stages;
  }
  v.shared_bytes = tiles_config(spec, layout, v).shared_bytes();
  v.stages_ahead = may_be_ahead(spec, layout, v) ? kStagesAhead : 1;
  // A block that starts while another's runs has the time to copy the weights of all of its ring:
  // they do not keep its tokens waiting.
  if (v.split_k > 1 && fits_twice(target, v)) v.stages_ahead = std::min(v.stages, most);
}

GemmVariant variant_with(const GemmSpec& spec, const WeightLayout& layout, std::int64_t m_min,
                         std::int64_t m_max) {
  GemmVariant v;
  v.kernel = GemmKernel::kBulk;
  v.path = Path::kHopper;
  v.m_min = m_min;
  v.m_max = m_max;
  const std::int64_t tokens = std::min<std::int64_t>(m_max, kMostBulkTokens);
  v.tile_m = spec.tile.m.value_or(static_cast<int>(ceil_div(tokens, 8)) * 8);
  settle_scale(spec, layout, v);
  return v;
}

// Row blocks of a block, where they make one round of blocks.
int row_blocks_of_one(const Target& target, const WeightLayout& layout) {
  return static_cast<int>(ceil_div(layout.row_blocks, target.sm_count));
}

// Row blocks of an SM on average, of those of the busiest.
double fill(const Target& target, const WeightLayout& layout) {
  return static_cast<double>(layout.row_blocks) /
         (row_blocks_of_one(target, layout) * target.sm_count);
}

// With one and two tokens and long rows: where some of its warps have more than others; or it
// copies from inside of lines; or it ends on those SMs alone that have a row block more, and they
// leave memory idle. Scales of 8 bits keep it busy.
bool stream_is_slow(const GemmSpec& spec, const Target& target, const WeightLayout& layout) {
  const int stage = stream_even_stage(layout);
  if (stage == 0) return true;
  if (has_small_scales(spec.weight)) return false;
  const std::int64_t row_bytes =
      static_cast<std::int64_t>(layout.chunks_per_row_block) * layout.chunk_bytes;
  if (row_bytes >= kLongRowBytes && stage * layout.chunk_bytes % kLineBytes != 0) return true;
  return fill(target, layout) <= 0.875 && row_blocks_of_one(target, layout) >= kSmallBlocks;
}

// Whether it may be faster where some SMs have much less to do than others.
bool serves_uneven(const Target& target, const WeightLayout& layout, std::int64_t m_min) {
  const int row_blocks = row_blocks_of_one(target, layout);
  const int chunks = layout.chunks_per_row_block;
  if (m_min > kEight) return row_blocks <= kSmallBlocks && chunks <= kLongestUneven;
  if (m_min < kFewestTokens) {
    return row_blocks == kSmallBlocks && chunks >= kLongRow && fill(target, layout) >= 0.7;
  }
  return row_blocks < kSmallBlocks && chunks >= kShortestUneven && chunks <= kLongestUneven &&
         fill(target, layout) >= 0.5;
}

// Than the other kernels that could serve m_min tokens.
bool is_faster(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
               const Stage& stage, std::int64_t m_min) {
  const int row_blocks = row_blocks_of_one(target, layout);
  const int chunks = layout.chunks_per_row_block;
  const bool narrow = is_integer_up_to(spec.weight, kNarrowBits);
  const bool small = row_blocks <= kSmallBlocks;
  if (chunks < kFewestChunks) return false;
  if (fill(target, layout) < kEven && !serves_uneven(target, layout, m_min)) return false;
  // With shorter runs integers of few bits are decoded no faster than elsewhere.
  const bool runs = stage.run() >= WeightLayout::kChunkK;
  if (m_min > kEight) {
    return (runs || !narrow) && (chunks >= kFewChunks || row_blocks % kRoundOfTiles != 0);
  }
  if (chunks >= kLongRow) {
    return runs && (m_min >= kFewestOfLongRows || stream_is_slow(spec, target, layout));
  }
  if (m_min < kFewestTokens || !runs) return false;
  if (chunks >= kLongRowOfMore) return true;
  // Small kernels of a layer are faster as streams, which overlap with each other.
  if (small) return false;
  return chunks > kShortRow || (chunks < kFewChunks && stage.fewest >= kFewestStages);
}

int most_sum_tiles(const GemmSpec& spec, const GemmVariant& v) {
  // Five bits with zero points take the most registers to decode.
  const bool five = spec.weight.bits == 5 && spec.weight.zero_point == ZeroPoint::kInt;
  return five || has_many_warps(v) ? kMostSumTilesOfMany : kMostSumTiles;
}

std::optional<GemmVariant> fastest(const GemmSpec& spec, const Target& target,
                                   const WeightLayout& layout, const GemmVariant& wanted) {
  const int row_blocks = row_blocks_of_one(target, layout);
  GemmVariant v = wanted;
  v.tile_n = row_blocks * WeightLayout::kRowBlock;
  for (const Stage& stage : kStages) {
    v.stage_k = stage.columns;
    v.stage_chunks = stage.columns / WeightLayout::kChunkK;
    v.warps_n = stage.warps_n;
    v.warps_k = stage.warps_k;
    if (row_blocks % v.warps_n != 0 || v.tile_m > stage.most_tokens) continue;
    if (v.row_tiles() * v.token_tiles() > most_sum_tiles(spec, v)) continue;
    choose_stages(spec, target, layout, v);
    if (v.stages < stage.fewest) continue;
    if (!is_faster(spec, target, layout, stage, v.m_min)) return std::nullopt;
    return v;
  }
  return std::nullopt;
}

}  // namespace

std::optional<GemmVariant> bulk_variant(const GemmSpec& spec, const Target& target,
                                        const WeightLayout& layout, std::int64_t m_min,
                                        std::int64_t m_max) {
  GemmVariant v = variant_with(spec, layout, m_min, m_max);
  if (spec.path == Path::kHopper && spec.tile.warps_n) {
    const TileSpec& tile = spec.tile;
    v.warps_n = *tile.warps_n;
    const std::int64_t of_warp = ceil_div(row_blocks_of_one(target, layout), v.warps_n);
    v.tile_n = tile.n.value_or(static_cast<int>(of_warp) * v.warps_n * WeightLayout::kRowBlock);
    v.warps_k = tile.warps_k.value_or(std::max(1, 8 / v.warps_n));
    v.warps_m = tile.warps_m.value_or(1);
    v.stage_k = tile.k.value_or(WeightLayout::kChunkK * v.warps_k);
    v.stage_chunks = v.stage_k / WeightLayout::kChunkK;
    v.split_k = tile.split_k.value_or(1);
    // A stage without a whole chunk has no size; refuse_tile() says what is wrong with it.
    if (v.stage_chunks > 0) choose_stages(spec, target, layout, v);
    return v;
  }
  const bool serves = is_hopper(target) && m_max <= kMostTokens &&
                      spec.weight.zero_point != ZeroPoint::kFloat &&
                      (!spec.pre_scale || spec.act_order);
  const bool open = spec.path == Path::kAuto || spec.path == Path::kHopper;
  if (!serves || !open || sets_any(spec.tile)) return std::nullopt;
  if (m_min > kEight && wgmma_pairs_fill(spec, target, layout, m_min, m_max)) return std::nullopt;
  return fastest(spec, target, layout, v);
}

}  // namespace heddle
