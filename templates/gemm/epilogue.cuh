// From FP32 sums in registers to Y: add the warps along K, then the blocks of a split, both in a
// fixed order; then scale, bias, activation, residual, one rounding, 16-byte stores.
#pragma once

#include "gemm/shape.cuh"
#include "primitives/memory.cuh"
#include "primitives/scale.cuh"
#include "primitives/sync.cuh"

namespace heddle {

// Eight neighbouring outputs of one token.
struct Sums8 {
  float v[8];
};

template <Activation kActivation>
__device__ __forceinline__ float activate(float x) {
  if constexpr (kActivation == Activation::kRelu) return x < 0.0f ? 0.0f : x;
  if constexpr (kActivation == Activation::kSilu) return x / (1.0f + __expf(-x));
  if constexpr (kActivation == Activation::kGelu) {
    return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f));
  }
  if constexpr (kActivation == Activation::kGeluTanh) {
    return 0.5f * x * (1.0f + tanhf(0.79788456080286536f * (x + 0.044715f * x * x * x)));
  }
  return x;
}

template <class Config>
struct Epilogue {
  using S = Shape<Config>;
  using Value = typename Config::Value;
  static constexpr int kVectors = Config::kTileM * Config::kTileN / 8;
  // The workspace opens with one counter per output tile, all zero between launches; the partial
  // sums of the blocks follow.
  static constexpr int kCounterBytes = Config::kCounterBytes;
  static constexpr i64 kTileFloats = static_cast<i64>(Config::kTileM) * Config::kTileN;

  u32 shared;
  const u8* weights;  // the whole packed buffer, for scales per channel and per tensor
  u8* y;
  const u8* bias;
  const u8* residual;
  u8* workspace;
  int m;

