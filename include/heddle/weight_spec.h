// WeightSpec: how W is quantised and stored, and the operations that read or make packed weights.
//
// docs/layouts.md has the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "heddle/dtype.h"

namespace heddle {

inline constexpr int kPerChannel = -1;  // WeightSpec::group_size: one scale per row of W
inline constexpr int kPerTensor = 0;    // WeightSpec::group_size: one scale for all of W
inline constexpr int kBlockRows = 128;  // WeightSpec::group_rows of blocks

// kInt: two's complement. eXmY: a sign, X exponent bits and Y mantissa bits, with subnormals.
// kNf4: sixteen values, the NormalFloat of QLoRA. kFp16, kBf16: weights that were not quantised.
enum class WeightType { kUint, kInt, kE4m3, kE5m2, kE2m3, kE3m2, kE2m1, kNf4, kFp16, kBf16 };
enum class ZeroPoint { kNone, kInt, kFloat };
// The order of the codes in a packed word; see ElementOrder. The last two are of weights that are
// multiplied by activations of eight bits: kSwizzle128b of 8 bits, kByteFragment of 4.
enum class Interleave {
  kFragment,
  kLinear,
  kAwq,
  kEvenOdd,
  kTrtllm,
  kPermutation,
  kSwizzle128b,
  kByteFragment
};
// How a checkpoint stores integer codes, scales and zero points; docs/checkpoints.md has the bytes.
enum class CheckpointFormat { kHeddle, kAwq, kGptq, kGptqV2 };

// Weights that were not quantised (has_scales() is false) have 16 bits and neither groups, scales
// nor zero points.
struct WeightSpec {
  int bits = 4;
  WeightType type = WeightType::kUint;
  int group_size = 128;  // weights along K that share a scale, kPerChannel or kPerTensor
  // kNone: kUint codes have the fixed bias 2^(bits-1), others have none. kFloat: of scale_dtype.
  ZeroPoint zero_point = ZeroPoint::kNone;
  DType scale_dtype = DType::kFp16;  // absent in JSON: the activation's dtype
  bool tensor_scale = false;         // one FP32 factor more, for all of W
  Interleave interleave = Interleave::kFragment;
  std::vector<int> permutation{};  // kPermutation: field i of a word is element permutation[i]
  // W is a shard: its column 0 is column group_offset of a group.
  int group_offset = 0;
  // Rows of W that share a scale: 1, or kBlockRows of blocks of 128 by 128, which activations of 8
  // bits with scales of groups are multiplied by.
  int group_rows = 1;
  // Scales in two levels, of 4 bits that INT8 multiplies: those of groups are integers of 1 to 127,
  // and each row has one scale more, of this type: kFp16, kBf16 or kFp32.
  std::optional<DType> channel_scale{};

  bool has_blocks() const noexcept { return group_rows != 1; }
  bool has_two_levels() const noexcept { return channel_scale.has_value(); }
  bool has_scales() const noexcept {
    return type != WeightType::kFp16 && type != WeightType::kBf16;
  }
};

struct MatrixShape {
  std::int64_t n = 0;
  std::int64_t k = 0;
};

// The operations that read or make packed weights W[N, K]:
//   dequantize       from `format` to W in `dtype`, row-major
//   repack           from `format`, which is not kHeddle, to Heddle's layout
//   quantize_weight  from W in `dtype`, row-major, to Heddle's layout, each code the nearest
struct WeightOpSpec {
  MatrixShape shape;
  WeightSpec weight;  // what the codes mean, in every format
  CheckpointFormat format = CheckpointFormat::kHeddle;
  bool act_order = false;      // the source's columns are permuted: GPTQ with g_idx
  DType dtype = DType::kFp16;  // kFp16 or kBf16; no part of repack
  // Packed weights are those of a gemm with EpilogueSpec::gated; W is gates first, then ups.
  bool gated = false;
};

}  // namespace heddle
