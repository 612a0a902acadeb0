// Shards that begin inside of a group on the GPU: every family, with groups cut in every way.
#include <string>

#include "generator/target/capabilities.h"
#include "tests/gemm_tile.h"
#include "tests/gpu/gemm_fixture.h"

namespace heddle {
namespace {

struct Cut {
  int group;
  int offset;
};
const Cut kCuts[] = {{128, 16}, {128, 32}, {128, 64}, {128, 96},  {128, 112},
                     {64, 32},  {32, 16},  {48, 32},  {256, 128}, {256, 176}};

GemmSpec cut(std::int64_t n, std::int64_t k, DType dtype, const Cut& c, ZeroPoint zero) {
  GemmSpec spec = spec_of(n, k, dtype, c.group, zero);
  spec.weight.group_offset = c.offset;
  return spec;
}

class OffsetGpu : public GemmGpu {};

// What the planner takes, with scales on weights and on sums, where K ends inside of a chunk.
TEST_F(OffsetGpu, EveryCut) {
  const std::vector<std::int64_t> tokens{1, 2, 8, 9, 16, 17, 33, 64, 65, 128, 129, 300};
  for (const Cut& c : kCuts) {
    for (const DType dtype : {DType::kFp16, DType::kBf16}) {
      for (const DType scale : {dtype, DType::kFp32}) {
        GemmSpec spec =
            cut(1032, 2784, dtype, c, scale == dtype ? ZeroPoint::kInt : ZeroPoint::kNone);
        spec.weight.scale_dtype = scale;
        check_in_turn(spec, tokens);
      }
    }
  }
}

TEST_F(OffsetGpu, LargeShards) {
  for (const Cut& c : {Cut{128, 96}, {128, 32}}) {
    check_in_turn(cut(8192, 3456, DType::kFp16, c, ZeroPoint::kInt), {1, 16, 64, 256, 512});
  }
}

TEST_F(OffsetGpu, EveryWidth) {
  for (int bits = 1; bits <= 8; ++bits) {
    GemmSpec spec = cut(520, 1376, bits % 2 == 0 ? DType::kFp16 : DType::kBf16,
                        {bits % 3 == 0 ? 64 : 128, 16 * (1 + bits % 3)}, ZeroPoint::kInt);
    spec.weight.bits = bits;
    check_in_turn(spec, {1, 8, 16, 40, 130});
  }
}

TEST_F(OffsetGpu, FloatZeroPoints) {
  for (const Cut& c : kCuts) {
    check_in_turn(cut(520, 1376, DType::kFp16, c, ZeroPoint::kFloat), {1, 8, 16, 40, 130});
  }
}

TEST_F(OffsetGpu, ScalesOfEightBits) {
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    for (const auto& [scale, c] : {std::pair{DType::kE8m0, Cut{32, 16}},
                                   {DType::kE8m0, {64, 48}},
                                   {DType::kE4m3, {128, 96}},
                                   {DType::kE4m3, {128, 32}}}) {
      GemmSpec spec = cut(1032, 1376, dtype, c, ZeroPoint::kNone);
      spec.weight.type = WeightType::kE2m1;
      spec.weight.scale_dtype = scale;
      check_in_turn(spec, {1, 4, 8, 16, 33, 64, 130});
    }
  }
}

// The paths of older architectures, which newer ones run, too.
TEST_F(OffsetGpu, EveryPath) {
  for (const Path path : {Path::kTuring, Path::kAmpere, Path::kHopper}) {
    if (path == Path::kHopper && target().arch() < 90) continue;
    for (const Cut& c : kCuts) {
      GemmSpec spec = cut(520, 1376, DType::kFp16, c, ZeroPoint::kInt);
      spec.path = path;
      check_in_turn(spec, {1, 8, 16, 33, 65, 130});
    }
  }
}

TEST_F(OffsetGpu, TilesOfBulkCopies) {
  if (!is_hopper(target())) GTEST_SKIP() << "warps along N are for sm_90";
  constexpr DType kScales[] = {DType::kFp16, DType::kFp32};
  std::size_t i = 0;
  for (const Cut& c : kCuts) {
    GemmSpec spec = cut(1000, 2208, DType::kFp16, c, ZeroPoint::kInt);
    spec.shape.m_max = 32;
    spec.path = Path::kHopper;
    spec.tile = tile_of(48, 512, 1, 4);
    spec.weight.scale_dtype = rotate(kScales, i++);
    check_in_turn(spec, {1, 8, 16, 31});
  }
}

TEST_F(OffsetGpu, ProductsWithFewTokens) {
  const auto is_gemv = [](const PlannedKernel& one) { return one.family->name() == "gemv"; };
  constexpr ZeroPoint kZeroPoints[] = {ZeroPoint::kNone, ZeroPoint::kInt, ZeroPoint::kFloat};
  constexpr ZeroPoint kZeroPointsOfStreams[] = {ZeroPoint::kNone, ZeroPoint::kInt};
  for (std::size_t i = 0; i < std::size(kCuts); ++i) {
    GemmSpec spec = cut(1032, 1376, DType::kFp16, kCuts[i], rotate(kZeroPoints, i));
    spec.shape.m_max = 1;
    check_kernel(spec, is_gemv, {1});
    if (!has_multicast(target())) continue;
    spec.shape.m_max = 16;
    spec.weight.zero_point = rotate(kZeroPointsOfStreams, i);
    check_in_turn(spec, {{1, 8}, {9, 16}}, is_stream, kStreamTokens);
  }
}

// The columns of a shard in another order, and all that may follow the sums.
TEST_F(OffsetGpu, WithActOrderAndAnEpilogue) {
  GemmSpec spec = cut(1040, 1376, DType::kFp16, {128, 96}, ZeroPoint::kInt);
  spec.act_order = true;
  check(spec, {1, 16, 64, 200});
  spec.act_order = false;
  spec.epilogue = {true, Activation::kSilu, true, true};
  check(spec, {1, 16, 64, 200});
}

}  // namespace
}  // namespace heddle
