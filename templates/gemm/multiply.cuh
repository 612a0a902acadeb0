// One warp's share of one stage: decode weights into A fragments and multiply.
#pragma once

#include "gemm/shape.cuh"
#include "primitives/bits.cuh"
#include "primitives/memory.cuh"
#include "primitives/mma.cuh"

namespace heddle {

// Scales of rows g and g + 8, which are stored side by side.
template <class Config>
struct RowScales {
  float low, high;
  static __device__ __forceinline__ RowScales load_shared(u32 address) {
    if constexpr (Config::kScaleIsFloat) {
      const u64 pair = load_shared_8(address);
      return {float_from_bits(static_cast<u32>(pair)),
              float_from_bits(static_cast<u32>(pair >> 32))};
    } else {
      const u32 pair = load_shared_4(address);
      return {Config::Scale::low_to_float(pair), Config::Scale::high_to_float(pair)};
    }
  }
};

template <class Config, class Decode>
struct WarpTile {
  using S = Shape<Config>;
  using Value = typename Config::Value;
  static constexpr bool kPartial = Config::kScaleMode == ScaleMode::kAccumulator;
  static constexpr bool kGroupZeros =
      Config::kHasZeros && Config::kScaleMode != ScaleMode::kChannel;

  float sum[S::kRowTiles][S::kTokenTiles][4];
  // Only with kPartial: the sums of the current group, before its scale.
  float part[kPartial ? S::kRowTiles : 1][kPartial ? S::kTokenTiles : 1][4];
  // Subtrahends that stand for the zero points of rows g and g + 8.
  u32 zeros[S::kRowTiles][Decode::kZeroRegisters];
  // Only with ScaleMode::kWeight: the pair of scales of rows g and g + 8.
  u32 weight_scales[Config::kScaleMode == ScaleMode::kWeight ? S::kRowTiles : 1];

  int g, t;        // lane = 4 * g + t
  int row_block;   // of the warp's first row tile, in the stage
  int token_row;   // the warp's first token, in the stage
  int run_offset;  // the warp's first column, in the stage

  __device__ __forceinline__ WarpTile(int lane, int warp_m, int warp_n, int warp_k)
      : g(lane >> 2),
        t(lane & 3),
        row_block(warp_n * S::kRowTiles),
        token_row(warp_m * S::kTokenTiles * 8),
        run_offset(warp_k * S::kRun) {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r)
#pragma unroll
      for (int j = 0; j < S::kTokenTiles; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) sum[r][j][i] = 0.0f;
  }

  // Per-channel zero points, once per kernel. `metadata` is that of row block 0; rows past the end
  // read row block 0's, and their results are never stored.
  __device__ __forceinline__ void load_channel_zeros(const u8* metadata, int first_row_block) {
    if constexpr (Config::kHasZeros && Config::kScaleMode == ScaleMode::kChannel) {
#pragma unroll
      for (int r = 0; r < S::kRowTiles; ++r) {
        int block = first_row_block + row_block + r;
        if (block >= Config::kRowBlocks) block = 0;
        const u8* at = metadata + static_cast<i64>(block) * Config::kChannelBytes;
        Decode::zeros(at[Config::kChannelZeroOffset + g] * 0x00010001u, zeros[r]);
      }
    }
  }

  // A lane's 16 bytes of weights hold 64 columns.
  static constexpr int kStep = S::kUnit < 64 ? 64 : S::kUnit;

  // All columns of this warp in the stage at shared address `stage`.
  __device__ __forceinline__ void multiply(u32 stage) {
#pragma unroll 1
    for (int k = 0; k < S::kRun; k += kStep) {
#pragma unroll
      for (int in_step = 0; in_step < kStep; in_step += 64) {
        multiply_64(stage, run_offset + k + in_step, in_step);
      }
    }
  }

