// GPTQ's tensors to W[N, K].
//
// Floors. Bytes: at 4 bits half a byte and its share of scales in, two bytes out for a weight; the
// memory of an H200 leaves time for 18 instructions of a lane. Operations: at 4 bits 3.7
// instructions a weight in all, 5.4 with zero points.
//
// Budget. qweight [K * bits / 32, N] is a stream of codes down each column of words: the words of
// one unit are consecutive columns of one row of W. A lane takes units of four neighbouring rows
// with one 16-byte load for each word, and has steps() units in flight. At 4 bits a unit is eight
// columns, which one 16-byte store writes; at 2 and 3 bits it is 32 and 64 bytes of a row, which
// several stores write. Registers: 56. Nothing passes through shared memory.
//
// Roles. A warp's two lanes along N and sixteen along K read runs of 32 bytes and write runs of
// 256: writes want the longer runs. The warps of a block lie side by side along N.
//
// Order. A lane loads its units and their groups' scales and zero points, then decodes, scales and
// stores row by row. With act-order it does so column by column, each with a group of its own.
#pragma once

#include "dequantize/config.h"
#include "dequantize/scale.cuh"
#include "dequantize/tile_place.cuh"
#include "primitives/memory.cuh"

namespace heddle {

template <class Config, class Decode>
struct GptqTile {
  using Value = typename Config::Value;
  using Scale = typename Config::Scale;
  static constexpr MatrixTiles kW = Config::value.tiles;
  static constexpr int kBits = Config::value.bits;
  static constexpr int kTiles = Decode::kTiles;
  static constexpr int kUnit = Config::value.unit;
  static constexpr int kGroupSize = Config::value.group_size;
  static constexpr int kWords = kUnit * kBits / 32;
  static constexpr int kRows = DequantizeGptqConfig::kLaneRows;
  static constexpr int kLanesK = DequantizeGptqConfig::kLanesK;
  static constexpr int kSteps = Config::value.steps();
  static constexpr int kStepColumns = Config::value.step_columns();
  static constexpr u32 kMask = (1u << kBits) - 1;
  static constexpr bool kHasZeros = Config::value.scaling.zero == ZeroKind::kInt;
  static constexpr u32 kWordBias = Config::value.stored_zeros().of_word();
  static constexpr u32 kFieldBias = Config::value.stored_zeros().of_field();
  static_assert(kUnit == 8 * kTiles, "the decode plan's unit");
  // A unit is of one group, or else each of its runs of eight columns is: groups are multiples of
  // 16. Where groups are long, neighbouring steps share one.
  static constexpr int kUnitGroups = Config::value.runs_lie_in_groups(kUnit) ? 1 : kTiles;
  template <int kCount>
  static constexpr bool kShare = kSteps % kCount == 0 &&
                                 Config::value.runs_lie_in_groups(kCount* kStepColumns);
  static constexpr int kGroupSteps = kShare<2> ? 2 : 1;

  const u8* qweight;
  const u8* scale_rows;  // [G, N]
  const u32* zero_rows;  // [G, N * bits / 32]
  const int* group_index;
  u8* w;
  int row;  // the lane's first

  // Scales and zero points of the lane's rows in one group.
  struct Group {
    RawScales<Scale, kRows> scales;
    u32 zeros;  // a field for each row
  };

  __device__ __forceinline__ Group load_group(int group) const {
    Group result;
    result.scales.load(scale_rows + (static_cast<i64>(group) * kW.n + row) * Scale::kBytes);
    result.zeros = 0;
    if constexpr (kHasZeros) {
      constexpr int kRowWords = kW.n * kBits / 32;
      const u32* words = zero_rows + static_cast<i64>(group) * kRowWords;
      const int bit = row * kBits;
      result.zeros = (words[bit / 32] + kWordBias) >> (bit % 32);
      // Four fields of 3 bits may lie across two words.
      if constexpr (32 % (kRows * kBits) != 0) {
        if (bit % 32 + kRows * kBits > 32) {
          result.zeros |= words[bit / 32 + 1] << (32 - bit % 32);
        }
      }
    }
    return result;
  }
  static __device__ __forceinline__ u32 zero_of(const Group& group, int i) {
    return ((group.zeros >> (i * kBits)) + kFieldBias) & kMask;
  }

  // The words of unit `unit`, of four rows each.
  __device__ __forceinline__ void load_words(int unit, u32x4 (&words)[kWords]) const {
    const u8* at = qweight + 4 * (static_cast<i64>(unit) * kWords * kW.n + row);
#pragma unroll
    for (int i = 0; i < kWords; ++i) words[i] = load_global_16(at + i * (4 * kW.n));
  }
  static __device__ __forceinline__ void words_of_row(const u32x4 (&words)[kWords], int i,
                                                      u32 (&own)[kBits]) {
#pragma unroll
    for (int j = 0; j < kWords; ++j) {
      own[j] = i == 0 ? words[j].x : i == 1 ? words[j].y : i == 2 ? words[j].z : words[j].w;
    }
  }

