// What all threads of a row make of a number of each, and the range of a row's values.
#pragma once

#include "primitives/bits.cuh"
#include "primitives/float.cuh"
#include "primitives/memory.cuh"
#include "primitives/sync.cuh"
#include "row_transform/config.h"

namespace heddle {

struct AddNumbers {
  __device__ __forceinline__ float operator()(float a, float b) const { return a + b; }
};
struct LargerOrNan {
  __device__ __forceinline__ float operator()(float a, float b) const { return max_or_nan(a, b); }
};

// Combines a number of each thread of a row; zero must change nothing. All threads of the block
// call it together. The result is the same bits in every launch: lanes of a warp are combined in a
// butterfly, warps in their order.
template <class Config>
class RowReduce {
 public:
  __device__ __forceinline__ explicit RowReduce(u32 shared) : place_(shared), other_(shared) {
    other_ += Config::value.sums_bytes();
  }

  template <class Combine>
  __device__ __forceinline__ float operator()(float x, int lane, const Combine& combine) {
    constexpr int kLanes = Config::value.lanes;
#pragma unroll
    for (int mask = 1; mask < min_of(kLanes, 32); mask *= 2) x = combine(x, shuffle_xor(x, mask));
    if constexpr (kLanes > 32) x = combine_warps(x, lane, combine);
    return x;
  }

 private:
  template <class Combine>
  __device__ __forceinline__ float combine_warps(float x, int lane, const Combine& combine) {
    constexpr int kWarps = Config::value.warps_of_row();
    if (lane % 32 == 0) store_shared_float(place_ + 4 * (lane / 32), x);
    block_barrier();
    float all[4] = {};
#pragma unroll
    for (int i = 0; i < kWarps; i += 4) {
      const u32x4 four = load_shared_16(place_ + 4 * i);
      all[0] = combine(all[0], float_from_bits(four.x));
      if (i + 1 < kWarps) all[1] = combine(all[1], float_from_bits(four.y));
      if (i + 2 < kWarps) all[2] = combine(all[2], float_from_bits(four.z));
      if (i + 3 < kWarps) all[3] = combine(all[3], float_from_bits(four.w));
    }
    // The next reduction overwrites what the one before this has read, ahead of this one's barrier.
    const u32 place = place_;
    place_ = other_;
    other_ = place;
    return combine(combine(all[0], all[1]), combine(all[2], all[3]));
  }

  u32 place_;
  u32 other_;
};

// The largest magnitude of values, a NaN if one is; with zero points those on both sides of zero.
template <bool kAsymmetric>
struct ValueRange {
  float positive = 0.0f;
  float negative = 0.0f;

  __device__ __forceinline__ void add(const float (&v)[kVectorElements]) {
#pragma unroll
    for (int i = 0; i < kVectorElements; ++i) {
      positive = max_or_nan(positive, kAsymmetric ? v[i] : fabsf(v[i]));
      if constexpr (kAsymmetric) negative = max_or_nan(negative, -v[i]);
    }
  }
  // Combines the values of kLanes neighbouring lanes.
  template <int kLanes>
  __device__ __forceinline__ void reduce_lanes() {
#pragma unroll
    for (int mask = 1; mask < kLanes; mask *= 2) {
      positive = max_or_nan(positive, shuffle_xor(positive, mask));
      if constexpr (kAsymmetric) negative = max_or_nan(negative, shuffle_xor(negative, mask));
    }
  }
  // Combines the values of the threads of a row.
  template <class Config>
  __device__ __forceinline__ void reduce_row(int lane, RowReduce<Config>& reduce) {
    positive = reduce(positive, lane, LargerOrNan());
    if constexpr (kAsymmetric) negative = reduce(negative, lane, LargerOrNan());
  }
};

}  // namespace heddle
