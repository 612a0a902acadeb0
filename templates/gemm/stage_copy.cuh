// From global memory to one stage of shared memory: chunks of weights and rows of activations.
#pragma once

#include "gemm/shape.cuh"
#include "primitives/memory.cuh"

namespace heddle {

template <class Config>
struct StageCopy {
  using S = Shape<Config>;
  // 16-byte pieces of one stage. Weights and metadata are counted apart, because the first is a
  // power of two per chunk and the second is not.
  static constexpr int kPiecesPerChunk = Config::kScaleOffset / 16;
  static constexpr int kMetaPerChunk = Config::kChunkBytes / 16 - kPiecesPerChunk;
  static constexpr int kStageChunksAll = S::kStageRowBlocks * S::kStageChunks;
  static constexpr int kWeightPieces = kStageChunksAll * kPiecesPerChunk;
  static constexpr int kMetaPieces = kStageChunksAll * kMetaPerChunk;
  static constexpr int kTokenUnits = Config::kStageK / 8;
  static constexpr int kTokenPieces = Config::kTileM * kTokenUnits;

  static constexpr int steps(int pieces) { return (pieces + S::kThreads - 1) / S::kThreads; }
  // Pieces that one thread moves.
  static constexpr int kSteps = steps(kWeightPieces) + steps(kMetaPieces) + steps(kTokenPieces);

  const u8* weights;  // the row block's first chunk
  const u8* tokens;   // x
  int row_block;      // of the tile's first row
  int token;          // the tile's first
  int m;

  // Calls f(index, offset in the stage, global pointer, valid) for each piece of this thread.
  // An invalid piece lies outside the matrices, and its pointer is some valid address.
  template <class F>
  __device__ __forceinline__ void for_each_piece(int stage, const F& f) const {
    const int first_chunk = stage * S::kStageChunks;
    int index = 0;
#pragma unroll
    for (int i = 0; i < steps(kWeightPieces); ++i, ++index) {
      const int piece = i * S::kThreads + static_cast<int>(threadIdx.x);
      if (kWeightPieces % S::kThreads != 0 && piece >= kWeightPieces) continue;
      copy_chunk_piece(index, first_chunk, piece / kPiecesPerChunk, piece % kPiecesPerChunk, f);
    }
#pragma unroll
    for (int i = 0; i < steps(kMetaPieces); ++i, ++index) {
      const int piece = i * S::kThreads + static_cast<int>(threadIdx.x);
      if (kMetaPieces % S::kThreads != 0 && piece >= kMetaPieces) continue;
      constexpr int kDivisor = kMetaPerChunk > 0 ? kMetaPerChunk : 1;
      copy_chunk_piece(index, first_chunk, piece / kDivisor, kPiecesPerChunk + piece % kDivisor, f);
    }
#pragma unroll
    for (int i = 0; i < steps(kTokenPieces); ++i, ++index) {
      const int piece = i * S::kThreads + static_cast<int>(threadIdx.x);
      if (kTokenPieces % S::kThreads != 0 && piece >= kTokenPieces) continue;
      const int row = piece / kTokenUnits;
      const int unit = piece % kTokenUnits;
      const int column = stage * Config::kStageK + unit * 8;
      const bool valid = token + row < m && (Config::kK % Config::kStageK == 0 || column < Config::kK);
      const i64 element = static_cast<i64>(token + row) * Config::kK + column;
      f(index, S::kWeightBytes + token_unit_offset<Config>(row, unit),
        valid ? tokens + 2 * element : tokens, valid);
    }
  }

 private:
  // Piece `piece` of chunk `chunk` of the stage, counted row block by row block.
  template <class F>
  __device__ __forceinline__ void copy_chunk_piece(int index, int first_chunk, int chunk, int piece,
                                                   const F& f) const {
    const int block = chunk / S::kStageChunks;
    const int column = chunk % S::kStageChunks;
    const bool valid =
        (Config::kChunks % S::kStageChunks == 0 || first_chunk + column < Config::kChunks) &&
        (Config::kRowBlocks % S::kStageRowBlocks == 0 || row_block + block < Config::kRowBlocks);
    const i64 offset = (static_cast<i64>(block) * Config::kChunks + first_chunk + column) *
                           Config::kChunkBytes +
                       piece * 16;
    f(index, block * S::kRowBlockBytes + column * Config::kChunkBytes + piece * 16,
      valid ? weights + offset : weights, valid);
  }
};

}  // namespace heddle
