// Columns of a stage of a stream, and how many stages and thread blocks fit on an SM.
#ifndef HEDDLE_GENERATOR_FAMILIES_STREAM_SHAPE_H_
#define HEDDLE_GENERATOR_FAMILIES_STREAM_SHAPE_H_

#include "generator/families/fields.h"
#include "heddle/inspect/plan.h"
#include "heddle/spec.h"
#include "heddle/target.h"
#include "stream/config.h"

namespace heddle {

inline constexpr int kTokenTile = 8;          // tokens of a matrix instruction
inline constexpr int kMostStreamTokens = 16;  // of the template
// Two warps for each of an SM's four schedulers.
inline constexpr int kUsualStreamWarps = 8;
// Tokens of 16 bits that each block reads for itself, through registers.
inline constexpr int kDirectTokens = 8;
inline constexpr int kSharers = 2;  // blocks that read tokens by bulk copies for each other

// Columns of a stage of all warps of a block, as a spec's tile.k counts them.
constexpr int stream_stage_columns(const device::StreamConfig& c) {
  return c.stage_chunks * device::Chunk::kColumns * c.warps_k;
}

// Settles stages and shared memory of a stream whose warps and shares of K and of the rows are
// settled; false if it does not fit. A block has an SM to itself (shared_bytes_of_own_sm).
bool fit_stream(const TileSpec& tile, const Target& target, device::StreamConfig& config);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_STREAM_SHAPE_H_
