// O^T += V^T P^T of a warp: the products of V's codes, and apart from them what zero points add.
#pragma once

#include "attention/query.cuh"
#include "primitives/scale.cuh"

namespace heddle {

// Reads rows and cache (Val) of S.
template <class S>
struct AttentionValues {
  using Val = typename S::Val;
  using Codes = typename Val::Codes;
  using Value = typename Codes::Value;

  static_assert(Val::kChunks % Val::kGroups == 0, "groups are whole chunks of 16 bytes");

  float out[S::kRowTiles][S::kDimTiles][4];
  // What zero points add to every element of a group: zero points times P, of rows 2t and 2t+1,
  // twice.
  float zero_sums[S::kRowTiles][Val::kGroups][4];

  __device__ __forceinline__ AttentionValues() {
#pragma unroll
    for (int n = 0; n < S::kRowTiles; ++n) {
#pragma unroll
      for (int i = 0; i < 4 * S::kDimTiles; ++i) out[n][i / 4][i % 4] = 0.0f;
#pragma unroll
      for (int i = 0; i < 4 * Val::kGroups; ++i) zero_sums[n][i / 4][i % 4] = 0.0f;
    }
  }

  // The elements of a group: a tile of 16 at a time, whose rows g and g + 8 are the two elements
  // that dim() names.
  __device__ __forceinline__ void add(u32 tile, u32 entries, const u32 (&p)[S::kRowTiles][4],
                                      int group, int g, int t, int lane) {
    constexpr int kDims = Codes::kDims;
    if constexpr (kDims == 1) {
      const u32 first = tile + Val::tile_offset(lane % 16, 0);
#pragma unroll
      for (int m = 0; m < S::kDimTiles; ++m) {
#pragma unroll
        for (int k16 = 0; k16 < 2; ++k16) {
          u32 v[4];  // chunk 2m: two octets, chunk 2m + 1: the same
          ldmatrix_x4_trans(
              v, Val::chunk_offset(first, 2 * m + lane / 16) + 16 * k16 * (16 * Val::kStride));
          const u32 a[4] = {v[0], v[2], v[1], v[3]};
          multiply(m, k16, a, p);
        }
      }
    } else {
      constexpr int kChunkTiles = kDims / 2;
      constexpr int kGroupChunks = Val::kChunks / Val::kGroups;
      const u32 first = tile + Val::tile_offset(lane, 0);
      u32 scales[4];
#pragma unroll
      for (int chunk = group * kGroupChunks; chunk < (group + 1) * kGroupChunks; ++chunk) {
        u32 v[4];  // the four octets
        ldmatrix_x4_trans(v, Val::chunk_offset(first, chunk));
        u32 pairs[4][kDims];
#pragma unroll
        for (int octet = 0; octet < 4; ++octet) Codes::values(v[octet], pairs[octet]);
        if constexpr (Val::kScalesCodes) {
          if (chunk % 2 == 0) load_chunk_scales(entries, chunk, scales, g, t);
#pragma unroll
          for (int octet = 0; octet < 4; ++octet) {
            const u32 codes = scales[octet];
            const u32 scale = fp16_from_e4m3(chunk % 2 == 0 ? codes : shr<16>(codes));
#pragma unroll
            for (int i = 0; i < kDims; ++i) pairs[octet][i] = Fp16::mul2(pairs[octet][i], scale);
          }
        }
#pragma unroll
        for (int m = 0; m < kChunkTiles; ++m) {
#pragma unroll
          for (int k16 = 0; k16 < 2; ++k16) {
            const u32 a[4] = {pairs[2 * k16][2 * m], pairs[2 * k16][2 * m + 1],
                              pairs[2 * k16 + 1][2 * m], pairs[2 * k16 + 1][2 * m + 1]};
            multiply(chunk * kChunkTiles + m, k16, a, p);
          }
        }
      }
    }
  }
  // Multiplies the code that means zero, as 16 equal rows, with the same rounded P by the tensor
  // core. A lane has zero points of tokens 2t and 2t+1 of each octet.
  __device__ __forceinline__ void add_zero_points(u32 entries, const u32 (&p)[S::kRowTiles][4],
                                                  const TensorScale& tensor, int group, int t) {
    if constexpr (Codes::kInteger) {
      u32 zeros[4];
#pragma unroll
      for (int octet = 0; octet < 4; ++octet) {
        float low = Val::kZeros ? tensor.zero : Codes::kMiddle;
        float high = low;
        if constexpr (Val::kZeros && Val::kScalesSums) {
          const u32 at = entries + (8 * octet + 2 * t) * Val::kEntryStride +
                         group * Val::kScaleBytes + Val::Scale::kBytes;
          low = Val::Scale::load_shared(at);
          high = Val::Scale::load_shared(at + Val::kEntryStride);
        }
        zeros[octet] = Fp16::from_floats(low, high);
      }
#pragma unroll
      for (int k16 = 0; k16 < 2; ++k16) {
        const u32 a[4] = {zeros[2 * k16], zeros[2 * k16], zeros[2 * k16 + 1], zeros[2 * k16 + 1]};
#pragma unroll
        for (int n = 0; n < S::kRowTiles; ++n)
          MmaAmpere::mma16816(Value{}, zero_sums[n][group], a, p[n][2 * k16], p[n][2 * k16 + 1]);
      }
    }
  }

