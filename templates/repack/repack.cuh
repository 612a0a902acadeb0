// Repack: the tensors of an AWQ or GPTQ checkpoint to packed weights.
//
// Grid: (tiles of kTileRows rows, chunks of 128 columns). A block brings the codes of its tile into
// shared memory, each global access whole lines; then each warp packs row blocks of 16 rows, 16
// bytes to a lane.
//
// heddle-parameters: kBits kN kK kWholeRows kWholeColumns kPaddingCode kTrtllm kChunks kRowBlocks
// heddle-parameters: kChunkBytes kScaleOffset kScaleWidth kZeroOffset kZeroWidth kEntries
// heddle-parameters: kMetaGroup kGroup kChannelOffset kChannelBytes kChannelZeroOffset kFormat
// heddle-parameters: kZeroBias kActOrder kTileRows kThreads kSharedBytes Codes
#pragma once

#include "packing/chunk.cuh"
#include "primitives/sync.cuh"
#include "repack/awq_codes.cuh"
#include "repack/gptq_codes.cuh"
#include "repack/gptq_gather.cuh"

namespace heddle {

// One row's scales and zero points of chunk c.
template <class Config>
__device__ __forceinline__ void put_metadata(const Packed<Config>& to,
                                             const CheckpointValues<Config>& values, int row,
                                             int c) {
  if constexpr (Config::kEntries != 0) {
#pragma unroll(Config::kEntries <= 8 ? Config::kEntries + 1 : 1)
    for (int entry = 0; entry < Packed<Config>::kPaddedEntries; ++entry) {
      to.of_chunk(row, c).put(entry, c * CodeTile::kColumns, values);
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
  static_assert(Config::kSharedBytes == Config::kTileRows * CodeTile::kRowBytes,
                "the launch gives the tile's memory");
  extern __shared__ __align__(128) u8 shared_memory[];
  const CodeTile tile{shared_address(shared_memory)};
  const int row = static_cast<int>(blockIdx.x) * Config::kTileRows;
  const int c = static_cast<int>(blockIdx.y);
  typename Config::Codes codes;
  if constexpr (Config::kActOrder) {
    codes.load(weights, permutation, row, c * CodeTile::kColumns);
  } else {
    codes.load(weights, row, c * CodeTile::kColumns);
  }

  // While the codes are on their way.
  const Packed<Config> to{packed};
  const CheckpointValues<Config> values{scales, zeros};
  put_metadata<Config>(to, values, row + static_cast<int>(threadIdx.x), c);

  codes.store(tile);
  block_barrier();

  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x / 32); i < Config::kTileRows / kRowBlock;
       i += Config::kThreads / 32) {
    const int row_block = row / kRowBlock + i;
    if (row_block >= Config::kRowBlocks) break;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      pack_half_chunk<Config, Encode>(tile, kRowBlock * i, half, lane, to.chunk(row_block, c));
    }
  }
}

}  // namespace heddle
