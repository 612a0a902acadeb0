// GEMM for one token: its kernels compile without spills for every architecture from sm_75 on, for
// every way of decoding and scaling, with few warps and with many. Needs NVRTC, not a GPU.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "generator/families/family.h"
#include "generator/planner/choose.h"
#include "tests/runtime/compile/compile_check.h"
#include "tests/runtime/weight_cases.h"

namespace heddle {
namespace {

// Rows of so many chunks have from 1 to 16 warps; blocks fill a GPU, or share K.
struct Shape {
  std::int64_t n, k;
};
constexpr Shape kGemvShapes[] = {{896, 4864}, {4872, 896}, {28672, 8192}, {1000, 1056}};

std::vector<WeightCase> weight_cases() {
  std::vector<WeightCase> cases(std::begin(kWeightCases), std::end(kWeightCases));
  // The other families of few tokens have no float zero points.
  cases.push_back({4, 32, ZeroPoint::kFloat, DType::kFp16});
  cases.push_back({8, 16, ZeroPoint::kFloat, DType::kFp32});
  cases.push_back({3, 128, ZeroPoint::kFloat, DType::kBf16});
  cases.push_back({4, kPerChannel, ZeroPoint::kFloat, DType::kFp16});
  return cases;
}

GemmSpec gemv_spec(const WeightCase& c, DType dtype, const Shape& shape, bool around) {
  GemmSpec spec;
  spec.shape = {shape.n, shape.k, 1, 1};
  if (c.group_size > 0 && shape.k % c.group_size != 0) spec.shape.k = 1152;
  spec.activation = dtype;
  spec.weight = weight_of(c);
  spec.epilogue.bias = around;
  spec.epilogue.residual = around;
  spec.epilogue.activation = around ? Activation::kGelu : Activation::kNone;
  spec.pre_scale = around;
  return spec;
}

std::vector<Candidate> gemv_candidates_of(const Plan& plan) {
  std::vector<Candidate> found;
  for (Candidate& one : all_candidates(plan, {1, 1})) {
    if (one.kernel.family->name() == "gemv") found.push_back(std::move(one));
  }
  return found;
}

class CompileGemv : public testing::TestWithParam<int> {};

TEST_P(CompileGemv, WithoutSpills) {
  const int arch = GetParam();
  const Target target = target_from_name("sm_" + std::to_string(arch));
  // The first of a generation takes one case of 39, its siblings one of 61. Both are odd, so that
  // every shape and type has its turn.
  const bool is_first = arch == 75 || arch == 80 || arch == 90 || arch == 100 || arch == 120;
  const std::size_t turns = every_kernel() ? 1 : is_first ? 39 : 61;
  std::vector<Source> sources;
  std::size_t number = static_cast<std::size_t>(arch);
  for (const WeightCase& c : weight_cases()) {
    for (const DType dtype : {DType::kFp16, DType::kBf16}) {
      if (dtype == DType::kBf16 && arch < 80) continue;
      for (const Shape& shape : kGemvShapes) {
        if (number++ % turns != 0) continue;
        const GemmSpec spec = gemv_spec(c, dtype, shape, number / turns % 2 == 0);
        const Plan plan = resolve(Spec::from_gemm(spec), target);
        const std::vector<Candidate> candidates = gemv_candidates_of(plan);
        ASSERT_FALSE(candidates.empty()) << plan.spec.canonical_json();
        // The fastest and the slowest, and in turn one of the others.
        for (const std::size_t i :
             {std::size_t{0}, number * 7 % candidates.size(), candidates.size() - 1}) {
          sources.push_back(candidate_source(plan, candidates[i], sources.size()));
        }
      }
    }
  }
  for (const Source& source : sources) {
    const bool turing = source.text.find("using Mma = MmaTuring;") != std::string::npos;
    EXPECT_EQ(turing, arch < 80);
  }
  expect_no_spills(sources, target);
}

INSTANTIATE_TEST_SUITE_P(Archs, CompileGemv, testing::ValuesIn(compiled_archs()),
                         [](const auto& info) { return "sm_" + std::to_string(info.param); });

}  // namespace
}  // namespace heddle