  // Writes one warp's tile. (row, token) is the warp's first in the block's tile.
  template <class WarpTile>
  __device__ __forceinline__ void put(const WarpTile& warp, int warp_k) const {
    const u32 plane = shared + 4 * warp_k * Config::kTileM * S::kSumStride;
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
#pragma unroll
      for (int j = 0; j < S::kTokenTiles; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int token = warp.token_row + 8 * j + 2 * warp.t + (i & 1);
          const int row = 16 * (warp.row_block + r) + warp.g + 8 * (i >> 1);
          store_shared_float(plane + 4 * (token * S::kSumStride + row), warp.sum[r][j][i]);
        }
      }
    }
  }

  // After a barrier behind put(): all threads finish the tile.
  __device__ __forceinline__ void finish() const {
    if constexpr (Config::kSplitK > 1) {
      if (!add_to_split()) return;
    }
    for (int i = threadIdx.x; i < kVectors; i += S::kThreads) {
      const int token = i / (Config::kTileN / 8);
      const int row = i % (Config::kTileN / 8) * 8;
      if (!inside(token, row)) continue;
      store(token, row, Config::kSplitK > 1 ? sum_of_split(i) : sum_of_warps(token, row));
    }
  }

 private:
  __device__ __forceinline__ int global_token(int token) const {
    return static_cast<int>(blockIdx.x) * Config::kTileM + token;
  }
  __device__ __forceinline__ int global_row(int row) const {
    return static_cast<int>(blockIdx.y) * Config::kTileN + row;
  }
  __device__ __forceinline__ bool inside(int token, int row) const {
    return global_token(token) < m &&
           (Config::kN % Config::kTileN == 0 || global_row(row) < Config::kN);
  }

  __device__ __forceinline__ Sums8 sum_of_warps(int token, int row) const {
    Sums8 sum = {};
#pragma unroll
    for (int k = 0; k < Config::kWarpsK; ++k) {
      const u32 at = shared + 4 * ((k * Config::kTileM + token) * S::kSumStride + row);
      add(sum, load_shared_16(at), load_shared_16(at + 16));
    }
    return sum;
  }

  static __device__ __forceinline__ void add(Sums8& sum, u32x4 low, u32x4 high) {
    sum.v[0] += __uint_as_float(low.x);
    sum.v[1] += __uint_as_float(low.y);
    sum.v[2] += __uint_as_float(low.z);
    sum.v[3] += __uint_as_float(low.w);
    sum.v[4] += __uint_as_float(high.x);
    sum.v[5] += __uint_as_float(high.y);
    sum.v[6] += __uint_as_float(high.z);
    sum.v[7] += __uint_as_float(high.w);
  }

  __device__ __forceinline__ u8* partial_tile(int split) const {
    const i64 tile = static_cast<i64>(blockIdx.y) * gridDim.x + blockIdx.x;
    return workspace + kCounterBytes + 4 * kTileFloats * (tile * Config::kSplitK + split);
  }

  // Publishes this block's sums. True in the block that comes last, which sees all of them.
  __device__ __forceinline__ bool add_to_split() const {
    u8* mine = partial_tile(blockIdx.z);
    for (int i = threadIdx.x; i < kVectors; i += S::kThreads) {
      const int token = i / (Config::kTileN / 8);
      const int row = i % (Config::kTileN / 8) * 8;
      if (!inside(token, row)) continue;
      const Sums8 sum = sum_of_warps(token, row);
      store_global_16(mine + 32 * i, pack_floats(sum.v[0], sum.v[1], sum.v[2], sum.v[3]));
      store_global_16(mine + 32 * i + 16, pack_floats(sum.v[4], sum.v[5], sum.v[6], sum.v[7]));
    }
    device_fence();
    block_barrier();
    // The sums in shared memory have been read: its first word is free.
    if (threadIdx.x == 0) {
      u32* counter = reinterpret_cast<u32*>(workspace) + blockIdx.y * gridDim.x + blockIdx.x;
      const u32 before = atomic_add(counter, 1);
      // The last block leaves the counter as it was found.
      if (before == Config::kSplitK - 1) *counter = 0;
      device_fence();
      store_shared_4(shared, before);
    }
    block_barrier();
    return load_shared_4(shared) == Config::kSplitK - 1;
  }

  static __device__ __forceinline__ u32x4 pack_floats(float a, float b, float c, float d) {
    return {__float_as_uint(a), __float_as_uint(b), __float_as_uint(c), __float_as_uint(d)};
  }

  // The blocks' partial sums in the order of K, whichever block came last.
  __device__ __forceinline__ Sums8 sum_of_split(int vector) const {
    Sums8 sum = {};
#pragma unroll 4
    for (int split = 0; split < Config::kSplitK; ++split) {
      const u8* at = partial_tile(split) + 32 * vector;
      add(sum, load_global_16_l2(at), load_global_16_l2(at + 16));
    }
    return sum;
  }

  __device__ __forceinline__ void store(int token, int row, Sums8 sum) const {
    const i64 offset = 2 * (static_cast<i64>(global_token(token)) * Config::kN + global_row(row));
    if constexpr (Config::kScaleMode == ScaleMode::kChannel) scale_channels(global_row(row), sum);
    if constexpr (Config::kTensorScale) scale_all(tensor_scale(), sum);
    if constexpr (Config::kBias) add_values(load_global_16(bias + 2 * global_row(row)), sum);
#pragma unroll
    for (float& v : sum.v) v = activate<Config::kActivation>(v);
    if constexpr (Config::kResidual) add_values(load_global_16_coherent(residual + offset), sum);
    store_global_16(
        y + offset,
        {Value::from_floats(sum.v[0], sum.v[1]), Value::from_floats(sum.v[2], sum.v[3]),
         Value::from_floats(sum.v[4], sum.v[5]), Value::from_floats(sum.v[6], sum.v[7])});
  }

  static __device__ __forceinline__ void add_values(u32x4 values, Sums8& sum) {
    const u32 pairs[4] = {values.x, values.y, values.z, values.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sum.v[2 * i] += Value::low_to_float(pairs[i]);
      sum.v[2 * i + 1] += Value::high_to_float(pairs[i]);
    }
  }

  // Row g of a row block lies beside row g + 8: eight rows are every other scale.
  __device__ __forceinline__ void scale_channels(int row, Sums8& sum) const {
    const u8* scales = weights + Config::kChannelOffset +
                       static_cast<i64>(row / S::kRowBlock) * Config::kChannelBytes;
    const bool upper = row % S::kRowBlock != 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const RowPair pair = Config::Scale::load_global(scales + i * Config::Scale::kPairBytes);
      sum.v[i] *= power_of_two<Config::kResultExponent>(upper ? pair.high : pair.low);
    }
  }

  __device__ __forceinline__ float tensor_scale() const {
    return *reinterpret_cast<const float*>(weights + Config::kTensorOffset);
  }

  static __device__ __forceinline__ void scale_all(float scale, Sums8& sum) {
#pragma unroll
    for (float& v : sum.v) v *= scale;
  }
};

}  // namespace heddle
