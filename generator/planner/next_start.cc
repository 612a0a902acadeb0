#include "generator/planner/next_start.h"

#include "generator/planner/stage.h"
#include "generator/planner/stream_shape.h"

namespace heddle {
namespace {

// Rows of more chunks than this are followed by kernels of shorter ones, two blocks of which fit on
// an SM with up to kFewTokens tokens; they take kNextBytes at most.
constexpr int kLongRow = 64;
constexpr int kFewTokens = 4;
constexpr int kNextBytes = 106 * 1024;
// With up to kMoreTokens two blocks of rows of so many columns fit; the next kernel is taken to
// have a column for each row of this one.
constexpr int kMoreTokens = 8;
constexpr int kNextColumns = 3072;

bool two_fit(const WeightLayout& layout) {
  return layout.row_blocks * WeightLayout::kRowBlock <= kNextColumns;
}

// Whether every SM has room for a block of the next kernel beside this one's.
bool leaves_room(const GemmVariant& v, const Target& target) {
  return v.cluster <= kSharers && v.warps_k <= kMostStreamWarpsOfTwo &&
         v.shared_bytes + kNextBytes + 2 * kReservedSharedBytes <= target.shared_per_sm;
}

}  // namespace

bool lets_next_start(const GemmVariant& stream, const WeightLayout& layout, const Target& target) {
  const bool two = stream.m_max <= kFewTokens ? layout.chunks_per_row_block > kLongRow
                                              : stream.m_max <= kMoreTokens && two_fit(layout);
  return !two || leaves_room(stream, target);
}

int most_tokens_alone(const WeightLayout& layout) {
  return two_fit(layout) ? kMoreTokens : kFewTokens;
}

}  // namespace heddle
