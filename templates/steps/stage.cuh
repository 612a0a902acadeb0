// A pipeline stage of packed weights.
#pragma once

namespace heddle {

// Chunks of stage k of a row block that has `chunks`. kLastChunks: those of the last stage, where K
// leaves it fewer; else 0.
template <int kLastChunks, int kStageChunks>
__device__ __forceinline__ int chunks_of_stage(int k, int chunks) {
  const int left = chunks - k * kStageChunks;
  return kLastChunks == 0 || left > kStageChunks ? kStageChunks : left;
}

}  // namespace heddle
