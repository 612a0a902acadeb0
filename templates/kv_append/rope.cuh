// Rotary position embeddings of K, in FP32, step by step as generator/kv/rope.cc does it on the
// host.
//
// A block first puts the cosines and sines of its tokens into shared memory, where all heads find
// them. 16 of them and 16 empty bytes take turns, so that lanes which read 16 apart meet no other's
// bank.
#pragma once

#include "kv_append/place.cuh"
#include "primitives/bits.cuh"
#include "primitives/float.cuh"

namespace heddle {

enum class RopePairing { kNone, kNeox, kGptj };

template <class Config>
struct Rotations {
  static constexpr int kPairs = Config::kRopeDim / 2;
  static constexpr int kListBytes = (kPairs + 15) / 16 * 80;
  static constexpr int kTokenBytes = 2 * kListBytes;
  static constexpr int kBytes =
      Config::kRope == RopePairing::kNone ? 0 : Config::kTokens * kTokenBytes;

  u32 shared;

  __device__ __forceinline__ u32 cosine(int token, int pair) const {
    return shared + token * kTokenBytes + pair / 16 * 80 + pair % 16 * 4;
  }
  __device__ __forceinline__ u32 sine(int token, int pair) const {
    return cosine(token, pair) + kListBytes;
  }
};

struct Rotation {
  float cosine, sine;
};

// `frequency`: 2^64 turns from one position to the next.
__device__ __forceinline__ Rotation rope_rotation(u64 frequency, u32 position) {
  const u32 turn = static_cast<u32>(frequency * position >> 32);
  const u32 quarter = (turn + (1u << 29)) >> 30;
  const int rest = static_cast<int>(turn - (quarter << 30));
  const float x = multiply(static_cast<float>(rest), 0x1.921fb6p-30f);
  const float z = multiply(x, x);
  // Interpolated at Chebyshev nodes on an eighth of a turn to both sides.
  const float odd =
      multiply_add(multiply_add(-0x1.9ac9bp-13f, z, 0x1.110c28p-7f), z, -0x1.555552p-3f);
  const float even =
      multiply_add(multiply_add(0x1.9bd89cp-16f, z, -0x1.6c12d2p-10f), z, 0x1.555554p-5f);
  const float s = multiply_add(multiply(x, z), odd, x);
  const float c = multiply_add(z, multiply_add(z, even, -0.5f), 1.0f);
  const float cosine = (quarter & 1) != 0 ? s : c;
  const float sine = (quarter & 1) != 0 ? c : s;
  return {((quarter + 1) & 2) != 0 ? -cosine : cosine, (quarter & 2) != 0 ? -sine : sine};
}

// Of a pair at a position, from the table if there is one; of positions behind it none.
template <class Config>
__device__ __forceinline__ Rotation rotation_of(const KvAppendParameters& p, u32 position,
                                                int pair) {
  if constexpr (Config::kRopeTable) {
    if (position >= static_cast<u32>(p.rotation_rows)) return {1.0f, 0.0f};
    const float* row = p.rotations + static_cast<i64>(position) * Config::kRopeDim + pair;
    return {float_from_bits(load_global_4(row)),
            float_from_bits(load_global_4(row + Config::kRopeDim / 2))};
  } else {
    return rope_rotation(Config::Frequencies::of(pair), position);
  }
}

// All threads of the block, of the first `tokens` tokens; `positions`: theirs in shared memory.
template <class Config>
__device__ __forceinline__ void fill_rotations(const KvAppendParameters& p, u32 positions,
                                               const Rotations<Config>& rotations, int tokens) {
  constexpr int kPairs = Rotations<Config>::kPairs;
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < tokens * kPairs; i += Config::kThreads) {
    const int token = i / kPairs;
    const int pair = i % kPairs;
    const u32 position = load_shared_4(positions + token * 4);
    const Rotation rotation = rotation_of<Config>(p, position, pair);
    store_shared_float(rotations.cosine(token, pair), rotation.cosine);
    store_shared_float(rotations.sine(token, pair), rotation.sine);
  }
}

// What element `element` turns with in the pairing kNeox.
template <class Config>
__device__ __forceinline__ int neox_partner(int element) {
  constexpr int kPairs = Rotations<Config>::kPairs;
  return element < kPairs ? element + kPairs : element - kPairs;
}

// Elements `first` to `first` + 3 of the cosines and sines.
struct FourRotations {
  float cosines[4];
  float sines[4];

  template <class Config>
  __device__ __forceinline__ void load(const Rotations<Config>& rotations, int token, int pair) {
    const u32x4 c = load_shared_16(rotations.cosine(token, pair));
    const u32x4 s = load_shared_16(rotations.sine(token, pair));
    cosines[0] = float_from_bits(c.x), cosines[1] = float_from_bits(c.y);
    cosines[2] = float_from_bits(c.z), cosines[3] = float_from_bits(c.w);
    sines[0] = float_from_bits(s.x), sines[1] = float_from_bits(s.y);
    sines[2] = float_from_bits(s.z), sines[3] = float_from_bits(s.w);
  }
};

// 16 elements of kRows rows of a token, from `element` on, in place; `partners`: with kNeox what
// they turn with. rope.dim and half of it are whole runs of eight elements.
template <class Config, int kRows>
__device__ __forceinline__ void rotate_rows(const Rotations<Config>& rotations, int token,
                                            int element, const float (&partners)[kRows][16],
                                            float (&x)[kRows][16]) {
  constexpr int kPairs = Rotations<Config>::kPairs;
  constexpr bool kNeox = Config::kRope == RopePairing::kNeox;
#pragma unroll
  for (int half = 0; half < 16; half += 8) {
    const int first = element + half;
    if (first >= Config::kRopeDim) continue;
    FourRotations four;
    if constexpr (kNeox) {
      const u32 flip = first < kPairs ? 0x80000000u : 0;
      const int pair = first < kPairs ? first : first - kPairs;
#pragma unroll
      for (int i = 0; i < 8; i += 4) {
        four.load(rotations, token, pair + i);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const float sine = float_from_bits(bits_of_float(four.sines[j]) ^ flip);
          const int e = half + i + j;
#pragma unroll
          for (int r = 0; r < kRows; ++r) {
            x[r][e] = multiply_add(x[r][e], four.cosines[j], multiply(partners[r][e], sine));
          }
        }
      }
    } else {
      four.load(rotations, token, first / 2);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          const float a = x[r][half + 2 * j];
          const float b = x[r][half + 2 * j + 1];
          x[r][half + 2 * j] = multiply_add(a, four.cosines[j], multiply(b, -four.sines[j]));
          x[r][half + 2 * j + 1] = multiply_add(b, four.cosines[j], multiply(a, four.sines[j]));
        }
      }
    }
  }
}

}  // namespace heddle
