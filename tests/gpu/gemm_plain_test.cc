// GEMM on the GPU with weights of 16 bits, which were not quantised: every family and path, shapes
// that divide nothing, and what surrounds the product.
#include "generator/target/capabilities.h"
#include "tests/gpu/gemm_fixture.h"
#include "tests/plain_weight.h"

namespace heddle {
namespace {

class PlainGpu : public GemmGpu {};

TEST_F(PlainGpu, RaggedShapesAndEveryRangeOfTokens) {
  std::size_t i = 0;
  for (const std::int64_t k : {32, 160, 896, 1056}) {
    for (const std::int64_t n : {8, 24, 128, 264, 1032}) {
      check_in_turn(plain_gemm(n, k, rotate(kSixteenBitTypes, i++)),
                    {1, 2, 8, 9, 16, 17, 40, 64, 100, 200, 600});
    }
  }
}

// A router, a head and a layer that a quantiser left alone.
TEST_F(PlainGpu, ShapesOfModels) {
  check(plain_gemm(128, 2880, DType::kBf16), {1, 4, 16, 64, 256, 1024});
  check(plain_gemm(2560, 2880, DType::kBf16), {1, 8, 16, 64, 256, 1024});
  check(plain_gemm(32064, 4096, DType::kFp16), {1, 8, 16, 33, 64, 128, 512});
}

TEST_F(PlainGpu, EveryPath) {
  for (const auto& [path, n] : {std::pair{Path::kTuring, 136}, {Path::kAmpere, 1032}}) {
    GemmSpec spec = plain_gemm(n, 1056, DType::kFp16);
    spec.path = path;
    check(spec, {1, 8, 20, 50, 100, 300});
  }
  GemmSpec wide = plain_gemm(4096, 1024, DType::kBf16);
  wide.path = Path::kAmpere;
  check(wide, {64, 130, 512});
}

// The fastest kernel of each family, whether or not it is the planner's choice.
TEST_F(PlainGpu, EveryFamily) {
  struct Range {
    MRange m;
    IsWanted wanted;
  };
  const auto is_gemv = [](const PlannedKernel& kernel) { return kernel.family->name() == "gemv"; };
  for (const DType dtype : kSixteenBitTypes) {
    GemmSpec one = plain_gemm(1032, 2080, dtype);
    one.shape.m_max = 1;
    check_kernel(one, is_gemv, {1});
  }
  if (!is_hopper(target())) return;
  std::size_t i = 0;
  for (const Range& range : {Range{{1, 8}, is_stream},
                             {{9, 16}, is_stream},
                             {{1, 8}, is_bulk},
                             {{17, 64}, is_bulk},
                             {{9, 16}, is_wgmma},
                             {{33, 64}, is_wgmma},
                             {{65, 128}, is_wgmma},
                             {{129, 1000}, is_wgmma}}) {
    GemmSpec spec = plain_gemm(1032, 2080, rotate(kSixteenBitTypes, i++));
    spec.shape.m_min = range.m.min;
    spec.shape.m_max = range.m.max;
    check_kernel(spec, range.wanted, {range.m.min, range.m.max});
  }
}

TEST_F(PlainGpu, EveryTileOfWgmma) {
  if (!is_hopper(target())) GTEST_SKIP() << "wgmma is sm_90's alone";
  for (const int tile_m : {16, 32, 64, 96, 128, 160, 192, 256}) {
    for (const int tile_n : {64, 128, 256}) {
      if (tile_n == 64 && (tile_m < 32 || tile_m > 128)) continue;
      if (tile_n == 256 && tile_m > 128) continue;
      GemmSpec spec = plain_gemm(1032, 1184, tile_n == 128 ? DType::kBf16 : DType::kFp16);
      spec.path = Path::kHopper;
      spec.shape.m_min = 9;
      spec.shape.m_max = 520;
      spec.tile.m = tile_m;
      spec.tile.n = tile_n;
      check_in_turn(spec, {9, 40, 200, 520});
    }
  }
}

TEST_F(PlainGpu, WhatSurroundsTheProduct) {
  for (const DType dtype : kSixteenBitTypes) {
    GemmSpec around = plain_gemm(264, 1056, dtype);
    around.epilogue = {true, Activation::kSilu, true};
    check_in_turn(around, {1, 8, 16, 40, 64, 130, 300});
    GemmSpec gated = plain_gemm(272, 1056, dtype);
    gated.epilogue = {true, Activation::kSilu, true, true};
    check_in_turn(gated, {1, 8, 16, 40, 64, 130, 300});
    GemmSpec fp32 = plain_gemm(264, 1056, dtype);
    fp32.output = DType::kFp32;
    check_in_turn(fp32, {1, 8, 16, 40, 64, 130, 300});
    GemmSpec columns = plain_gemm(264, 1056, dtype);
    columns.pre_scale = true;
    check_in_turn(columns, {1, 8, 20, 64, 130});
    columns.act_order = true;
    check_in_turn(columns, {1, 8, 20, 64, 130});
  }
}

}  // namespace
}  // namespace heddle
