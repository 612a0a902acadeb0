// What becomes of a stream's sums before they go to Y.
#pragma once

#include "steps/result.cuh"

namespace heddle {

// FP32 sums stay what they are. A lane has outputs of one token, and of one row block after the
// other.
struct StreamPlainValues {
  struct OfToken {};
  struct OfRows {};
  // Called after wait_for_predecessor(); `m`: tokens of the launch.
  __device__ __forceinline__ OfToken of_token(int /*token*/, int /*m*/) const { return {}; }
  __device__ __forceinline__ OfRows of_rows(int /*row*/) const { return {}; }
  // `half`: of the rows of an output, see Output::store().
  __device__ __forceinline__ Sums8 outputs(const Sums8& sum, OfRows, OfToken, int /*half*/) const {
    return sum;
  }
};

}  // namespace heddle