  // Eight weights, so many rows and columns from `to`.
  static __device__ __forceinline__ void store(u8* to, int rows, int columns, const u32 (&a)[4]) {
    store_global_16(to + weights_apart<Config>(rows, columns), {a[0], a[1], a[2], a[3]});
  }

  // Subtrahends and scales of row i in a group.
  static __device__ __forceinline__ void begin_group(const Group& group, int i,
                                                     u32 (&z)[Decode::kGroupRegisters],
                                                     PairScale<Config>& scale) {
    scale.set(group.scales[i], group.scales[i], 1.0f);
    if constexpr (kHasZeros) {
      const u32 zero = zero_of(group, i);
      Decode::group((zero << kBits | zero) * 0x00010001u, z);
    }
  }

  static __device__ __forceinline__ bool inside(int unit) {
    return kW.k % kW.columns == 0 || unit * kUnit < kW.k;
  }

  // Groups in order. Everything is loaded before anything is used.
  __device__ __forceinline__ void dequantize(int first_unit) const {
    u32x4 words[kSteps][kWords];
    Group groups[kSteps / kGroupSteps][kUnitGroups];
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const int unit = first_unit + step * kLanesK;
      if (!inside(unit)) continue;
      load_words(unit, words[step]);
      if (step % kGroupSteps != 0) continue;
#pragma unroll
      for (int i = 0; i < kUnitGroups; ++i) {
        groups[step / kGroupSteps][i] =
            load_group((unit * kUnit + 8 * i + Config::value.group_offset) / kGroupSize);
      }
    }
    u8* to = weight_address<Config>(w, row, first_unit * kUnit);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      u32 z[Decode::kGroupRegisters];
      PairScale<Config> scale;
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        const int unit = first_unit + step * kLanesK;
        if (!inside(unit)) continue;
        u32 own[kBits];
        u32 a[kTiles][4];
        words_of_row(words[step], i, own);
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          if (tile < kUnitGroups) {
            if (step % kGroupSteps == 0) {
              begin_group(groups[step / kGroupSteps][tile], i, z, scale);
            }
            // Another group has other zero points: what follows is decoded with them.
            Decode::unit(own, 0, z, a);
          }
#pragma unroll
          for (int j = 0; j < 4; ++j) a[tile][j] = scale.apply(a[tile][j], 1.0f);
          store(to, i, step * kStepColumns + 8 * tile, a[tile]);
        }
      }
    }
  }

  // Each column is of a group of its own. The plan has taken away code_bias; the rest of the zero
  // point is an integer below 256, and so is the difference: both are exact.
  __device__ __forceinline__ void dequantize_act_order(int unit) const {
    if (!inside(unit)) return;
    u32x4 words[kWords];
    load_words(unit, words);
    u32 a[kRows][kTiles][4];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      u32 own[kBits];
      u32 z[Decode::kGroupRegisters];
      words_of_row(words, i, own);
      Decode::unit(own, 0, z, a[i]);
    }
#pragma unroll
    for (int pair = 0; pair < 4 * kTiles; ++pair) {
      const int column = unit * kUnit + 2 * pair;
      const Group low = load_group(group_index[column]);
      const Group high = load_group(group_index[column + 1]);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        u32& codes = a[i][pair / 4][pair % 4];
        if constexpr (kHasZeros) {
          codes = Value::sub2(codes, Value::from_floats(offset_of(low, i), offset_of(high, i)));
        }
        PairScale<Config> scale;
        scale.set(low.scales[i], high.scales[i], 1.0f);
        codes = scale.apply(codes, 1.0f);
      }
    }
    u8* to = weight_address<Config>(w, row, unit * kUnit);
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) store(to, i, 8 * tile, a[i][tile]);
  }
  static __device__ __forceinline__ float offset_of(const Group& group, int i) {
    return static_cast<float>(static_cast<int>(zero_of(group, i)) -
                              Config::value.scaling.code_bias);
  }
};

template <class Config, class Decode>
__device__ __forceinline__ void dequantize_gptq(const u8* qweight, const u8* scales,
                                                const u8* qzeros, const int* group_index, u8* w) {
  using Tile = GptqTile<Config, Decode>;
  constexpr int kWarpRows = DequantizeGptqConfig::kWarpRows;
  constexpr int kLanesN = DequantizeGptqConfig::kLanesN;
  constexpr int kWarpsN = Config::value.tiles.rows / kWarpRows;

  const TilePlace<Config> place = TilePlace<Config>::of_block();
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  Tile tile;
  tile.qweight = qweight;
  tile.scale_rows = scales;
  tile.zero_rows = reinterpret_cast<const u32*>(qzeros);
  tile.group_index = group_index;
  tile.w = w;
  tile.row = place.row + warp % kWarpsN * kWarpRows + lane % kLanesN * Tile::kRows;
  if (tile.row >= Config::value.tiles.n) return;
  const int column = place.column + warp / kWarpsN * Config::value.warp_columns();
  const int unit = column / Tile::kUnit + lane / kLanesN;
  if constexpr (Config::value.act_order) {
    tile.dequantize_act_order(unit);
  } else {
    tile.dequantize(unit);
  }
}

}  // namespace heddle
