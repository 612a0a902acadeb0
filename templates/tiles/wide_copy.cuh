// What one thread copies of each stage of a wide tile, in as many slices as its warp multiplies
// blocks of 64 columns of a stage. The copies of a slice are constant distances from two addresses
// that walk on from slice to slice, so that two instructions start one.
#pragma once

#include "primitives/memory.cuh"
#include "tiles/operands.cuh"
#include "tiles/shape.cuh"

namespace heddle {

// Tokens: a policy of operands.cuh.
template <class Config, class Tokens = DenseTokens>
struct WideCopy {
  using S = Shape<Config>;
  using Operands = typename Tokens::Operands;
  static constexpr int kWarps = S::kThreads / 32;
  static constexpr int kSlices = S::kRun / 64;
  // Tokens: a thread has the same 16 bytes of every kTokenStep-th row.
  static constexpr int kTokenUnits = Config::value.stage_k / 8;
  static constexpr int kTokenStep = S::kThreads / kTokenUnits;
  static constexpr int kTokenCopies = Config::value.tile_m / kTokenStep / kSlices;
  static constexpr int kSliceRows = kTokenCopies * kTokenStep;
  // Weights: a warp has every kWarps-th row block, whose chunks of a stage lie one after the other.
  static constexpr int kBlocks = S::kStageRowBlocks / kWarps / kSlices;
  static constexpr int kSliceBlocks = kBlocks * kWarps;
  static constexpr int kBlockCopies = (S::kRowBlockBytes + 511) / 512;
  static constexpr int kWeightCopies = kBlocks * kBlockCopies;
  // Factors of the columns of X, by the first threads.
  static constexpr int kFactorCopies = Config::value.pre_scale ? 1 : 0;
  static constexpr int kCopies = kTokenCopies + kWeightCopies + kFactorCopies;
  static constexpr i64 kRowBytes = 2 * Config::value.shape.k;
  static constexpr i64 kPackedBlockBytes =
      static_cast<i64>(Config::value.shape.chunks) * Config::value.weights.chunk_bytes;
  static constexpr bool kWholeStages = Config::value.shape.k % Config::value.stage_k == 0 &&
                                       Config::value.shape.chunks % S::kStageChunks == 0;
  static constexpr bool kWholeBlocks = Config::value.shape.row_blocks % S::kStageRowBlocks == 0;

  static_assert(S::kThreads % kTokenUnits == 0 && kTokenStep % 8 == 0,
                "rows of a thread are swizzled alike");
  static_assert(Config::value.tile_m % (kTokenStep * kSlices) == 0 &&
                    S::kStageRowBlocks % (kWarps * kSlices) == 0,
                "all threads copy as much in all slices");

  const u8* tokens;  // the thread's part of the first row of the slice; of gathered ones of token 0
  const u8* weights;
  const u8* pre_scale;
  u32 token_to, weight_to;  // from the beginning of a stage
  u32 table = 0;            // of gathered tokens: the entry of the thread's first row of the slice
  int rows;                 // of X, from the thread's first of the slice
  int row_blocks;           // of W, from the warp's first of the slice
  int slice = 0;
  bool ends_block;  // takes part in the last, shorter copy of a row block

  // Copies stage `stage` of the block's tile.
  __device__ __forceinline__ WideCopy(int stage, const Operands& tile) {
    const int thread = static_cast<int>(threadIdx.x);
    const int row = thread / kTokenUnits;
    tokens = tile.tokens + 16 * unit() + static_cast<i64>(stage) * S::kTokenBytes;
    if constexpr (Tokens::kGathered) {
      table = tile.table + 4 * row;
    } else {
      tokens += row * kRowBytes;
    }
    token_to = S::kWeightBytes + token_unit_offset<Config>(row, unit());
    rows = tile.rows - row;
    const int warp = thread / 32;
    weights = tile.weights + warp * kPackedBlockBytes + 16 * lane() +
              static_cast<i64>(stage) * S::kRowBlockBytes;
    weight_to = warp * S::kRowBlockBytes + 16 * lane();
    row_blocks = tile.row_blocks - warp;
    ends_block = 512 * (kBlockCopies - 1) + 16 * lane() < S::kRowBlockBytes;
    pre_scale = tile.pre_scale + 16 * thread + static_cast<i64>(stage) * S::kTokenBytes;
  }

  // Starts copy i of the slice, of stage `stage`, into the stage at shared address `to`, if it is
  // wanted. What lies outside of the matrices is not copied, and its results are not stored; only
  // at the end of K, which all sums reach, it is zero.
  __device__ __forceinline__ void start(int i, int stage, u32 to, bool wanted) const {
    const bool column_valid =
        kWholeStages || stage * Config::value.stage_k + 8 * unit() < Config::value.shape.k;
    if (i < kTokenCopies) {
      copy_async_16_if(wanted && i * kTokenStep < rows,
                       to + token_to + i * (kTokenStep * S::kTokenBytes),
                       tokens + row_bytes(i * kTokenStep), column_valid);
    } else if (i < kTokenCopies + kWeightCopies) {
      const int block = (i - kTokenCopies) / kBlockCopies * kWarps;
      const int part = (i - kTokenCopies) % kBlockCopies;
      const int chunks = Config::value.shape.chunks - stage * S::kStageChunks;
      copy_async_16_if(
          wanted && (kWholeBlocks || block < row_blocks) && (part < kBlockCopies - 1 || ends_block),
          to + weight_to + block * S::kRowBlockBytes + 512 * part,
          weights + block * kPackedBlockBytes + 512 * part,
          kWholeStages || 512 * part + 16 * lane() < chunks * Config::value.weights.chunk_bytes);
    } else {
      // The first slice copies it once.
      copy_async_16_if(wanted && slice == 0 && threadIdx.x < kTokenUnits,
                       to + S::kPreScaleOffset + 16 * unit(), pre_scale, column_valid);
    }
  }

  // Goes on to the next slice; true where that is the first of another stage.
  __device__ __forceinline__ bool end_slice() {
    const bool ends_stage = kSlices == 1 || ++slice == kSlices;
    if (!ends_stage) {
      walk(1, 0);
    } else {
      walk(1 - kSlices, 1);
      slice = 0;
      if constexpr (Config::value.pre_scale) pre_scale += S::kTokenBytes;
    }
    return ends_stage;
  }

 private:
  // Bytes from `tokens` to the same part of so many rows further.
  __device__ __forceinline__ i64 row_bytes(int rows_further) const {
    if constexpr (Tokens::kGathered) {
      return static_cast<i64>(load_shared_4(table + 4 * rows_further)) * kRowBytes;
    } else {
      return rows_further * kRowBytes;
    }
  }
  __device__ __forceinline__ void walk(int slices, int stages) {
    if constexpr (Tokens::kGathered) {
      tokens += stages * S::kTokenBytes;
      table += slices * kSliceRows * 4;
    } else {
      tokens += slices * kSliceRows * kRowBytes + stages * S::kTokenBytes;
    }
    token_to += slices * kSliceRows * S::kTokenBytes;
    rows -= slices * kSliceRows;
    weights += slices * kSliceBlocks * kPackedBlockBytes + stages * S::kRowBlockBytes;
    weight_to += slices * kSliceBlocks * S::kRowBlockBytes;
    row_blocks -= slices * kSliceBlocks;
  }
  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % 32; }
  static __device__ __forceinline__ int unit() {
    return static_cast<int>(threadIdx.x) % kTokenUnits;
  }
};

}  // namespace heddle
