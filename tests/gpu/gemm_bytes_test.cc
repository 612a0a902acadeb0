// GEMM on the GPU of two operands of eight bits by wgmma: shapes that divide nothing, every tile,
// every pair of types, scales and zero points, and what surrounds the product.
#include "generator/target/capabilities.h"
#include "tests/gpu/byte_cases.h"
#include "tests/gpu/gemm_fixture.h"

namespace heddle {
namespace {

class BytesGpu : public GemmGpu {
 protected:
  void SetUp() override {
    GemmGpu::SetUp();
    if (!IsSkipped() && !has_wgmma(target())) GTEST_SKIP() << "wgmma is sm_90's alone";
  }
  void check_all(const std::vector<ByteGemmCase>& cases) {
    for (const ByteGemmCase& one : cases) check(one.spec, one.m_list);
  }
  void check_all_in_turn(const std::vector<ByteGemmCase>& cases) {
    for (const ByteGemmCase& one : cases) check_in_turn(one.spec, one.m_list);
  }
};

TEST_F(BytesGpu, RaggedShapesAndEveryRangeOfTokens) {
  check_all_in_turn(ragged_byte_cases(kMultipliedBytes));
}

TEST_F(BytesGpu, ShapesOfModels) { check_all(model_byte_cases(kMultipliedBytes)); }

TEST_F(BytesGpu, EveryTile) {
  std::size_t i = 0;
  for (const int tile_m : {16, 32, 64, 96, 128, 160, 192, 256}) {
    for (const int tile_n : {64, 128, 256}) {
      if (tile_n == 64 && (tile_m < 32 || tile_m > 128)) continue;
      if (tile_n == 256 && tile_m > 192) continue;
      // With FP8, sums that are promoted leave no registers for these.
      const bool is_large = tile_n == 256 && tile_m > 128;
      GemmSpec spec =
          byte_gemm(1032, 1184, is_large ? DType::kInt8 : rotate(kMultipliedBytes, i++));
      spec.tile.m = tile_m;
      spec.tile.n = tile_n;
      check_in_turn(spec, {1, tile_m - 1, tile_m, tile_m + 1, 3 * tile_m + 5});
    }
  }
}

TEST_F(BytesGpu, EveryPairOfTypes) { check_all_in_turn(byte_pair_cases()); }

TEST_F(BytesGpu, ScalesAndZeroPoints) {
  for (const DType dtype : kMultipliedBytes) check_all_in_turn(byte_scale_cases(dtype));
}

// Sides that are no whole blocks, every tile, both types of factors, and what surrounds the
// product.
TEST_F(BytesGpu, Blocks) {
  for (const std::int64_t n : {8, 128, 264, 1032}) {
    for (const std::int64_t k : {32, 416, 1056}) {
      check(block_gemm(n, k), {1, 2, 9, 16, 17, 40, 64, 100, 201, 600});
    }
  }
  for (const int tile_m : {16, 32, 64, 96, 128, 160, 192, 256}) {
    for (const int tile_n : {64, 128, 256}) {
      if (tile_n == 64 && (tile_m < 32 || tile_m > 128)) continue;
      if (tile_n == 256 && tile_m > 128) continue;
      GemmSpec spec = block_gemm(1032, 1184);
      if (tile_n == 128) spec.activation_scale.scale_dtype = RowScaleDtype::kE8m0;
      spec.tile.m = tile_m;
      spec.tile.n = tile_n;
      check_in_turn(spec, {1, tile_m - 1, tile_m, tile_m + 1, 3 * tile_m + 5});
    }
  }
  for (const DType output : {DType::kFp16, DType::kBf16, DType::kFp32}) {
    GemmSpec spec = block_gemm(512, 1056);
    spec.output = output;
    spec.epilogue = {true, Activation::kSilu, true, true};
    check_in_turn(spec, {1, 20, 129, 300});
  }
  check_in_turn(block_gemm(7168, 2048), {1, 64, 256, 1024});
  check_in_turn(block_gemm(576, 7168), {1, 64, 256, 1024});
}

// Weights of four bits: sides that divide nothing, groups of every size and without, zero points.
TEST_F(BytesGpu, FourBits) {
  std::size_t i = 0;
  for (const DType dtype : kEightBitTypes) {
    for (const int group : {kPerChannel, kPerTensor, 32, 64, 96, 128, 352}) {
      GemmSpec spec = four_bit_gemm(264, 1056, dtype, group == 128 ? kPerChannel : group);
      if (group == 128) spec = four_bit_gemm(264, 1152, dtype);
      spec.weight.type = rotate(kIntegers, i++);
      if (group != 64 && group != kPerTensor) spec.weight.zero_point = ZeroPoint::kInt;
      if (group == 64) spec.shape.k = 1088;
      if (group == 96) spec.shape.k = 1152;
      check_in_turn(spec, {1, 16, 33, 100, 201, 600});
    }
  }
  for (const DType dtype : kMultipliedBytes) {
    for (const std::int64_t n : {8, 24, 1032}) {
      check_in_turn(four_bit_gemm(n, 160, dtype, kPerChannel),
                    {1, 2, 9, 17, 40, 64, 100, 200, 600});
      check_in_turn(four_bit_gemm(n, 128, dtype), {1, 2, 9, 17, 40, 64, 100, 200, 600});
    }
  }
}

// One of the ways to scale in turn.
TEST_F(BytesGpu, EveryTileOfFourBits) {
  int turn = 0;
  for (const DType dtype : kMultipliedBytes) {
    for (const int group : {128, 32, kPerChannel}) {
      for (const int tile_m : {16, 32, 64, 96, 128, 160, 192, 256}) {
        for (const int tile_n : {64, 128, 256}) {
          if ((++turn + tile_m / 32) % 3 != 0) continue;
          if (tile_n == 64 && (tile_m < 32 || tile_m > 128)) continue;
          if (!has_four_bit_tile(dtype, group, tile_m, tile_n)) continue;
          GemmSpec spec = four_bit_gemm(1032, 1280, dtype, group);
          if (tile_m % 64 == 0) spec.weight.zero_point = ZeroPoint::kInt;
          spec.tile.m = tile_m;
          spec.tile.n = tile_n;
          check_in_turn(spec, {1, tile_m - 1, tile_m, tile_m + 1, 3 * tile_m + 5});
        }
      }
    }
  }
}

// Scales, shards that begin inside of a group, and what surrounds the product.
TEST_F(BytesGpu, AroundFourBits) {
  for (const DType dtype : kMultipliedBytes) {
    for (const DType scale : {DType::kBf16, DType::kFp32}) {
      GemmSpec spec = four_bit_gemm(520, 1152, dtype);
      spec.weight.scale_dtype = scale;
      spec.activation_scale.granularity = RowGranularity::kTensor;
      check_in_turn(spec, {1, 33, 100, 300});
    }
    GemmSpec shard = four_bit_gemm(520, 1120, dtype);
    shard.weight.group_offset = 32;
    check_in_turn(shard, {1, 33, 100, 300});
    constexpr int kGroups[] = {128, kPerChannel};
    std::size_t i = 0;
    for (const DType output : {DType::kFp16, DType::kBf16, DType::kFp32}) {
      for (const EpilogueSpec& epilogue :
           {EpilogueSpec{}, EpilogueSpec{true, Activation::kSilu, true},
            EpilogueSpec{true, Activation::kSilu, true, true}}) {
        GemmSpec spec = four_bit_gemm(528, 1152, dtype, rotate(kGroups, i++));
        spec.output = output;
        spec.epilogue = epilogue;
        check_in_turn(spec, {1, 20, 129, 300});
      }
    }
    check_in_turn(four_bit_gemm(2112, 7168, dtype), {1, 16, 64, 256, 1024});
    check_in_turn(four_bit_gemm(576, 7168, dtype), {1, 64, 256, 1024});
    check_in_turn(four_bit_gemm(4096, 14336, dtype), {1, 16, 33, 64, 128, 512});
  }
  GemmSpec fast = four_bit_gemm(520, 1056, DType::kFp8E4m3, kPerChannel);
  fast.accumulation = Accumulation::kFast;
  check(fast, {1, 33, 100, 300});
}

// Scales in two levels: groups of every size, signs and zero points, every tile that per-channel
// scales have, a shard, and what surrounds the product.
TEST_F(BytesGpu, TwoLevels) {
  std::size_t i = 0;
  for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
    for (const int group : {32, 64, 96, 128, 384}) {
      GemmSpec spec = two_level_gemm(264, 1152, group);
      if (group == 64) spec.shape.k = 1088;
      spec.weight.type = rotate(kIntegers, i++);
      spec.weight.zero_point = zero;
      check_in_turn(spec, {1, 16, 33, 100, 201, 600});
    }
  }
  for (const std::int64_t n : {8, 24, 1032}) {
    check_in_turn(two_level_gemm(n, 160, 32), {1, 2, 9, 17, 40, 64, 100, 200, 600});
  }
  for (const int tile_m : {16, 32, 64, 96, 128, 160, 192, 256}) {
    for (const int tile_n : {64, 128, 256}) {
      if (tile_n == 64 && (tile_m < 32 || tile_m > 128)) continue;
      if (!has_four_bit_tile(DType::kInt8, kPerChannel, tile_m, tile_n)) continue;
      GemmSpec spec = two_level_gemm(1032, 1280, tile_m % 64 == 0 ? 32 : 128);
      if (tile_n == 128) spec.weight.zero_point = ZeroPoint::kInt;
      spec.tile.m = tile_m;
      spec.tile.n = tile_n;
      check_in_turn(spec, {1, tile_m - 1, tile_m, tile_m + 1, 3 * tile_m + 5});
    }
  }
  GemmSpec shard = two_level_gemm(520, 1120, 128);
  shard.weight.group_offset = 32;
  shard.weight.zero_point = ZeroPoint::kInt;
  check_in_turn(shard, {1, 33, 100, 300});
  for (const DType output : {DType::kFp16, DType::kBf16, DType::kFp32}) {
    for (const EpilogueSpec& epilogue :
         {EpilogueSpec{}, EpilogueSpec{true, Activation::kSilu, true},
          EpilogueSpec{true, Activation::kSilu, true, true}}) {
      GemmSpec spec = two_level_gemm(528, 1152, 32);
      spec.weight.channel_scale = rotate(kSixteenBitTypes, i++);
      spec.output = output;
      spec.epilogue = epilogue;
      check_in_turn(spec, {1, 20, 129, 300});
    }
  }
  check_in_turn(two_level_gemm(2112, 7168, 32), {1, 16, 64, 256, 1024});
  check_in_turn(two_level_gemm(4096, 14336), {1, 16, 33, 64, 128, 512});
}

TEST_F(BytesGpu, WhatSurroundsTheProduct) {
  check_all_in_turn(byte_surroundings(kMultipliedBytes));
}

}  // namespace
}  // namespace heddle
