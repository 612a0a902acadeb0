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
bool leaves_room(const device::StreamConfig& c, const Target& target) {
  return c.cluster <= kSharers && c.warps_k <= kMostStreamWarpsOfTwo &&
         c.shared_bytes() + kNextBytes + 2 * kReservedSharedBytes <= target.shared_per_sm;
}

}  // namespace

bool lets_next_start(const device::StreamConfig& stream, const Target& target) {
  const bool two = stream.tokens <= kNextFewTokens
                       ? stream.weights.chunks > kLongRow
                       : stream.tokens <= kNextMoreTokens && two_of_next_fit(stream.weights);
  return !two || leaves_room(stream, target);
}

}  // namespace heddle
