// The tiles of mma.sync whose warps read ahead, forced on any GPU that has cp.async: types, groups,
// widths, ragged shapes, every tile and stage, splits, and all that a GEMM may have around it.
#include "tests/gpu/gemm_fixture.h"

namespace heddle {
namespace {

const std::vector<std::int64_t> kWideTokens{33, 64, 65, 129, 200, 300, 1000};

class WideGpu : public GemmGpu {
 protected:
  static GemmSpec wide(std::int64_t n, std::int64_t k, DType dtype, int group, ZeroPoint zero) {
    GemmSpec spec = spec_of(n, k, dtype, group, zero);
    spec.path = Path::kAmpere;
    spec.shape.m_min = 33;
    return spec;
  }
};

TEST_F(WideGpu, EveryTypeGroupAndZeroPoint) {
  std::size_t i = 0;
  for (const int group : {16, 32, 64, 128, 256, kPerChannel}) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
      const DType dtype = rotate(kSixteenBitTypes, i++);
      check_in_turn(wide(1000, 1280, dtype, group, zero), {40, 130, 600});
    }
    ++i;
  }
}

TEST_F(WideGpu, EightBitsAndFloats) {
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
      GemmSpec spec = wide(520, 1056, dtype, 32, zero);
      spec.weight.bits = 8;
      check_in_turn(spec, {64, 200, 600});
    }
    for (const WeightType type : {WeightType::kE4m3, WeightType::kE2m1}) {
      GemmSpec spec = wide(520, 1280, dtype, 128, ZeroPoint::kNone);
      spec.weight.type = type;
      spec.weight.bits = type == WeightType::kE4m3 ? 8 : 4;
      check_in_turn(spec, {64, 200, 600});
    }
    GemmSpec nvfp4 = wide(520, 1280, dtype, 16, ZeroPoint::kNone);
    nvfp4.weight.type = WeightType::kE2m1;
    nvfp4.weight.scale_dtype = DType::kE4m3;
    nvfp4.weight.tensor_scale = true;
    check_in_turn(nvfp4, {64, 200, 600});
  }
}

TEST_F(WideGpu, RaggedShapes) {
  for (const std::int64_t n : {8, 24, 136, 264, 1032}) {
    for (const std::int64_t k : {32, 96, 160, 416, 1056}) {
      check_in_turn(wide(n, k, DType::kFp16, 32, ZeroPoint::kInt), {33, 70, 600});
    }
  }
}

// 128 tokens by 256 rows serve where there are many tiles, the others before.
TEST_F(WideGpu, EndsOfTokenTiles) {
  check(wide(4096, 512, DType::kFp16, 128, ZeroPoint::kNone), kWideTokens);
  check(wide(28672, 512, DType::kBf16, 64, ZeroPoint::kInt), {64, 65, 256, 300});
}

TEST_F(WideGpu, EveryTileStageAndSplit) {
  struct Tile {
    int m, n, warps_n, warps_k;
  };
  constexpr int kSplits[] = {1, 3};
  std::size_t i = 0;
  for (const Tile tile : {Tile{64, 128, 4, 2}, {64, 256, 8, 1}, {128, 256, 8, 1}}) {
    for (const int stages : {2, 3, 4}) {
      GemmSpec spec = wide(520, 1056, DType::kFp16, 32, ZeroPoint::kInt);
      spec.shape.m_max = 512;
      spec.tile.m = tile.m;
      spec.tile.n = tile.n;
      spec.tile.k = 128;
      spec.tile.warps_m = 1;
      spec.tile.warps_n = tile.warps_n;
      spec.tile.warps_k = tile.warps_k;
      spec.tile.stages = stages;
      spec.tile.split_k = rotate(kSplits, i++);
      const Plan plan = resolve(Spec::from_gemm(spec), target());
      ASSERT_TRUE(config_of<device::TilesConfig>(plan.kernels.back()).reads_ahead);
      check(spec, {64, 130, 512});
    }
  }
}

TEST_F(WideGpu, EverythingAround) {
  GemmSpec spec = wide(520, 1056, DType::kFp16, 32, ZeroPoint::kNone);
  spec.epilogue = {true, Activation::kSilu, true};
  spec.pre_scale = true;
  check(spec, {40, 200, 600});
}

}  // namespace
}  // namespace heddle
