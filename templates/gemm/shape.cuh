// Constants that follow from a GEMM's Config.
//
// A block computes kTileN rows of W by kTileM tokens. Weights are the A operand: a warp owns
// kRowTiles tiles of 16 rows and kTokenTiles tiles of 8 tokens, and kRun columns of every stage.
#pragma once

#include "primitives/types.cuh"

namespace heddle {

enum class ScaleMode {
  kAccumulator,  // each group's partial sum is scaled in FP32
  kWeight,       // the decoded weight is scaled in its own type
  kChannel,      // one scale per row, in the epilogue
};

// Float zero points do not touch the weights: they meet the sums, with the sums of the tokens.
enum class ZeroPoint { kNone, kInt, kFloat };

enum class Activation { kNone, kRelu, kGelu, kGeluTanh, kSilu };

// The bytes that differ between kernels, and where they lie in a stage of shared memory:
// first the chunks of every row block, then the activations [kTileM][kStageK], swizzled, then the
// factors of the activations' columns [kStageK], if there are any.
template <class Config>
struct Shape {
  static constexpr int kRowBlock = 16;
  static constexpr int kChunkK = 128;
  static constexpr int kThreads = 32 * Config::kWarpsM * Config::kWarpsN * Config::kWarpsK;

  static constexpr int kRowTiles = Config::kTileN / (16 * Config::kWarpsN);
  static constexpr int kTokenTiles = Config::kTileM / (8 * Config::kWarpsM);
  static constexpr int kRun = Config::kStageK / Config::kWarpsK;
  // How far a warp goes between two looks at scales and zero points. Large tiles have little to
  // gain from a long unit, and no registers for it.
  static constexpr bool kLongUnit =
      Config::kMetaGroup >= 128 && kRun >= 128 && kRowTiles * kTokenTiles < 8;
  static constexpr int kUnit =
      kLongUnit ? 128 : (Config::kMetaGroup >= 64 ? 64 : Config::kMetaGroup);

  static constexpr int kStageChunks = Config::kStageK / kChunkK;
  static constexpr int kStageRowBlocks = Config::kTileN / kRowBlock;
  static constexpr int kRowBlockBytes = kStageChunks * Config::kChunkBytes;
  static_assert(Config::kScaleOffset == 256 * Config::kBits, "16 rows by 128 columns");
  static constexpr int kWeightBytes = kStageRowBlocks * kRowBlockBytes;
  static constexpr int kTokenBytes = 2 * Config::kStageK;
  static constexpr int kPreScaleOffset = kWeightBytes + Config::kTileM * kTokenBytes;
  static constexpr int kStageBytes = kPreScaleOffset + (Config::kPreScale ? kTokenBytes : 0);

  static constexpr int kTotalStages = (Config::kChunks + kStageChunks - 1) / kStageChunks;

  // FP32 sums in the epilogue: [kWarpsK][kTileM][kSumStride]; the padding spreads the banks.
  static constexpr int kSumStride = Config::kTileN + 4;
  static constexpr int kSumBytes = 4 * Config::kWarpsK * Config::kTileM * kSumStride;

  static_assert(Config::kStageK % kChunkK == 0 && kRun % 64 == 0,
                "a warp reads 64 columns at once");
  static_assert(Config::kTileN % (16 * Config::kWarpsN) == 0, "whole row tiles per warp");
  static_assert(Config::kTileM % (8 * Config::kWarpsM) == 0, "whole token tiles per warp");
  static_assert(Config::kChunkBytes % 16 == 0, "chunks are copied in 16-byte pieces");
  static_assert(Config::kSharedBytes >= Config::kStages * kStageBytes &&
                    Config::kSharedBytes >= kSumBytes,
                "the launch gives this much shared memory");
};

// Chunks of stage k of a row block: fewer at the end of K, where the last stage may be short.
template <int kChunks, int kStageChunks>
__device__ __forceinline__ int chunks_of_stage(int k) {
  const int left = kChunks - k * kStageChunks;
  return kChunks % kStageChunks == 0 || left > kStageChunks ? kStageChunks : left;
}

// Units of 16 bytes in a row of activations are permuted by the row's low bits, so that the eight
// rows of one ldmatrix tile lie in different banks.
template <class Config>
__device__ __forceinline__ u32 token_unit_offset(u32 row, u32 unit) {
  return row * Shape<Config>::kTokenBytes + ((unit ^ (row & 7)) << 4);
}

}  // namespace heddle
