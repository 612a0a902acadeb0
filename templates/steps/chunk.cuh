// What a lane reads of one chunk of packed weights in shared memory: its words, and the scales and
// zero points of rows g and g + 8. docs/layouts.md has the bytes.
#pragma once

#include "primitives/bits.cuh"
#include "primitives/half.cuh"
#include "primitives/memory.cuh"
#include "primitives/scale.cuh"
#include "primitives/sync.cuh"
#include "steps/config.h"

namespace heddle {

// What a lane holds of 64 columns of packed weights: their words. Of 16 bits each word is a
// register of an A operand already, so a lane holds the address of its words in shared memory and
// reads the four of a tile where they are multiplied.
template <int kBits>
struct LaneWords {
  using Type = u32[kBits];
};
struct WordsInShared {
  u32 address = 0;  // of the first tile's; the next tile's are kTileBytes further
  static constexpr u32 kTileBytes = 512;
};
template <>
struct LaneWords<16> {
  using Type = WordsInShared;
};

template <class Config>
struct ChunkLane {
  using Value = typename Config::Value;
  using Scale = typename Config::Scale;
  using Words = typename LaneWords<Config::value.weights.bits>::Type;
  static constexpr bool kPartial = Config::value.scaling.mode == ScaleMode::kAccumulator;
  static constexpr bool kWeight = Config::value.scaling.mode == ScaleMode::kWeight;
  static constexpr bool kChannel = Config::value.scaling.mode == ScaleMode::kChannel ||
                                   Config::value.scaling.mode == ScaleMode::kProduct;
  static constexpr bool kTwoLevels = Config::value.scaling.mode == ScaleMode::kTwoLevels;
  static constexpr bool kIntZeros = Config::value.weights.zero_point == ZeroPoint::kInt;
  static constexpr bool kFloatZeros = Config::value.weights.zero_point == ZeroPoint::kFloat;
  // The four lanes of rows g and g + 8 want the same scales. To widen codes of 8 bits takes longer
  // than to pass them on: of 64 columns each lane widens those of one tile of 16.
  static constexpr bool kPassesScales =
      kWeight && Scale::kPairBytes == 2 && Config::value.weights.meta_group < 64;

  int g, t;  // lane = 4 * g + t

  __device__ __forceinline__ explicit ChunkLane(int lane) : g(lane >> 2), t(lane & 3) {}

  // The lane's words of 64 columns, the chunk's first or second half. The stage must stay until
  // they are decoded, which is when words of 16 bits are read.
  __device__ __forceinline__ void load_words(u32 chunk, int half, Words& words) const {
    const u32 from = chunk + half * (128 * Config::value.weights.bits);
    if constexpr (Config::value.weights.bits == 16) {
      words.address = from + 16 * (4 * g + t);
    } else if constexpr (Config::value.weights.row_lines) {
      load_row_lines(chunk, half, words);
    } else {
      load_lane_words(from, words);
    }
  }

  // Scales of sums, times 2^result_exponent. `column`: in the chunk.
  __device__ __forceinline__ RowPair sum_scales(u32 chunk, int column) const {
    const RowPair scale = Scale::load_shared(entry(chunk + Config::value.weights.scale_offset,
                                                   column, Config::value.weights.scale_bytes));
    return {power_of_two<Config::value.scaling.result_exponent>(scale.low),
            power_of_two<Config::value.scaling.result_exponent>(scale.high)};
  }
  // Scales of weights, times 2^scale_exponent, as a pair of the weights' own type, which holds them
  // exactly; past its range they are infinite. Zero but with ScaleMode::kWeight.
  __device__ __forceinline__ u32 weight_scales(u32 chunk, int column) const {
    const u32 at = entry(chunk + Config::value.weights.scale_offset, column,
                         Config::value.weights.scale_bytes);
    if constexpr (!kWeight) {
      return 0;
    } else if constexpr (Scale::kPairBytes == 4) {
      const u32 pair = load_shared_4(at);
      return power_of_two_pair<Value, Config::value.scaling.scale_exponent>(pair);
    } else {
      return Scale::template load_values<Value, Config::value.scaling.scale_exponent>(at);
    }
  }
  // What the lane passes on of 64 columns, with kPassesScales only, and the scales of one of them.
  // All lanes of the warp call this.
  __device__ __forceinline__ u32 scales_to_pass(u32 chunk, int half) const {
    return weight_scales(chunk, 64 * half + 16 * t);
  }
  __device__ __forceinline__ u32 weight_scales(u32 chunk, int column, u32 to_pass) const {
    if constexpr (kPassesScales) return shuffle(to_pass, 4 * g + column % 64 / 16);
    return weight_scales(chunk, column);
  }
  __device__ __forceinline__ RowPair float_zeros(u32 chunk, int column) const {
    return Scale::load_shared(
        entry(chunk + Config::value.weights.zero_offset, column, Config::value.weights.zero_bytes));
  }
  // Zero points as Decode::group() wants them; zero but with integer zero points per group, or with
  // their integer scales above them.
  __device__ __forceinline__ u32 int_zeros(u32 chunk, int column) const {
    if constexpr (kTwoLevels) return zeros_and_scales(chunk, column);
    if constexpr (!kIntZeros || kChannel) return 0;
    const u32 at =
        entry(chunk + Config::value.weights.zero_offset, column, Config::value.weights.zero_bytes);
    return zero_fields(Config::value.weights.zero_bytes == 8 ? load_shared_1(at)
                                                             : load_shared_2(at));
  }

