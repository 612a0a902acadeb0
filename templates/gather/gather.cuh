// X'[M, K] = X[M, permutation], column by column, each times its factor, if there are any: what a
// GEMM with act-order multiplies.
//
// Floors. Bytes: 4 * M * K, each element read and written once; at small M the launch. Operations:
// one 2-byte load an element.
//
// Budget. A thread moves eight columns of tile_rows tokens: eight loads of 2 bytes and one 16-byte
// store for each token. The loads mostly hit the L1 cache, since a row of X is some ten kilobytes.
// Registers hold the eight column numbers and their factors. There is no shared memory.
//
// Roles. All threads do the same. Grid: (tiles of M, tiles of K).
//
// Order. A thread reads its column numbers and factors, then gathers and stores token after token.
#pragma once

#include "gather/config.h"
#include "primitives/half.cuh"
#include "primitives/memory.cuh"

namespace heddle {

template <class Config>
__device__ __forceinline__ void gather(const u8* x, const u8* permutation, const u8* pre_scale,
                                       u8* gathered, int m) {
  constexpr int kColumns = 8;
  const int first = (static_cast<int>(blockIdx.y) * Config::value.tile_columns / kColumns +
                     static_cast<int>(threadIdx.x)) *
                    kColumns;
  if (first >= Config::value.k) return;
  const int* order = reinterpret_cast<const int*>(permutation) + first;
  int column[kColumns];
  u32 factor[kColumns / 2];
#pragma unroll
  for (int i = 0; i < kColumns; ++i) column[i] = order[i];
  if constexpr (Config::value.pre_scale) {
    const u16* factors = reinterpret_cast<const u16*>(pre_scale);
#pragma unroll
    for (int i = 0; i < kColumns; i += 2) {
      factor[i / 2] = factors[column[i]] | static_cast<u32>(factors[column[i + 1]]) << 16;
    }
  }
  const int begin = static_cast<int>(blockIdx.x) * Config::value.tile_rows;
  const int end = begin + Config::value.tile_rows < m ? begin + Config::value.tile_rows : m;
#pragma unroll 2
  for (int token = begin; token < end; ++token) {
    const i64 offset = static_cast<i64>(token) * Config::value.k;
    const u16* row = reinterpret_cast<const u16*>(x) + offset;
    u32 pair[kColumns / 2];
#pragma unroll
    for (int i = 0; i < kColumns; i += 2) {
      pair[i / 2] = row[column[i]] | static_cast<u32>(row[column[i + 1]]) << 16;
      if constexpr (Config::value.pre_scale) {
        pair[i / 2] = Config::Value::mul2(pair[i / 2], factor[i / 2]);
      }
    }
    store_global_16(gathered + 2 * (offset + first), {pair[0], pair[1], pair[2], pair[3]});
  }
}

}  // namespace heddle
