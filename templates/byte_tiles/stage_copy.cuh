// From global memory to one stage of shared memory: chunks of weights and rows of tokens.
#pragma once

#include "byte_tiles/shape.cuh"

namespace heddle {

// Where the operands of a thread block's tile lie in global memory.
struct ByteOperands {
  const u8* weights;  // first chunk of the tile's first row block
  const u8* tokens;   // first row of X of the tile
  int row_blocks;     // from the tile's first to the end of W
  int rows;           // from the tile's first to the end of X
};

template <class Config>
struct ByteStageCopy : ByteOperands {
  using S = ByteTilesShape<Config>;
  static constexpr int kK = Config::value.shape.k;
  static constexpr int kChunks = Config::value.shape.chunks;
  // Pieces of 16 bytes.
  static constexpr int kChunkPieces = S::kChunkBytes / 16;
  static constexpr int kWeightPieces = S::kStageRowBlocks * S::kStageChunks * kChunkPieces;
  static constexpr int kTokenPieces = S::kStageChunks * Config::value.tile_m * S::kLineUnits;
  template <int kPieces>
  static constexpr int kStepsFor = (kPieces + S::kThreads - 1) / S::kThreads;
  // Pieces that one thread moves.
  static constexpr int kSteps = kStepsFor<kWeightPieces> + kStepsFor<kTokenPieces>;

  // Offsets inside a tile are 32 bits wide.
  static_assert(static_cast<i64>(S::kStageRowBlocks) * kChunks * S::kChunkBytes < (i64{1} << 31) &&
                static_cast<i64>(Config::value.tile_m) * kK < (i64{1} << 31));

  __device__ __forceinline__ explicit ByteStageCopy(const ByteOperands& operands)
      : ByteOperands(operands) {}

  // Calls f(index, offset in the stage, global pointer, valid) for each piece of this thread.
  // An invalid piece lies outside the matrices, and its pointer is some valid address.
  template <class F>
  __device__ __forceinline__ void for_each_weight_piece(int stage, const F& f) const {
#pragma unroll
    for (int i = 0; i < kStepsFor<kWeightPieces>; ++i) {
      const int number = i * S::kThreads + static_cast<int>(threadIdx.x);
      if (kWeightPieces % S::kThreads != 0 && number >= kWeightPieces) continue;
      const int block = number / kChunkPieces / S::kStageChunks;
      const int chunk = stage * S::kStageChunks + number / kChunkPieces % S::kStageChunks;
      const bool valid =
          (kChunks % S::kStageChunks == 0 || chunk < kChunks) &&
          (Config::value.shape.row_blocks % S::kStageRowBlocks == 0 || block < row_blocks);
      const int offset = (block * kChunks + chunk) * S::kChunkBytes + number % kChunkPieces * 16;
      f(i, number * 16, weights + (valid ? offset : 0), valid);
    }
  }

  // Eight threads copy the 128 bytes of a token.
  template <class F>
  __device__ __forceinline__ void for_each_token_piece(int stage, const F& f) const {
#pragma unroll
    for (int i = 0; i < kStepsFor<kTokenPieces>; ++i) {
      const int number = i * S::kThreads + static_cast<int>(threadIdx.x);
      if (kTokenPieces % S::kThreads != 0 && number >= kTokenPieces) continue;
      const int unit = number % S::kLineUnits;
      const int row = number / S::kLineUnits % Config::value.tile_m;
      const int chunk = number / S::kLineUnits / Config::value.tile_m;
      const int column = stage * Config::value.stage_k + chunk * Chunk::kColumns + unit * 16;
      const bool valid = row < rows && (kK % Config::value.stage_k == 0 || column < kK);
      f(kStepsFor<kWeightPieces> + i,
        S::kWeightBytes + chunk * S::kTokenBytes + S::unit_offset(row, unit),
        tokens + (valid ? row * kK + column : 0), valid);
    }
  }
};

}  // namespace heddle
