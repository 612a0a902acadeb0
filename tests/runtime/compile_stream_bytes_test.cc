// Streams of tokens of eight bits and weights of four compile without spills. Needs NVRTC, not a
// GPU.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "generator/target/capabilities.h"
#include "tests/byte_gemm.h"
#include "tests/planned_kernel.h"
#include "tests/runtime/compile_check.h"

namespace heddle {
namespace {

// Sums of groups, long and short, and of all of K; two levels.
std::vector<GemmSpec> specs_of(std::int64_t n, std::int64_t k) {
  using enum DType;
  return {four_bit_gemm(n, k, kInt8),
          four_bit_gemm(n, k, kFp8E4m3, 32),
          two_level_gemm(n, k),
          four_bit_gemm(n, k, kInt8, kPerChannel),
          four_bit_gemm(n, k, kFp8E4m3),
          four_bit_gemm(n, k, kInt8, 32),
          four_bit_gemm(n, k, kFp8E5m2, 64),
          four_bit_gemm(n, k, kFp8E4m3, kPerChannel),
          two_level_gemm(n, k, 32),
          four_bit_gemm(n, k, kInt8, 64)};
}

class CompileStreamBytes : public testing::TestWithParam<const char*> {};

// Even shares of K and others, one stage of a warp and several, one tile of tokens and two; what
// surrounds the product in turn.
TEST_P(CompileStreamBytes, WithoutSpills) {
  const Target target = target_from_name(GetParam());
  std::vector<Source> sources;
  int turn = 0;
  // Without clusters long rows of 16 tokens do not fit.
  const bool has_clusters = has_multicast(target);
  for (const auto& [n, k] :
       {MatrixShape{4096, has_clusters ? 4096 : 1024}, {1032, has_clusters ? 9600 : 1152}}) {
    for (GemmSpec spec : specs_of(n, k)) {
      for (const std::int64_t m : {1, 8, 16}) {
        ++turn;
        if (!every_kernel() && (turn + target.arch() / 10) % 6 != 0) continue;
        spec.shape.m_min = spec.shape.m_max = m;
        if (turn % 2 == 0) spec.weight.zero_point = ZeroPoint::kInt;
        spec.epilogue = {};
        if (turn % 3 == 0) spec.epilogue = {true, Activation::kSilu, true};
        if (turn % 4 == 0 && n % 16 == 0) spec.epilogue = {false, Activation::kGelu, false, true};
        if (turn % 5 == 0) spec.output = DType::kFp32;
        spec.path = Path::kHopper;
        spec.tile.warps_k = 8;
        Plan plan = resolve(Spec::from_gemm(spec), target);
        const auto kernel = fastest_kernel(plan, {m, m}, is_stream);
        ASSERT_TRUE(kernel.has_value()) << plan.spec.canonical_json();
        PlannedKernel named = *kernel;
        named.name = fmt::format("{}_{}", named.name, turn);
        plan.kernels = {named};
        sources.push_back(render(plan, 0));
      }
    }
  }
  expect_no_spills(sources, target);
}

INSTANTIATE_TEST_SUITE_P(Generations, CompileStreamBytes,
                         testing::Values("sm_90", "sm_100", "sm_120"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace heddle