  // Zero points of a row block's channels, in global memory; `metadata` is that of row block 0.
  // Rows past the end have row block 0's: their results are never stored.
  static __device__ __forceinline__ const u8* channel_zeros(const u8* metadata, int row_block,
                                                            int row_blocks) {
    const int block = row_block < row_blocks ? row_block : 0;
    return metadata + static_cast<i64>(block) * Config::value.weights.channel_bytes +
           Config::value.weights.channel_zero_offset;
  }
  // Integers of them, as Decode::group() wants them.
  __device__ __forceinline__ u32 channel_int_zeros(const u8* zeros) const {
    return zero_fields(
        Config::value.weights.zero_bytes == 8 ? zeros[g] : reinterpret_cast<const u16*>(zeros)[g]);
  }

  // Floats of them.
  __device__ __forceinline__ RowPair channel_float_zeros(const u8* zeros) const {
    return Scale::load_global(zeros + g * Scale::kPairBytes);
  }

 private:
  // The part of the column's entry that belongs to rows g and g + 8.
  __device__ __forceinline__ u32 entry(u32 entries, int column, int entry_bytes) const {
    return entries + Config::value.weights.entry(column) * entry_bytes + g * (entry_bytes / 8);
  }

  // Zero points of rows g and g + 8, if there are any, in the lowest byte; scales in the highest.
  __device__ __forceinline__ u32 zeros_and_scales(u32 chunk, int column) const {
    const u32 scales = load_shared_2(entry(chunk + Config::value.weights.scale_offset, column,
                                           Config::value.weights.scale_bytes))
                       << 16;
    if constexpr (!kIntZeros) return scales;
    return scales | load_shared_1(entry(chunk + Config::value.weights.zero_offset, column,
                                        Config::value.weights.zero_bytes));
  }

  static __device__ __forceinline__ u32 zero_fields(u32 pair) { return pair * 0x00010001u; }

  // Loads 16 bytes at a time, then 8 and 4.
  __device__ __forceinline__ void load_lane_words(u32 half,
                                                  u32 (&words)[Config::value.weights.bits]) const {
    const int lane = 4 * g + t;
    constexpr int kFours = Config::value.weights.bits / 4 * 4;
#pragma unroll
    for (int i = 0; i < kFours; i += 4) {
      const u32x4 v = load_shared_16(half + 128 * i + 16 * lane);
      words[i] = v.x;
      words[i + 1] = v.y;
      words[i + 2] = v.z;
      words[i + 3] = v.w;
    }
    if constexpr ((Config::value.weights.bits & 2) != 0) {
      const u64 v = load_shared_8(half + 128 * kFours + 8 * lane);
      words[kFours] = static_cast<u32>(v);
      words[kFours + 1] = static_cast<u32>(v >> 32);
    }
    if constexpr ((Config::value.weights.bits & 1) != 0) {
      words[Config::value.weights.bits - 1] =
          load_shared_4(half + 128 * (Config::value.weights.bits - 1) + 4 * lane);
    }
  }

  // Where a line of 128 bytes holds 64 columns of a few rows, as TensorRT-LLM has them: even words
  // are of row g, odd ones of row g + 8.
  __device__ __forceinline__ void load_row_lines(u32 chunk, int half,
                                                 u32 (&words)[Config::value.weights.bits]) const {
    constexpr u32 kRowsOfLine = 16 / Config::value.weights.bits;
    constexpr u32 kRowBytes = 8 * Config::value.weights.bits;
#pragma unroll
    for (int i = 0; i < Config::value.weights.bits; ++i) {
      const u32 row = g + 8 * (i % 2);
      const u32 line = row / kRowsOfLine * 2 + half;
      words[i] =
          load_shared_4(chunk + 128 * line + row % kRowsOfLine * kRowBytes + 16 * (i / 2) + 4 * t);
    }
  }
};

}  // namespace heddle
