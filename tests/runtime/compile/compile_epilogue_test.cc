// What follows the sums of a GEMM: the kernels that the planner chooses compile without spills on
// every generation, with gates and ups and with outputs of other types. Needs NVRTC, not a GPU.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/runtime/compile/compile_check.h"

namespace heddle {
namespace {

struct Around {
  const char* name;
  EpilogueSpec epilogue;
  std::optional<DType> output;
};

const Around kAround[] = {
    {"Gated", {false, Activation::kSilu, false, true}, {}},
    {"GatedWithEverything", {true, Activation::kGeluTanh, true, true}, DType::kFp32},
    {"ClampedSwiglu", {true, Activation::kClampedSwiglu, false, true, 7}, {}},
    {"Fp32", {false, Activation::kNone, true}, DType::kFp32},
};

class CompileEpilogue : public testing::TestWithParam<const char*> {};

TEST_P(CompileEpilogue, WithoutSpills) {
  const Target target = target_from_name(GetParam());
  std::vector<Source> sources;
  std::size_t number = 0;
  for (const Around& around : kAround) {
    GemmSpec spec;
    spec.shape = {4096, 4096, 1, 4096};
    spec.epilogue = around.epilogue;
    spec.output = around.output;
    spec.weight.zero_point = ZeroPoint::kInt;
    const Plan plan = resolve(Spec::from_gemm(spec), target);
    for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
      // Gates and ups have registers for twice as many sums to add to; of others every third.
      const bool all = every_kernel() || &around == kAround;
      if (!all && number++ % 3 != 0) continue;
      Plan one = plan;
      one.kernels[i].name += std::string("_") + around.name;
      sources.push_back(render(one, i));
    }
  }
  ASSERT_FALSE(sources.empty());
  expect_no_spills(sources, target);
}

INSTANTIATE_TEST_SUITE_P(Targets, CompileEpilogue,
                         testing::Values("t4", "a100", "rtx4090", "h100", "b200"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace heddle
