// The scales of a block of tokens, one for each channel, in shared memory: 1 / scale and the code
// of zero beside the number that rounds, two words each; elsewhere the channels' ranges in each
// warp's tokens. KvAppendConfig has the places.
#pragma once

#include "kv_append/encode.cuh"

namespace heddle {

template <class Tensor>
struct ChannelScales {
  using Encode = KvEncode<Tensor>;
  static constexpr int kSides = Tensor::value.range_sides();

  u32 shared;
  u32 ranges;  // the place of those
  int channels;

  // Whether all values of the block have codes without a clamp: a word, 0 if so.
  __device__ __forceinline__ u32 flag() const { return shared; }
  __device__ __forceinline__ void clear() const {
    if (threadIdx.x == 0) store_shared_4(flag(), 0);
  }
  __device__ __forceinline__ bool all_fit() const { return load_shared_4(flag()) == 0; }

  __device__ __forceinline__ u32 entry(int channel) const {
    return shared + 16 + channel / 16 * kScaleRunBytes + channel % 16 * 8;
  }
  __device__ __forceinline__ u32 side(int warp, int side, int channel) const {
    const int row = (warp * kSides + side) * (channels / 16) + channel / 16;
    return ranges + row * kRangeRunBytes + channel % 16 * 4;
  }

  // The ranges of a thread's 16 channels, eight from `low` and eight from `high` on, to those of
  // its warp. Lanes that are kLanes apart have the same ones.
  template <int kLanes, class Value>
  __device__ __forceinline__ void add(RangesOfPairs<Value>& own, int low, int high,
                                      bool has_values) const {
    const int warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
    for (int mask = kLanes; mask < 32; mask *= 2) own.take_wider(mask);
    if (!has_values || static_cast<int>(threadIdx.x) % 32 >= kLanes) return;
#pragma unroll
    for (int i = 0; i < 16; i += 4) {
      const int channel = i < 8 ? low + i : high + i - 8;
      const KvRange four[4] = {own.template of<Tensor>(i), own.template of<Tensor>(i + 1),
                               own.template of<Tensor>(i + 2), own.template of<Tensor>(i + 3)};
      store_shared_16(side(warp, 0, channel), pack_floats(four[0].positive, four[1].positive,
                                                          four[2].positive, four[3].positive));
      if constexpr (Tensor::value.asymmetric) {
        store_shared_16(side(warp, 1, channel), pack_floats(four[0].negative, four[1].negative,
                                                            four[2].negative, four[3].negative));
      }
    }
  }

  // Finds the scales, and stores them at `to`, too.
  template <int kThreads>
  __device__ __forceinline__ void find(u8* to) const {
    constexpr int kStep = Tensor::value.entry_bytes();
    for (int i = static_cast<int>(threadIdx.x); i < channels; i += kThreads) {
      KvRange range;
#pragma unroll
      for (int warp = 0; warp < kThreads / 32; ++warp) {
        range.positive =
            max_or_nan(range.positive, float_from_bits(load_shared_4(side(warp, 0, i))));
        if constexpr (Tensor::value.asymmetric)
          range.negative =
              max_or_nan(range.negative, float_from_bits(load_shared_4(side(warp, 1, i))));
      }
      const KvScale scale = Encode::scale_of(range, 1.0f);
      Encode::store_scale(to + i * kStep, scale);
      store_shared_float(entry(i), scale.inverse);
      store_shared_float(entry(i) + 4, kMagic + scale.zero);
      if (!Encode::fits(range, scale)) shared_max(flag(), 1);
    }
  }

  struct Entry {
    float inverse;
    float rounding;
  };
  // Loads the entries of a thread's 16 channels.
  __device__ __forceinline__ void load(int low, int high, Entry (&entries)[16]) const {
#pragma unroll
    for (int i = 0; i < 16; i += 2) {
      const u32x4 two = load_shared_16(entry(i < 8 ? low + i : high + i - 8));
      entries[i] = {float_from_bits(two.x), float_from_bits(two.y)};
      entries[i + 1] = {float_from_bits(two.z), float_from_bits(two.w)};
    }
  }

  template <bool kFit>
  static __device__ __forceinline__ void codes(const float (&x)[16], const Entry (&entries)[16],
                                               u32 (&words)[Encode::kWords]) {
    constexpr int kCodes = 32 / Tensor::value.bits;
#pragma unroll
    for (int w = 0; w < Encode::kWords; ++w) {
      float scaled[kCodes];
#pragma unroll
      for (int i = 0; i < kCodes; ++i) {
        scaled[i] = rounded<kFit>(x[w * kCodes + i], entries[w * kCodes + i]);
      }
      words[w] = Encode::template pack<kCodes>(scaled);
    }
  }

 private:
  // What Encode::pack() takes.
  template <bool kFit>
  static __device__ __forceinline__ float rounded(float x, const Entry& of) {
    if constexpr (Tensor::value.is_float) {
      return kFit || of.inverse != 0.0f ? multiply(x, of.inverse) : 0.0f;
    } else {
      // One rounding: to the nearest integer, ties to even.
      const float sum = multiply_add(x, of.inverse, of.rounding);
      if constexpr (kFit) return sum;
      return of.inverse == 0.0f ? of.rounding : Encode::limited(sum - kMagic) + kMagic;
    }
  }
};

}  // namespace heddle
