// The range of the values that share a scale.
#pragma once

#include "kv_append/tensors.cuh"
#include "primitives/bits.cuh"
#include "primitives/float.cuh"
#include "primitives/half.cuh"
#include "primitives/memory.cuh"
#include "primitives/sync.cuh"

namespace heddle {

// The largest magnitudes on both sides of zero; a NaN if there is one. Without zero points only
// `positive` counts, which is that of both.
struct KvRange {
  float positive = 0.0f;
  float negative = 0.0f;

  template <class Tensor>
  __device__ __forceinline__ void add(float x) {
    if constexpr (Tensor::value.asymmetric) {
      positive = max_or_nan(positive, x);
      negative = max_or_nan(negative, -x);
    } else {
      positive = max_or_nan(positive, fabsf(x));
    }
  }

  // kCount pairs of 16-bit floats, two floats at a time.
  template <class Tensor, class Value, int kCount>
  __device__ __forceinline__ void add_pairs(const u32* pairs) {
    u32 most = pairs[0];
    u32 least = pairs[0];
#pragma unroll
    for (int i = 1; i < kCount; ++i) {
      most = Value::max2_or_nan(most, pairs[i]);
      least = Value::min2_or_nan(least, pairs[i]);
    }
    add<Tensor>(Value::low_to_float(most));
    add<Tensor>(Value::high_to_float(most));
    add<Tensor>(Value::low_to_float(least));
    add<Tensor>(Value::high_to_float(least));
  }

  template <class Tensor>
  __device__ __forceinline__ void add_range(const KvRange& other) {
    positive = max_or_nan(positive, other.positive);
    if constexpr (Tensor::value.asymmetric) negative = max_or_nan(negative, other.negative);
  }

  // Widens the range to that of kLanes neighbouring lanes.
  template <class Tensor, int kLanes>
  __device__ __forceinline__ void reduce() {
#pragma unroll
    for (int mask = 1; mask < kLanes; mask *= 2) take_larger<Tensor>(mask);
  }
  // Takes in the range of the lane whose number differs by `mask`.
  template <class Tensor>
  __device__ __forceinline__ void take_larger(int mask) {
    KvRange other = *this;
    other.exchange<Tensor>(mask);
    add_range<Tensor>(other);
  }
  template <class Tensor>
  __device__ __forceinline__ void exchange(int mask) {
    positive = shuffle_xor(positive, mask);
    if constexpr (Tensor::value.asymmetric) negative = shuffle_xor(negative, mask);
  }

  // give() widens two words of shared memory by the range, take() reads them: numbers that are not
  // negative order like their bits, NaN above all.
  __device__ __forceinline__ void give(u32 entry) const {
    shared_max(entry, bits_of_float(positive));
    shared_max(entry + 4, bits_of_float(negative));
  }
  __device__ __forceinline__ void take(u32 entry) {
    positive = float_from_bits(load_shared_4(entry));
    negative = float_from_bits(load_shared_4(entry + 4));
  }
};

// Ranges of 16 elements, each by itself, over every row that is added, and zero.
template <class Value>
struct RangesOfPairs {
  u32 most[8] = {};
  u32 least[8] = {};

  __device__ __forceinline__ void add(const u32 (&pairs)[8]) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      most[i] = Value::max2_or_nan(most[i], pairs[i]);
      least[i] = Value::min2_or_nan(least[i], pairs[i]);
    }
  }
  // Takes in the values of the lane whose number differs by `mask`.
  __device__ __forceinline__ void take_wider(int mask) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      most[i] = Value::max2_or_nan(most[i], shuffle_xor_bits(most[i], mask));
      least[i] = Value::min2_or_nan(least[i], shuffle_xor_bits(least[i], mask));
    }
  }
  template <class Tensor>
  __device__ __forceinline__ KvRange of(int element) const {
    const u32 both[2] = {most[element / 2], least[element / 2]};
    KvRange range;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      range.add<Tensor>(element % 2 == 0 ? Value::low_to_float(both[i])
                                         : Value::high_to_float(both[i]));
    }
    return range;
  }

 private:
  static __device__ __forceinline__ u32 shuffle_xor_bits(u32 value, int mask) {
    return bits_of_float(shuffle_xor(float_from_bits(value), mask));
  }
};

}  // namespace heddle
