// Columns of a stage of a stream, and how many stages and thread blocks fit on an SM.
#ifndef HEDDLE_GENERATOR_FAMILIES_STREAM_SHAPE_H_
#define HEDDLE_GENERATOR_FAMILIES_STREAM_SHAPE_H_

#include "generator/families/fields.h"
#include "heddle/spec.h"
#include "heddle/target.h"
#include "stream/config.h"

namespace heddle {

inline constexpr int kTokenTile = 8;          // tokens of a matrix instruction
inline constexpr int kMostStreamTokens = 16;  // of the template
// Two for each part of an SM: with two blocks on an SM, as many registers as a thread can want.
inline constexpr int kUsualStreamWarps = 8;
// Of a block, where two blocks leave each thread enough registers.
inline constexpr int kMostStreamWarpsOfTwo = 10;
// Tokens that each block reads for itself.
inline constexpr int kDirectTokens = 8;
inline constexpr int kSharers = 2;  // blocks that read more than kDirectTokens for each other

// Of all warps of a block, which a spec's tile.k asks for.
constexpr int stream_stage_columns(const device::StreamConfig& c) {
  return c.stage_chunks * device::Chunk::kColumns * c.warps_k;
}

// Settles stages and shared memory of a stream whose warps and shares of K and of the rows are
// settled, and returns how many thread blocks an SM has; 0 if it does not fit. As many stages as
// the shared memory holds beside the tokens: of half an SM, so that the next kernel's blocks can
// start beside this one's, or of all of it. Smaller blocks get more than a third all the same: else
// two of the next kernel's would find room beside one of this, and other SMs none. Two blocks of a
// cluster of more than two would be put on one SM while others stay idle, so they get all of it in
// any case, as do many warps, whose registers fill an SM.
int fit_stream(const TileSpec& tile, const Target& target, device::StreamConfig& config);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_STREAM_SHAPE_H_