 private:
  // 64 columns from `column` of the stage, `in_unit` columns after the last look at scales.
  __device__ __forceinline__ void multiply_64(u32 stage, int column, int in_unit) {
    u32x4 packed[S::kRowTiles];
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
      packed[r] = load_shared_16(chunk(stage, r, column) + (column & 64) * 8 + (4 * g + t) * 16);
    }
    // Large tiles have enough work in 32 columns, and no registers for more at once.
#pragma unroll(S::kLargeTile ? 1 : 2)
    for (int half = 0; half < 2; ++half) {
      const int here = in_unit + 32 * half;
      if (here % S::kUnit == 0) begin_unit(stage, column + 32 * half);
      u32 tokens[S::kTokenTiles][4];
      load_tokens(stage, column + 32 * half, tokens);
#pragma unroll
      for (int r = 0; r < S::kRowTiles; ++r) {
#pragma unroll
        for (int step = 0; step < 2; ++step) {
          const u32 word = half == 0 ? (step == 0 ? packed[r].x : packed[r].y)
                                     : (step == 0 ? packed[r].z : packed[r].w);
          u32 a[4];
          Decode::word(word, zeros[r], a);
          if constexpr (Config::kScaleMode == ScaleMode::kWeight) scale_weights(r, a);
#pragma unroll
          for (int j = 0; j < S::kTokenTiles; ++j) {
            Config::Mma::mma16816(Value{},
                                  kPartial ? part[kPartial ? r : 0][kPartial ? j : 0] : sum[r][j],
                                  a, tokens[j][2 * step], tokens[j][2 * step + 1]);
          }
        }
      }
      if (kPartial && (here + 32) % S::kUnit == 0) end_unit(stage, column + 32 * half);
    }
  }

  // Shared address of the chunk of row tile r that holds the stage's column.
  __device__ __forceinline__ u32 chunk(u32 stage, int r, int column) const {
    return stage + (row_block + r) * S::kRowBlockBytes + column / S::kChunkK * Config::kChunkBytes;
  }
  static __device__ __forceinline__ int group_in_chunk(int column) {
    return column % S::kChunkK / Config::kMetaGroup;
  }
  __device__ __forceinline__ u32 scale_address(u32 stage, int r, int column) const {
    return chunk(stage, r, column) + Config::kScaleOffset +
           group_in_chunk(column) * Config::kScaleBytes + g * (Config::kScaleBytes / 8);
  }

  __device__ __forceinline__ void begin_unit(u32 stage, int column) {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
      if constexpr (kGroupZeros) {
        const u32 byte = load_shared_1(chunk(stage, r, column) + Config::kZeroOffset +
                                       group_in_chunk(column) * Config::kZeroBytes + g);
        Decode::zeros(byte * 0x00010001u, zeros[r]);
      }
      if constexpr (Config::kScaleMode == ScaleMode::kWeight) {
        weight_scales[r] = load_shared_4(scale_address(stage, r, column));
      }
      if constexpr (kPartial) {
#pragma unroll
        for (int j = 0; j < S::kTokenTiles; ++j)
#pragma unroll
          for (int i = 0; i < 4; ++i) part[r][j][i] = 0.0f;
      }
    }
  }

  __device__ __forceinline__ void end_unit(u32 stage, int column) {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
      const auto scale = RowScales<Config>::load_shared(scale_address(stage, r, column));
#pragma unroll
      for (int j = 0; j < S::kTokenTiles; ++j) {
        sum[r][j][0] += scale.low * part[r][j][0];
        sum[r][j][1] += scale.low * part[r][j][1];
        sum[r][j][2] += scale.high * part[r][j][2];
        sum[r][j][3] += scale.high * part[r][j][3];
      }
    }
  }

  __device__ __forceinline__ void scale_weights(int r, u32 (&a)[4]) const {
    const u32 low = prmt<0x1010>(weight_scales[r], 0);
    const u32 high = prmt<0x3232>(weight_scales[r], 0);
    a[0] = Value::mul2(a[0], low);
    a[1] = Value::mul2(a[1], high);
    a[2] = Value::mul2(a[2], low);
    a[3] = Value::mul2(a[3], high);
  }

  // B fragments of 32 columns: [2 * step], [2 * step + 1] for k16 step 0 and 1.
  __device__ __forceinline__ void load_tokens(u32 stage, int column,
                                              u32 (&tokens)[S::kTokenTiles][4]) const {
    const int lane = 4 * g + t;
    const u32 unit = column / 8 + lane / 8;
#pragma unroll
    for (int j = 0; j < S::kTokenTiles; ++j) {
      const u32 row = token_row + 8 * j + (lane & 7);
      ldmatrix_x4(tokens[j], stage + S::kWeightBytes + token_unit_offset<Config>(row, unit));
    }
  }
};

}  // namespace heddle
