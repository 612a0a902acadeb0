// Streams of tokens of eight bits and weights of four compile without spills. Needs NVRTC, not a
// GPU.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "generator/families/configuration.h"
#include "generator/target/capabilities.h"
#include "stream/config.h"
#include "tests/byte_gemm.h"
#include "tests/planned_kernel.h"
#include "tests/runtime/compile/compile_check.h"

namespace heddle {
namespace {

using device::TokenValues;

// Sums of groups, long and short, and of all of K; two levels.
std::vector<GemmSpec> stream_bytes_specs(std::int64_t n, std::int64_t k) {
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

// How tokens come to shared memory, and where codes of FP8 become FP16.
struct Way {
  TokenValues values;
  bool is_bulk;
};
// Without clusters 16 tokens of FP16 do not fit.
std::vector<Way> ways_of(const GemmSpec& spec, std::int64_t m, bool has_clusters) {
  const bool is_int8 = spec.activation == DType::kInt8;
  const TokenValues values = is_int8 ? TokenValues::kInt8 : TokenValues::kFp8InLoop;
  std::vector<Way> ways{{values, false}};
  if (m > 8) ways.push_back({values, true});
  if (!is_int8 && (m <= 8 || has_clusters)) ways.push_back({TokenValues::kFp8OnTheWay, false});
  return ways;
}

class CompileStreamBytes : public testing::TestWithParam<const char*> {};

// Even shares of K and others, one stage of a warp and several, one tile of tokens and two; what
// surrounds the product in turn.
TEST_P(CompileStreamBytes, WithoutSpills) {
  const Target target = target_from_name(GetParam());
  std::vector<Source> sources;
  int turn = 0;
  // Nor do long rows of codes.
  const bool has_clusters = has_multicast(target);
  const auto add = [&](const GemmSpec& spec, const Way& way) {
    Plan plan = resolve(Spec::from_gemm(spec), target);
    const auto kernel =
        fastest_kernel(plan, {spec.shape.m_min, spec.shape.m_max}, [&](const PlannedKernel& one) {
          const auto* config = config_if<device::StreamConfig>(one);
          return config && config->token_values == way.values && config->bulk_tokens == way.is_bulk;
        });
    ASSERT_TRUE(kernel.has_value()) << plan.spec.canonical_json();
    PlannedKernel named = *kernel;
    named.name = fmt::format("{}_{}", named.name, turn);
    plan.kernels = {named};
    sources.push_back(render(plan, 0));
  };
  for (const auto& [n, k] :
       {MatrixShape{4096, has_clusters ? 4096 : 1024}, {1032, has_clusters ? 9600 : 1152}}) {
    for (GemmSpec spec : stream_bytes_specs(n, k)) {
      for (const std::int64_t m : {1, 8, 16}) {
        for (const Way& way : ways_of(spec, m, has_clusters)) {
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
          ASSERT_NO_FATAL_FAILURE(add(spec, way));
        }
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
