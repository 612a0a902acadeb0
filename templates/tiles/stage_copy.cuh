// From global memory to one stage of shared memory: chunks of weights and rows of activations.
#pragma once

#include "primitives/memory.cuh"
#include "tiles/operands.cuh"
#include "tiles/shape.cuh"

namespace heddle {

// Tokens: a policy of operands.cuh.
template <class Config, class Tokens = DenseTokens>
struct StageCopy : Tokens::Operands {
  using Operands = typename Tokens::Operands;
  using Operands::pre_scale;
  using Operands::row_blocks;
  using Operands::rows;
  using Operands::tokens;
  using Operands::weights;
  using S = Shape<Config>;
  // 16-byte pieces of one stage. Weights and metadata are counted apart, because the first is a
  // power of two per chunk and the second is not.
  static constexpr int kPiecesPerChunk = Config::value.weights.scale_offset / 16;
  static constexpr int kMetaPerChunk = Config::value.weights.chunk_bytes / 16 - kPiecesPerChunk;
  static constexpr int kStageChunksAll = S::kStageRowBlocks * S::kStageChunks;
  static constexpr int kWeightPieces = kStageChunksAll * kPiecesPerChunk;
  static constexpr int kMetaPieces = kStageChunksAll * kMetaPerChunk;
  static constexpr int kTokenUnits = Config::value.stage_k / 8;
  static constexpr int kTokenPieces = Config::value.tile_m * kTokenUnits;
  static constexpr int kPreScalePieces = Config::value.pre_scale ? kTokenUnits : 0;

  template <int kPieces>
  static constexpr int kStepsFor = (kPieces + S::kThreads - 1) / S::kThreads;
  // Pieces that one thread moves.
  static constexpr int kSteps = kStepsFor<kWeightPieces> + kStepsFor<kMetaPieces> +
                                kStepsFor<kTokenPieces> + kStepsFor<kPreScalePieces>;

  // Offsets inside a tile are 32 bits wide.
  static_assert(static_cast<i64>(S::kStageRowBlocks) * Config::value.shape.chunks *
                        Config::value.weights.chunk_bytes <
                    (i64{1} << 31) &&
                static_cast<i64>(Config::value.tile_m) * Config::value.shape.k * 2 <
                    (i64{1} << 31));

  __device__ __forceinline__ explicit StageCopy(const Operands& operands) : Operands(operands) {}

  // Calls f(index, offset in the stage, global pointer, valid) for each piece of this thread.
  // An invalid piece lies outside the matrices, and its pointer is some valid address.
  template <class F>
  __device__ __forceinline__ void for_each_piece(int stage, const F& f) const {
    for_each_weight_piece(stage, f);
    for_each_token_piece(stage, f);
  }

  template <class F>
  __device__ __forceinline__ void for_each_weight_piece(int stage, const F& f) const {
    const int first_chunk = stage * S::kStageChunks;
    int index = 0;
#pragma unroll
    for (int i = 0; i < kStepsFor<kWeightPieces>; ++i, ++index) {
      const int piece = i * S::kThreads + static_cast<int>(threadIdx.x);
      if (kWeightPieces % S::kThreads != 0 && piece >= kWeightPieces) continue;
      copy_chunk_piece(index, first_chunk, piece / kPiecesPerChunk, piece % kPiecesPerChunk, f);
    }
#pragma unroll
    for (int i = 0; i < kStepsFor<kMetaPieces>; ++i, ++index) {
      const int piece = i * S::kThreads + static_cast<int>(threadIdx.x);
      if (kMetaPieces % S::kThreads != 0 && piece >= kMetaPieces) continue;
      constexpr int kDivisor = kMetaPerChunk > 0 ? kMetaPerChunk : 1;
      copy_chunk_piece(index, first_chunk, piece / kDivisor, kPiecesPerChunk + piece % kDivisor, f);
    }
  }

  // Calls f for the 16-byte pieces of the tokens, and of the factors of their columns.
  template <class F>
  __device__ __forceinline__ void for_each_token_piece(int stage, const F& f) const {
    int index = kStepsFor<kWeightPieces> + kStepsFor<kMetaPieces>;
#pragma unroll
    for (int i = 0; i < kStepsFor<kTokenPieces>; ++i, ++index) {
      const int piece = i * S::kThreads + static_cast<int>(threadIdx.x);
      if (kTokenPieces % S::kThreads != 0 && piece >= kTokenPieces) continue;
      const int row = piece / kTokenUnits;
      const int unit = piece % kTokenUnits;
      const int column = stage * Config::value.stage_k + unit * 8;
      const bool valid = row < rows && (Config::value.shape.k % Config::value.stage_k == 0 ||
                                        column < Config::value.shape.k);
      const auto offset = valid ? Tokens::template offset<Config>(*this, row, column) : 0;
      f(index, S::kWeightBytes + token_unit_offset<Config>(row, unit), tokens + offset, valid);
    }
#pragma unroll
    for (int i = 0; i < kStepsFor<kPreScalePieces>; ++i, ++index) {
      const int unit = i * S::kThreads + static_cast<int>(threadIdx.x);
      if (kPreScalePieces % S::kThreads != 0 && unit >= kPreScalePieces) continue;
      const int column = stage * Config::value.stage_k + unit * 8;
      const bool valid =
          Config::value.shape.k % Config::value.stage_k == 0 || column < Config::value.shape.k;
      f(index, S::kPreScaleOffset + unit * 16, pre_scale + (valid ? 2 * column : 0), valid);
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
        (Config::value.shape.chunks % S::kStageChunks == 0 ||
         first_chunk + column < Config::value.shape.chunks) &&
        (Config::value.shape.row_blocks % S::kStageRowBlocks == 0 || block < row_blocks);
    const int offset = (block * Config::value.shape.chunks + first_chunk + column) *
                           Config::value.weights.chunk_bytes +
                       piece * 16;
    f(index, block * S::kRowBlockBytes + column * Config::value.weights.chunk_bytes + piece * 16,
      weights + (valid ? offset : 0), valid);
  }
};

}  // namespace heddle
