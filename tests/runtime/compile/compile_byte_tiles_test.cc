// GEMM of two operands of eight bits on mma.sync: its kernels compile without spills for every
// architecture from sm_75 on that has the types. Needs NVRTC, not a GPU.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "generator/families/all.h"
#include "generator/planner/choose.h"
#include "generator/target/capabilities.h"
#include "tests/byte_gemm.h"
#include "tests/runtime/compile/compile_check.h"

namespace heddle {
namespace {

// One shape divides every tile, the other none.
constexpr struct { std::int64_t n, k; } kByteShapes[] = {{4096, 4096}, {1032, 1312}};

std::vector<Candidate> candidates_of(const Plan& plan, const MRange& m) {
  std::vector<Candidate> found;
  for (Candidate& one : all_candidates(plan, m)) {
    if (one.kernel.family == byte_tiles_family()) found.push_back(std::move(one));
  }
  return found;
}

// Each type of a GPU, FP8 with both ways to add.
std::vector<GemmSpec> byte_tile_specs(const Target& target, std::int64_t n, std::int64_t k) {
  std::vector<GemmSpec> specs;
  for (const DType dtype : {DType::kInt8, DType::kFp8E4m3, DType::kFp8E5m2}) {
    if (dtype != DType::kInt8 && !has_fp8_mma(target)) continue;
    GemmSpec spec = byte_gemm(n, k, dtype);
    // With what takes the most registers at the end.
    if (n % 16 != 0) spec.epilogue = {true, Activation::kGelu, true};
    if (dtype == DType::kInt8) spec.activation_scale.symmetric = n % 16 == 0;
    if (dtype == DType::kFp8E5m2) spec.accumulation = Accumulation::kFast;
    if (has_wgmma(target)) spec.path = Path::kAmpere;
    specs.push_back(std::move(spec));
  }
  return specs;
}

class CompileByteTiles : public testing::TestWithParam<int> {};

TEST_P(CompileByteTiles, WithoutSpills) {
  const int arch = GetParam();
  const Target target = target_from_name("sm_" + std::to_string(arch));
  // The first of a generation takes a third of the cases, its siblings a twelfth.
  const bool is_first =
      arch == 75 || arch == 80 || arch == 89 || arch == 90 || arch == 100 || arch == 120;
  const std::size_t turns = every_kernel() ? 1 : is_first ? 3 : 12;
  std::vector<Source> sources;
  std::size_t number = static_cast<std::size_t>(arch);
  for (const auto& [n, k] : kByteShapes) {
    for (const GemmSpec& spec : byte_tile_specs(target, n, k)) {
      const Plan plan = resolve(Spec::from_gemm(spec), target);
      for (const MRange& m : {MRange{1, 8}, MRange{9, 16}, MRange{17, 32}, MRange{33, 64},
                              MRange{65, 128}, MRange{1025, 2048}}) {
        if (number++ % turns != 0) continue;
        const std::vector<Candidate> candidates = candidates_of(plan, m);
        ASSERT_FALSE(candidates.empty()) << plan.spec.canonical_json() << " M " << m.max;
        // The fastest, and in turn one of the others.
        for (const std::size_t i : {std::size_t{0}, number * 7 % candidates.size()}) {
          sources.push_back(candidate_source(plan, candidates[i], sources.size()));
        }
      }
    }
  }
  for (const Source& source : sources) {
    const bool turing = source.text.find("using Mma = ByteMmaTuring;") != std::string::npos;
    EXPECT_EQ(turing, !has_async_copies(target));
  }
  expect_no_spills(sources, target);
}

// Few warps that copy much of a stage each: what the planner takes for many rows and few tokens.
TEST(CompileByteTilesOfLargeMatrices, WithoutSpills) {
  GemmSpec spec = byte_gemm(14336, 14336, DType::kInt8);
  spec.shape.m_max = 32;
  const auto check = [&](const char* gpu) {
    const Target target = target_from_name(gpu);
    const Plan plan = resolve(Spec::from_gemm(spec), target);
    std::vector<Source> sources;
    for (std::size_t i = 0; i < plan.kernels.size(); ++i) sources.push_back(render(plan, i));
    expect_no_spills(sources, target);
  };
  check("a30");
  spec.output = DType::kInt8;
  spec.output_scale.granularity = RowGranularity::kGroup;
  check("a30");
  check("a100");
}

INSTANTIATE_TEST_SUITE_P(Archs, CompileByteTiles, testing::ValuesIn(compiled_archs()),
                         [](const auto& info) { return "sm_" + std::to_string(info.param); });

// The paths of older architectures can be asked for on newer ones, so that their numbers are tested
// there.
TEST(CompileByteTilesOnHopper, ByTheTuringPath) {
  GemmSpec spec = byte_gemm(1032, 1312, DType::kInt8);
  spec.path = Path::kTuring;
  for (const BuildResult& result :
       runtime().build(render_all(resolve(Spec::from_gemm(spec), target_from_name("h200"))))) {
    const std::string& ptx = result.binary->ptx.str();
    EXPECT_EQ(result.binary->spill_bytes, 0) << result.kernel_name;
    EXPECT_EQ(ptx.find("m16n8k32"), std::string::npos);
    EXPECT_NE(ptx.find("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32"), std::string::npos);
  }
}

}  // namespace
}  // namespace heddle
