// How the warps of a stream share the chunks of a row block, and how many of them are a stage.
#ifndef HEDDLE_GENERATOR_FAMILIES_STREAM_WARPS_H_
#define HEDDLE_GENERATOR_FAMILIES_STREAM_WARPS_H_

#include "heddle/inspect/plan.h"

namespace heddle {

// Twice as many hide what each waits for. They fill an SM.
inline constexpr int kManyStreamWarps = 16;
// Chunks of a warp's stage, at most: they are unrolled.
inline constexpr int kMostStreamStageChunks = 8;
// Copies of this size reach the full rate of the memory, smaller ones do not.
inline constexpr int kGoodCopyBytes = 4224;

struct WarpStages {
  int warps, chunks;  // of a stage of each
};

// Warps for a block's part of K, which is cut in `split` parts: warps with equal shares in whole
// stages if there are any. A tile's warps_k is honoured.
WarpStages choose_stream_warps(const TileSpec& tile, const WeightLayout& layout, int split);

// Chunks of a stage for so many warps: the nearest to a good copy that suits their shares.
int stream_stage_chunks(const WeightLayout& layout, int split, int warps);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_STREAM_WARPS_H_
