// A pipeline stage of packed weights.
#pragma once

namespace heddle {

// Chunks of stage k of a row block: fewer at the end of K, where the last stage may be short.
template <int kChunks, int kStageChunks>
__device__ __forceinline__ int chunks_of_stage(int k) {
  const int left = kChunks - k * kStageChunks;
  return kChunks % kStageChunks == 0 || left > kStageChunks ? kStageChunks : left;
}

}  // namespace heddle