  // Rows 2t and 2t+1 of row tile n.
  __device__ __forceinline__ void scale(int n, const float (&factor)[2]) {
#pragma unroll
    for (int i = 0; i < 4 * S::kDimTiles; ++i) out[n][i / 4][i % 4] *= factor[i % 2];
#pragma unroll
    for (int i = 0; i < 4 * Val::kGroups; ++i) zero_sums[n][i / 4][i % 4] *= factor[i % 2];
  }

  // Row tile n, tile m, register v, without what P was divided by.
  __device__ __forceinline__ float value(int n, int m, int v) const {
    constexpr int kChunkTiles = Codes::kDims > 1 ? Codes::kDims / 2 : 1;
    constexpr int kGroupTiles = S::kDimTiles / Val::kGroups;
    float x = out[n][m][v];
    if constexpr (Codes::kOddHaveEven) {
      if (v >= 2) x -= out[n][m][v - 2];
    }
    if constexpr (Codes::kExponent != 0) {
      x = power_of_two<-Codes::kExponent>(x) * Codes::element_factor(2 * (m % kChunkTiles) + v / 2);
    }
    if constexpr (Codes::kInteger) x -= zero_sums[n][m / kGroupTiles][v % 2];
    return x;
  }
  // Elements that follow each other from dim(m, upper, g) on, upper first and then m, m a multiple
  // of two: as many as a store takes.
  static constexpr int kNeighbours = Codes::kDims < 4 ? Codes::kDims : 4;
  // The element of head_dim in row g + 8 * upper of tile m of `out`.
  static __device__ __forceinline__ int dim(int m, int upper, int g) {
    constexpr int kDims = Codes::kDims;
    if constexpr (kDims == 1) {
      return 16 * m + 8 * upper + g;
    } else {
      constexpr int kChunkTiles = kDims / 2;
      return 8 * kDims * (m / kChunkTiles) + kDims * g + 2 * (m % kChunkTiles) + upper;
    }
  }

 private:
  // Loads the e4m3 scales of an octet's tokens 2t and 2t+1, in chunk `chunk` and in the next one,
  // for the groups of 16 that the lane has elements of.
  static __device__ __forceinline__ void load_chunk_scales(u32 entries, int chunk, u32 (&scales)[4],
                                                           int g, int t) {
    const u32 selector = 0x6240 + g / 4 * 0x1111;
#pragma unroll
    for (int octet = 0; octet < 4; ++octet) {
      const u32 at = entries + (8 * octet + 2 * t) * Val::kEntryStride + 2 * chunk;
      scales[octet] = prmt_by(load_shared_4(at), load_shared_4(at + Val::kEntryStride), selector);
    }
  }
  __device__ __forceinline__ void multiply(int m, int k16, const u32 (&a)[4],
                                           const u32 (&p)[S::kRowTiles][4]) {
#pragma unroll
    for (int n = 0; n < S::kRowTiles; ++n)
      MmaAmpere::mma16816(Value{}, out[n][m], a, p[n][2 * k16], p[n][2 * k16 + 1]);
  }
};

}  // namespace heddle
