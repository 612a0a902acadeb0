// Repack: the tensors of an AWQ or GPTQ checkpoint to packed weights.
//
// Floors. Bytes: codes, scales and zero points read and written once. Operations: at 4 bits some
// three instructions a code, which memory hides; codes of act-order are gathered one by one, and
// these loads are the limit.
//
// Budget of a tile, as many rows as threads by 128 columns: a byte of shared memory for each code,
// 16 KB with 128 threads of GPTQ and 32 KB with 256 of AWQ. Registers: 48 to 64.
//
// Roles. Grid: (tiles of rows, chunks of 128 columns). All threads bring the codes of the tile into
// shared memory, one row each of GPTQ (gptq_codes.cuh, gptq_gather.cuh), or eight rows and an
// eighth of the columns of AWQ (awq_codes.cuh). Then each warp packs row blocks of 16 rows, 16
// bytes to a lane.
//
// Order. Codes are requested; scales and zero points are converted and stored meanwhile; codes go
// to shared memory; after the block's one barrier the warps pack and store them.
#pragma once

#include "packing/chunk.cuh"
#include "primitives/sync.cuh"
#include "repack/awq_codes.cuh"
#include "repack/config.h"
#include "repack/gptq_codes.cuh"
#include "repack/gptq_gather.cuh"

namespace heddle {

// What brings the codes of a source into the tile.
template <class Config, RepackSource kSource = Config::value.source>
struct CodesOf;
template <class Config>
struct CodesOf<Config, RepackSource::kAwq> {
  using Type = AwqCodes<Config>;
};
template <class Config>
struct CodesOf<Config, RepackSource::kGptq> {
  using Type = GptqCodes<Config>;
};
template <class Config>
struct CodesOf<Config, RepackSource::kGptqGather> {
  using Type = GptqGather<Config>;
};

// One row's scales and zero points of chunk c.
template <class Config>
__device__ __forceinline__ void put_metadata(const Packed<Config>& to,
                                             const CheckpointValues<Config>& values, int row,
                                             int c) {
  [[maybe_unused]] constexpr int kEntries =
      Config::value.packed.entries;  // the pragma alone reads it
  if constexpr (!Config::value.packed.per_channel()) {
#pragma unroll(kEntries <= 8 ? kEntries + 1 : 1)
    for (int entry = 0; entry < Packed<Config>::kPaddedEntries; ++entry) {
      to.of_chunk(row, c).put(entry, c * Chunk::kColumns, values);
    }
  } else if (c == 0) {
#pragma unroll
    for (int entry = 0; entry < Packed<Config>::kPaddedChannelEntries; ++entry) {
      to.of_channel(row).put(entry, 0, values);
    }
  }
}

template <class Config, class Encode>
__device__ __forceinline__ void repack(const u8* weights, const u8* scales, const u8* zeros,
                                       const u8* permutation, u8* packed) {
  extern __shared__ __align__(128) u8 shared_memory[];
  const CodeTile tile{shared_address(shared_memory)};
  const int row = static_cast<int>(blockIdx.x) * Config::value.tiles.rows;
  const int c = static_cast<int>(blockIdx.y);
  typename CodesOf<Config>::Type codes;
  if constexpr (Config::value.source == RepackSource::kGptqGather) {
    codes.load(weights, permutation, row, c * Chunk::kColumns);
  } else {
    codes.load(weights, row, c * Chunk::kColumns);
  }

  // While the codes are on their way.
  const Packed<Config> to{packed};
  const CheckpointValues<Config> values{scales, zeros};
  put_metadata<Config>(to, values, row + static_cast<int>(threadIdx.x), c);

  codes.store(tile);
  block_barrier();

  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x / 32); i < Config::value.tiles.rows / Chunk::kRows;
       i += Config::value.threads() / 32) {
    const int row_block = row / Chunk::kRows + i;
    if (row_block >= Config::value.packed.row_blocks) break;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      pack_half_chunk<Config, Encode>(tile, Chunk::kRows * i, half, lane, to.chunk(row_block, c));
    }
  }
}

}  // namespace heddle
