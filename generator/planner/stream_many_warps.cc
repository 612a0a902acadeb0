#include "generator/planner/stream_many_warps.h"

#include <algorithm>

#include "generator/planner/stage.h"
#include "generator/planner/stream_shape.h"
#include "generator/planner/stream_warps.h"
#include "generator/spec/weight_meaning.h"

namespace heddle {
namespace {

constexpr int kShortStageChunks = 4;  // the least of many warps
// Row blocks from which on many warps gain more than the next kernel loses, which starts no block
// beside theirs.
constexpr int kManyRowBlocks = 8;
// The same of integers of few bits with up to so many tokens, in rows whose shares for many warps
// are short: what is on its way must not keep the tokens waiting.
constexpr int kSomeRowBlocks = 4;
constexpr std::int64_t kFewTokens = 4;
constexpr int kShortRowBytes = 50 * 1024;

// To decode them takes longer than to read them.
bool has_few_bits(const WeightSpec& weight) {
  return is_integer_up_to(weight, weight.zero_point == ZeroPoint::kInt ? 2 : 3);
}

// Instructions set the pace of scales of 8 bits in small groups, and of few tokens times integers
// of few bits.
bool wants_many_warps(const GemmSpec& spec, const WeightLayout& layout, const GemmVariant& v) {
  if (spec.tile.warps_k || v.split_k > 1) return false;
  const std::int64_t row_blocks = ceil_div(layout.row_blocks, v.workers);
  if (has_small_scales(spec.weight) && layout.meta_group <= 32 && row_blocks >= kManyRowBlocks) {
    return true;
  }
  return has_few_bits(spec.weight) && layout.groups_per_chunk > 0 &&
         layout.chunks_per_row_block * layout.chunk_bytes <= kShortRowBytes &&
         row_blocks >= (v.m_max <= kFewTokens ? kSomeRowBlocks : kManyRowBlocks);
}

}  // namespace

bool take_many_warps(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                     GemmVariant& v) {
  if (!wants_many_warps(spec, layout, v)) return false;
  if (layout.chunks_per_row_block % kManyStreamWarps != 0) return false;
  const int of_warp = layout.chunks_per_row_block / kManyStreamWarps;
  const int longest = std::min(of_warp, kGoodCopyBytes / layout.chunk_bytes + 1);
  for (int chunks = longest; chunks >= kShortStageChunks; --chunks) {
    if (of_warp % chunks != 0) continue;
    GemmVariant many = v;
    many.warps_k = kManyStreamWarps;
    many.stage_chunks = chunks;
    many.stage_k = chunks * WeightLayout::kChunkK * kManyStreamWarps;
    if (!fit_stream(spec, target, layout, many)) continue;
    v = many;
    return true;
  }
  return false;
}

// Codes of one or two bits in so many row tiles of bulk that their sums leave few registers to
// decode with.
bool many_warps_beat_bulk(const GemmSpec& spec, const GemmVariant& stream,
                          const GemmVariant& bulk) {
  constexpr int kMostBits = 2, kFewestRowTiles = 11;
  return is_integer_up_to(spec.weight, kMostBits) && stream.warps_k == kManyStreamWarps &&
         bulk.row_tiles() >= kFewestRowTiles;
}

}  // namespace heddle
