#include "generator/families/stream/next_start.h"

#include "generator/families/next_start.h"
#include "generator/families/shared_memory.h"
#include "generator/families/stream/shape.h"

namespace heddle {
namespace {

// Rows of more chunks than this are followed by kernels of shorter ones, two blocks of which fit on
// an SM with up to kNextFewTokens tokens; they take kNextBytes at most.
constexpr int kLongRow = 64;
constexpr int kNextBytes = 106 * 1024;

// Whether every SM has room for a block of the next kernel beside this one's.
bool leaves_room(const GemmVariant& v, const Target& target) {
  return v.cluster <= kSharers && v.warps_k <= kMostStreamWarpsOfTwo &&
         v.shared_bytes + kNextBytes + 2 * kReservedSharedBytes <= target.shared_per_sm;
}

}  // namespace

bool lets_next_start(const GemmVariant& stream, const WeightLayout& layout, const Target& target) {
  const bool two = stream.m_max <= kNextFewTokens
                       ? layout.chunks_per_row_block > kLongRow
                       : stream.m_max <= kNextMoreTokens && two_of_next_fit(layout);
  return !two || leaves_room(stream, target);
}

}  // namespace heddle
