// GEMM on the GPU of two operands of eight bits by mma.sync: the cases of those by wgmma, by each
// path that the GPU has, every tile, and the bits of wgmma.
#include "generator/target/capabilities.h"
#include "runtime/driver/context.h"
#include "tests/gpu/byte_cases.h"
#include "tests/gpu/gemm_fixture.h"
#include "tools/gpu_harness/operations/gemm/data.h"

namespace heddle {
namespace {

class ByteTilesGpu : public GemmGpu, public testing::WithParamInterface<Path> {
 protected:
  void SetUp() override {
    GemmGpu::SetUp();
    if (IsSkipped()) return;
    if (GetParam() == Path::kAmpere && !has_async_copies(target())) GTEST_SKIP() << "no cp.async";
  }
  // Those that the GPU multiplies by this path.
  static std::vector<DType> types() {
    if (GetParam() == Path::kTuring || !has_fp8_mma(target())) return {DType::kInt8};
    return kMultipliedBytes;
  }
  // Specs that the GPU has no type for by this path are left out.
  void check_by_path(GemmSpec spec, const std::vector<std::int64_t>& m_list) {
    if (spec.activation != DType::kInt8 && types().size() == 1) return;
    const bool bf16 = spec.output == DType::kBf16 || spec.weight.scale_dtype == DType::kBf16;
    if (bf16 && !has_bf16(target())) return;
    spec.path = GetParam();
    check_in_turn(spec, m_list);
  }
  void check_all(const std::vector<ByteGemmCase>& cases) {
    for (const ByteGemmCase& one : cases) check_by_path(one.spec, one.m_list);
  }
};

TEST_P(ByteTilesGpu, RaggedShapesAndEveryRangeOfTokens) { check_all(ragged_byte_cases(types())); }
TEST_P(ByteTilesGpu, ShapesOfModels) { check_all(model_byte_cases(types())); }
TEST_P(ByteTilesGpu, EveryPairOfTypes) { check_all(byte_pair_cases()); }
TEST_P(ByteTilesGpu, ScalesAndZeroPoints) {
  for (const DType dtype : kMultipliedBytes) check_all(byte_scale_cases(dtype));
}
TEST_P(ByteTilesGpu, WhatSurroundsTheProduct) { check_all(byte_surroundings(types())); }

TEST_P(ByteTilesGpu, EveryTile) {
  std::size_t i = 0;
  int splits = 0;
  for (const int tile_m : {8, 16, 24, 32, 64, 128}) {
    for (const int tile_n : {16, 32, 48, 64, 128}) {
      // Warps along K alone, or along N, too; those of 128 tokens share them.
      for (const int warps_n : {1, 4}) {
        if (tile_n % (16 * warps_n) != 0) continue;
        // Sums of warps along K that no shared memory has room for.
        if (warps_n == 1 && (tile_m == 128 || tile_m * tile_n > 2048)) continue;
        GemmSpec spec = byte_gemm(1032, 1184, rotate(types(), i++));
        spec.tile.m = tile_m;
        spec.tile.n = tile_n;
        spec.tile.k = warps_n == 1 ? 512 : 128;
        spec.tile.warps_n = warps_n;
        spec.tile.warps_k = warps_n == 1 ? 4 : 1;
        spec.tile.warps_m = tile_m == 128 ? 2 : 1;
        std::vector<std::int64_t> m_list{1, tile_m - 1, tile_m, tile_m + 1, 3 * tile_m + 5};
        if (warps_n == 4) ++splits;
        if (warps_n == 4 && (splits + splits / 2) % 2 == 0) {  // with each tile_m and each tile_n
          spec.tile.split_k = 3;
          spec.shape.m_max = 256;  // a split serves so many tiles, not those of any M
          m_list = {tile_m, tile_m + 1};
        }
        check_by_path(spec, m_list);
      }
    }
  }
}

// Integers are added exactly and scaled in the same order, whichever instruction multiplies them.
TEST_P(ByteTilesGpu, GivesTheBitsOfWgmma) {
  if (!has_wgmma(target())) GTEST_SKIP() << "wgmma is sm_90's alone";
  std::size_t i = 0;
  for (ByteGemmCase& one : byte_surroundings({DType::kInt8})) {
    one.spec.activation_scale.symmetric = one.spec.epilogue.bias;
    GemmSpec older = one.spec;
    older.path = GetParam();
    const std::int64_t m = rotate(one.m_list, i++);
    const std::vector<Plan> plans{plan_of(one.spec, {m}), plan_of(older, {m})};
    if (only_makes(plans)) continue;
    const cuda::CurrentContext context;
    GemmData problem(one.spec, m);
    std::vector<std::vector<std::uint8_t>> outputs;
    for (const Plan& plan : plans) {
      const GemmKernel kernel(runtime().load(plan));
      problem.renew_workspace(kernel);
      problem.poison_output();
      kernel.launch(problem.args(m), problem.stream().get());
      outputs.push_back(problem.read_output(m));
    }
    EXPECT_EQ(outputs[0], outputs[1]) << plans[1].spec.canonical_json() << " M = " << m;
  }
}

std::string path_name(const testing::TestParamInfo<Path>& info) {
  return std::string(to_string(info.param));
}
INSTANTIATE_TEST_SUITE_P(Paths, ByteTilesGpu, testing::Values(Path::kTuring, Path::kAmpere),
                         path_name);

}  // namespace
}  // namespace heddle
