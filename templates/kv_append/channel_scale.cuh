// The scales of a block of tokens, one for each channel, in shared memory: first the channels'
// ranges, two words each, then 1 / scale and the code of zero in their place. 16 channels and 16
// empty bytes take turns, so that lanes which read 16 channels apart meet no other's bank.
#pragma once

#include "kv_append/encode.cuh"

namespace heddle {

template <class Tensor>
struct ChannelScales {
  using Encode = KvEncode<Tensor>;

  u32 shared;
  int channels;

  // Bytes of 16 channels.
  static constexpr int kBytes = 144;

  __device__ __forceinline__ u32 entry(int channel) const {
    return shared + channel / 16 * kBytes + channel % 16 * 8;
  }

  __device__ __forceinline__ void clear(int threads) const {
    for (int i = static_cast<int>(threadIdx.x); i < channels; i += threads) {
      store_shared_4(entry(i), 0);
      store_shared_4(entry(i) + 4, 0);
    }
  }

  // The ranges of a thread's 16 channels, from `element` on, to those of all. Lanes that are
  // kLanes apart have the same ones.
  template <int kLanes>
  __device__ __forceinline__ void add(KvRange (&ranges)[16], int element, bool has_values) const {
    const bool leads = has_values && static_cast<int>(threadIdx.x) % 32 < kLanes;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
#pragma unroll
      for (int mask = kLanes; mask < 32; mask *= 2) ranges[i].template take_larger<Tensor>(mask);
      if (leads) ranges[i].give(entry(element + i));
    }
  }

  // Also to where they are stored.
  __device__ __forceinline__ void find(u8* to, int threads) const {
    constexpr int kStep = Tensor::kScaleBytes * (Tensor::kAsymmetric ? 2 : 1);
    for (int i = static_cast<int>(threadIdx.x); i < channels; i += threads) {
      KvRange range;
      range.take(entry(i));
      const KvScale scale = Encode::scale_of(range, 1.0f);
      Encode::store_scale(to + i * kStep, scale);
      store_shared_float(entry(i), scale.inverse);
      store_shared_float(entry(i) + 4, scale.zero);
    }
  }

  struct Entry {
    u32 inverse;
    u32 zero;
  };
  // Those of 16 neighbouring channels, `element` the first.
  __device__ __forceinline__ void load(int element, Entry (&entries)[16]) const {
#pragma unroll
    for (int i = 0; i < 16; i += 2) {
      const u32x4 two = load_shared_16(entry(element + i));
      entries[i] = {two.x, two.y};
      entries[i + 1] = {two.z, two.w};
    }
  }

  static __device__ __forceinline__ void codes(const float (&x)[16], const Entry (&entries)[16],
                                               u32 (&words)[Encode::kWords]) {
#pragma unroll
    for (int w = 0; w < Encode::kWords; ++w) words[w] = 0;
#pragma unroll
    for (int i = 0; i < 16; i += 2) {
      const u32 pair = code_pair(x[i], entries[i], x[i + 1], entries[i + 1]);
      words[i * Tensor::kBits / 32] |= pair << (i * Tensor::kBits % 32);
    }
  }

 private:
  static __device__ __forceinline__ u32 code_pair(float low, Entry of_low, float high,
                                                  Entry of_high) {
    if constexpr (Tensor::kFloatCodes) {
      return Encode::float_pair(scaled(low, of_low), scaled(high, of_high));
    } else {
      return integer(low, of_low) | integer(high, of_high) << Tensor::kBits;
    }
  }
  static __device__ __forceinline__ float scaled(float x, Entry of) {
    return of.inverse == 0 ? 0.0f : multiply(x, float_from_bits(of.inverse));
  }
  // One rounding: to the nearest integer, ties to even.
  static __device__ __forceinline__ u32 integer(float x, Entry of) {
    const float zero = float_from_bits(of.zero);
    const float rounded = multiply_add(x, float_from_bits(of.inverse), kMagic + zero) - kMagic;
    const float code = of.inverse == 0 ? zero : Encode::limited(rounded);
    return bits_of_float(code + kMagic) - kMagicBits;
  }
};

}  // namespace heddle
