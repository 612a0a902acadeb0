// How weights in registers meet the tokens in shared memory: the two instructions between which a
// kernel of tiles chooses. Both leave sums in the same registers.
//
// wgmma runs on its own, and while it reads weights from registers other warps issue at some 0.4 of
// their rate. For sixteen tokens mma.sync does not cost more, and decoding goes on beside it.
#pragma once

#include "primitives/mma.cuh"
#include "primitives/wgmma.cuh"
#include "warpgroup/shape.cuh"

namespace heddle {

// By a warpgroup. Registers of weights and sums may be touched again behind wait().
template <class Config>
struct WarpgroupProducts {
  using S = WgmmaShape<Config>;
  using Columns = u64;

  // Tokens of 64 columns and of the halves behind them.
  static __device__ __forceinline__ Columns columns(u32 tokens, int) {
    return wgmma_columns(tokens);
  }
  // Those so many bytes behind, a multiple of 16.
  static __device__ __forceinline__ Columns behind(Columns columns, int bytes) {
    return columns + bytes / 16;
  }
  // As all lanes have them, told to the compiler where it would not see that, or takes fewer
  // instructions for it. Two warpgroups with fewer tokens took up to 4 % longer.
  static __device__ __forceinline__ Columns same(Columns columns) {
    return S::kNarrows || S::kFour ? wgmma_same_columns(columns) : columns;
  }
  template <int kTiles>
  static __device__ __forceinline__ void begin(u32 (&a)[kTiles][4]) {
#pragma unroll
    for (int i = 0; i < kTiles; ++i)
#pragma unroll
      for (u32& v : a[i]) pin(v);
    wgmma_fence();
  }
  // With 16 columns, tile `tile` of them; `adds` false: sums = products.
  template <int kSums>
  static __device__ __forceinline__ void multiply(float (&sums)[kSums], const u32 (&a)[4],
                                                  Columns columns, int tile, bool adds) {
    wgmma(typename Config::Value{}, sums, a,
          columns + (tile / 4 * S::kHalfBytes >> 4) + 2 * (tile % 4), adds);
  }
  static __device__ __forceinline__ void end() { wgmma_commit(); }
  template <int kPending>
  static __device__ __forceinline__ void wait() {
    wgmma_wait<kPending>();
  }
  static __device__ __forceinline__ void hold(float& v) { pin(v); }
};

// By each warp for itself, at once.
template <class Config>
struct WarpProducts {
  using S = WgmmaShape<Config>;
  // The lane's row of 128 bytes, of which a column's place is swizzled.
  using Columns = u32;

  // Lane i reads token i % 8 of eight, of the first or the last 8 columns of 16, of the first or
  // the last eight tokens.
  static __device__ __forceinline__ Columns columns(u32 tokens, int lane) {
    const int token = lane / 16 * 8 + lane % 8;
    const int place = lane / 8 % 2 ^ lane % 8;
    return tokens + 128 * token + 16 * place;
  }
  static __device__ __forceinline__ Columns behind(Columns columns, int bytes) {
    return columns + bytes;
  }
  static __device__ __forceinline__ Columns same(Columns columns) { return columns; }
  template <int kTiles>
  static __device__ __forceinline__ void begin(u32 (&)[kTiles][4]) {}
  template <int kSums>
  static __device__ __forceinline__ void multiply(float (&sums)[kSums], const u32 (&a)[4],
                                                  Columns columns, int tile, bool adds) {
    constexpr int kSixteenTokens = 16 * 128;
    using Value = typename Config::Value;
#pragma unroll
    for (int i = 0; i < kSums; i += 8) {
      u32 b[4];
      ldmatrix_x4(b,
                  (columns ^ 32 * (tile % 4)) + tile / 4 * S::kHalfBytes + i / 8 * kSixteenTokens);
      float(&low)[4] = reinterpret_cast<float(&)[4]>(sums[i]);
      float(&high)[4] = reinterpret_cast<float(&)[4]>(sums[i + 4]);
      if (!adds) {
#pragma unroll
        for (int v = 0; v < 4; ++v) low[v] = high[v] = 0.0f;
      }
      MmaAmpere::mma16816(Value{}, low, a, b[0], b[1]);
      MmaAmpere::mma16816(Value{}, high, a, b[2], b[3]);
    }
  }
  static __device__ __forceinline__ void end() {}
  template <int kPending>
  static __device__ __forceinline__ void wait() {}
  static __device__ __forceinline__ void hold(float&) {}
};

template <class Config, bool kByWarps>
struct ProductsOf {
  using Type = WarpgroupProducts<Config>;
};
template <class Config>
struct ProductsOf<Config, true> {
  using Type = WarpProducts<Config>;
};

}  // namespace heddle
