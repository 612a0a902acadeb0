// The step that all GEMM families share: packed weights of a row tile of 16 rows become A
// fragments, scales and zero points are applied to them or to their sums.
//
// Use: begin_group() at the first column of every group of columns that share scales and zero
// points; decode() for each tile of 16 columns, of 32 where weights become bytes. With
// ScaleMode::kAccumulator the sums of a group lose zero_term() for float zero points and are added
// to those of all groups by add_scaled(); float zero points of channels are subtracted once, from
// the sums of all columns.
//
// Where scales come from is the caller's choice: it passes them as values. ChunkLane reads them
// from the chunk; stream/scales.cuh has another source.
#pragma once

#include "steps/chunk.cuh"

namespace heddle {

// What a lane holds to decode kRowTiles row tiles, of each of which it has rows g and g + 8; `r` is
// the row tile. Each kind of register is an array of its own, since with an array of structs the
// compiler takes one register more in some kernels.
template <class Config, class Decode, int kRowTiles>
struct RowTileDecoder {
  using Lane = ChunkLane<Config>;
  using Fragments = u32[Decode::kTiles][4];  // A fragments of the tiles that are decoded at once

  u32 group[kRowTiles][Decode::kGroupRegisters];  // what Decode::unit() takes of zeros and scales
  u32 scales[kRowTiles];                          // pairs, with ScaleMode::kWeight only

  // Integer zero points per channel, once for all columns. `zeros`: those of the row tile's row
  // block, in global memory.
  __device__ __forceinline__ void load_channel_zeros(int r, const Lane& lane, const u8* zeros) {
    if constexpr (Lane::kIntZeros && Lane::kChannel) {
      Decode::group(lane.channel_int_zeros(zeros), group[r]);
    }
  }

  // `int_zeros` and `weight_scales` of the group as ChunkLane returns them.
  __device__ __forceinline__ void begin_group(int r, u32 int_zeros, u32 weight_scales) {
    if constexpr (Lane::kTwoLevels || (Lane::kIntZeros && !Lane::kChannel)) {
      Decode::group(int_zeros, group[r]);
    }
    if constexpr (Lane::kWeight) scales[r] = weight_scales;
    if constexpr (Decode::kScales && !Lane::kTwoLevels) Decode::group(scales[r], group[r]);
  }

  // Tile `tile` of unit `unit` of the words into a[tile], scaled with ScaleMode::kWeight. Tiles of
  // a unit come in order, with the same `a`: all are decoded with the first one. Where a group
  // begins inside of the unit, they are decoded once more with its zero points and scales.
  __device__ __forceinline__ void decode(int r, const u32 (&words)[Config::value.weights.bits],
                                         int unit, int tile, bool begins_group,
                                         Fragments& a) const {
    if (tile == 0 || begins_group) Decode::unit(words, unit, group[r], a);
    if constexpr (Lane::kWeight && !Decode::kScales) scale_weights(scales[r], a[tile]);
  }
  // Weights of 16 bits: a unit is one tile, whose words are its A operand.
  __device__ __forceinline__ void decode(int, const WordsInShared& words, int unit, int, bool,
                                         Fragments& a) const {
    static_assert(Decode::kTiles == 1);
    const u32x4 v = load_shared_16(words.address + unit * WordsInShared::kTileBytes);
    a[0][0] = v.x;
    a[0][1] = v.y;
    a[0][2] = v.z;
    a[0][3] = v.w;
  }

 private:
  // Each weight is rounded once.
  static __device__ __forceinline__ void scale_weights(u32 pair, u32 (&a)[4]) {
    using Value = typename Config::Value;
    const u32 low = low_twice(pair);
    const u32 high = high_twice(pair);
    a[0] = Value::mul2(a[0], low);
    a[1] = Value::mul2(a[1], high);
    a[2] = Value::mul2(a[2], low);
    a[3] = Value::mul2(a[3], high);
  }
};

// What a float zero point has added to a row's sum over columns of which the token's values have
// the sum `token_sum`. Decoding has subtracted the fixed bias from the codes already.
template <class Config>
__device__ __forceinline__ float zero_term(float zero, float token_sum) {
  return (zero - Config::value.weights.fixed_bias) * token_sum;
}

// Adds a group's sums, scaled, to those of all groups. A lane has four sums of a matrix
// instruction: values 0 and 1 are of row g and two tokens, values 2 and 3 of row g + 8.
__device__ __forceinline__ void add_scaled(RowPair scales, const float (&part)[4],
                                           float (&sums)[4]) {
#pragma unroll
  for (int v = 0; v < 4; ++v) sums[v] += (v < 2 ? scales.low : scales.high) * part[v];
}

}  // namespace heddle
