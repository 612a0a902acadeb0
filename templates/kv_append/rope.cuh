// Rotary position embeddings of K and Q, in FP32, step by step as generator/kv/rope.cc does it on
// the host.
#pragma once

#include "kv_append/config.h"
#include "kv_append/place.cuh"
#include "primitives/bits.cuh"
#include "primitives/float.cuh"

namespace heddle {

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

// The rotation of a pair at a position, from the table if there is one. Positions behind the end of
// the table are not rotated.
template <class Config>
__device__ __forceinline__ Rotation rotation_of(const KvAppendParameters& p, u32 position,
                                                int pair) {
  if constexpr (Config::value.rope_table) {
    if (position >= static_cast<u32>(p.rotation_rows)) return {1.0f, 0.0f};
    const float* row = p.rotations + static_cast<i64>(position) * Config::value.rope_dim + pair;
    return {float_from_bits(load_global_4_l2(row)),
            float_from_bits(load_global_4_l2(row + Config::value.rope_dim / 2))};
  } else {
    const Rotation rotation = rope_rotation(Config::Frequencies::of(pair), position);
    constexpr u32 kFactor = static_cast<u32>(Config::value.rope_factor_bits);
    if constexpr (kFactor == 0x3f800000u) return rotation;
    const float factor = float_from_bits(kFactor);
    return {multiply(rotation.cosine, factor), multiply(rotation.sine, factor)};
  }
}

// What element `element` turns with in the pairing kNeox.
template <class Config>
__device__ __forceinline__ int neox_partner(int element) {
  constexpr int kPairs = Config::value.rope_dim / 2;
  return element < kPairs ? element + kPairs : element - kPairs;
}

}  // namespace heddle
