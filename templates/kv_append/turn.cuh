// Which elements of a row a lane holds, and its rotations of them: in registers, for all heads of
// its token.
#pragma once

#include "kv_append/rope.cuh"
#include "kv_append/rows.cuh"

namespace heddle {

// Two runs of eight elements: 16 neighbours, but in the first kSpan elements of the row one run of
// each half, so that lanes beside each other read 16 bytes beside each other. With kNeox and what
// turns as the span, a lane's runs turn with each other.
template <int kSpan>
__device__ __forceinline__ bool in_span(int lane) {
  return 16 * lane < kSpan;
}
template <int kSpan>
__device__ __forceinline__ int first_of_run(int lane, int run) {
  return in_span<kSpan>(lane) ? 8 * lane + run * (kSpan / 2) : 16 * lane + 8 * run;
}

template <class Config, int kSpan>
struct Turn {
  static constexpr int kPairs = Config::value.rope_dim / 2;
  static constexpr bool kNeox = Config::value.rope == RopePairing::kNeox;
  static constexpr bool kOwnPairs = !kNeox || kSpan == Config::value.rope_dim;
  static constexpr bool kAll = Config::value.rope_dim == Config::value.head_dim;
  // Whether lanes lie behind the end of the row, where there are no rotations.
  static constexpr bool kLanesBehind = 16 * Config::value.lanes != Config::value.head_dim;

  // Rotations of the pairs that a lane holds, or of those that its elements belong to.
  float cosines[kOwnPairs ? 8 : 16];
  float sines[kOwnPairs ? 8 : 16];

  static __device__ __forceinline__ bool turns(int element) {
    return kAll || element < Config::value.rope_dim;
  }

  __device__ __forceinline__ void find(const KvAppendParameters& p, int position, int lane) {
    if constexpr (kNeox && kOwnPairs) {
      find_run<8>(p, position, 8 * lane, 0);
    } else {
#pragma unroll
      for (int run = 0; run < 2; ++run) {
        const int first = first_of_run<kSpan>(lane, run);
        if constexpr (kNeox) {
          find_run<8>(p, position, first < kPairs ? first : first - kPairs, 8 * run);
        } else {
          find_run<4>(p, position, first / 2, 4 * run);
        }
      }
    }
  }

  // Turns elements in place; `partners`: without kOwnPairs what the elements turn with.
  __device__ __forceinline__ void apply(int lane, const float (&partners)[16],
                                        float (&x)[16]) const {
    if constexpr (kNeox && kOwnPairs) {
      if (!turns(16 * lane)) return;
#pragma unroll
      for (int i = 0; i < 8; ++i) turn_pair(i, x[i], x[i + 8]);
    } else {
#pragma unroll
      for (int run = 0; run < 2; ++run) {
        const int first = first_of_run<kSpan>(lane, run);
        if (!turns(first)) continue;
        if constexpr (kNeox) {
          const u32 flip = first < kPairs ? 0x80000000u : 0;
#pragma unroll
          for (int i = 8 * run; i < 8 * run + 8; ++i) {
            const float sine = float_from_bits(bits_of_float(sines[i]) ^ flip);
            x[i] = multiply_add(x[i], cosines[i], multiply(partners[i], sine));
          }
        } else {
#pragma unroll
          for (int i = 4 * run; i < 4 * run + 4; ++i) turn_pair(i, x[2 * i], x[2 * i + 1]);
        }
      }
    }
  }

 private:
  template <int kRun>
  __device__ __forceinline__ void find_run(const KvAppendParameters& p, int position, int pair,
                                           int to) {
    const bool inside = (kAll && !kLanesBehind) || pair + kRun <= kPairs;
#pragma unroll
    for (int i = 0; i < kRun; ++i) {
      const Rotation r = inside ? rotation_of<Config>(p, static_cast<u32>(position), pair + i)
                                : Rotation{1.0f, 0.0f};
      cosines[to + i] = r.cosine;
      sines[to + i] = r.sine;
    }
  }
  __device__ __forceinline__ void turn_pair(int i, float& first, float& second) const {
    const float a = first;
    const float b = second;
    first = multiply_add(a, cosines[i], multiply(b, -sines[i]));
    second = multiply_add(b, cosines[i], multiply(a, sines[i]));
  }
};

}  // namespace heddle
