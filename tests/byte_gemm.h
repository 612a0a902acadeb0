// GEMMs of two operands of eight bits.
#ifndef HEDDLE_TESTS_BYTE_GEMM_H_
#define HEDDLE_TESTS_BYTE_GEMM_H_

#include <cstdint>

#include "heddle/spec.h"

namespace heddle {

// Types of activations and outputs.
inline constexpr DType kEightBitTypes[] = {DType::kInt8, DType::kFp8E4m3, DType::kFp8E5m2};

// Scales per token and channel, FP16 output.
inline GemmSpec byte_gemm(std::int64_t n, std::int64_t k, DType dtype) {
  GemmSpec spec;
  spec.shape.n = n;
  spec.shape.k = k;
  spec.activation = dtype;
  spec.activation_scale.granularity = RowGranularity::kToken;
  spec.output = DType::kFp16;
  spec.weight.bits = 8;
  spec.weight.type = dtype == DType::kInt8      ? WeightType::kInt
                     : dtype == DType::kFp8E5m2 ? WeightType::kE5m2
                                                : WeightType::kE4m3;
  spec.weight.group_size = kPerChannel;
  spec.weight.scale_dtype = DType::kFp32;
  spec.weight.interleave = Interleave::kSwizzle128b;
  return spec;
}

// FP8 with scales of 128 columns of X and of 128 by 128 blocks of W, FP16 output.
inline GemmSpec block_gemm(std::int64_t n, std::int64_t k) {
  GemmSpec spec = byte_gemm(n, k, DType::kFp8E4m3);
  spec.activation_scale.granularity = RowGranularity::kGroup;
  spec.weight.group_size = kRowGroup;
  spec.weight.group_rows = kBlockRows;
  return spec;
}

// Whether registers hold a tile of weights of four bits: sums of groups of INT8 for one row tile of
// each of two warpgroups, promoted ones for 160 tokens, or 96 of two row tiles.
inline bool has_four_bit_tile(DType dtype, int group_size, int tile_m, int tile_n) {
  const bool is_int8 = dtype == DType::kInt8;
  if (group_size == kPerChannel) {
    if (is_int8) return tile_m * tile_n <= 128 * 256;
    return tile_n == 256 ? tile_m <= 96 : tile_m <= 160;
  }
  if (is_int8) return tile_n == 256 ? tile_m < 64 : tile_m <= 128;
  return tile_n == 256 ? tile_m <= 128 : tile_m <= 192;
}

// Weights of four bits in groups of 128 columns, or kPerChannel, scales in FP16.
inline GemmSpec four_bit_gemm(std::int64_t n, std::int64_t k, DType dtype, int group_size = 128) {
  GemmSpec spec = byte_gemm(n, k, dtype);
  spec.weight = {};
  spec.weight.group_size = group_size;
  spec.weight.interleave = Interleave::kByteFragment;
  return spec;
}

// As above, with scales in two levels, those of channels in FP32.
inline GemmSpec two_level_gemm(std::int64_t n, std::int64_t k, int group_size = 128) {
  GemmSpec spec = four_bit_gemm(n, k, DType::kInt8, group_size);
  spec.weight.scale_dtype = DType::kInt8;
  spec.weight.channel_scale = DType::kFp32;
  return spec;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_BYTE_GEMM_H_
