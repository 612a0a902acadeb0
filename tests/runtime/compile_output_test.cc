// Y in codes of eight bits: the kernels that the planner chooses compile without spills on every
// generation. Needs NVRTC, not a GPU.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "generator/target/capabilities.h"
#include "tests/byte_gemm.h"
#include "tests/runtime/compile_check.h"

namespace heddle {
namespace {

constexpr DType kTypes[] = {DType::kInt8, DType::kFp8E4m3, DType::kFp8E5m2};

struct Case {
  const char* name;
  GemmSpec spec;
};

std::vector<Case> cases_for(const Target& target) {
  GemmSpec halves;
  halves.weight.zero_point = ZeroPoint::kInt;
  std::vector<Case> cases = {{"halves", halves}, {"gated", halves}, {"around", halves}};
  cases[1].spec.epilogue = {false, Activation::kSilu, false, true};
  cases[2].spec.epilogue = {true, Activation::kGelu, true};
  if (!has_wgmma(target)) return cases;
  GemmSpec gated = byte_gemm(4096, 4096, DType::kInt8);
  gated.epilogue = {false, Activation::kSilu, false, true};
  GemmSpec around = byte_gemm(4096, 4096, DType::kFp8E4m3);
  around.epilogue = {true, Activation::kNone, true};
  cases.insert(cases.end(), {{"bytes", byte_gemm(4096, 4096, DType::kInt8)},
                             {"bytes_gated", gated},
                             {"bytes_around", around},
                             {"four_bits", four_bit_gemm(4096, 4096, DType::kInt8)},
                             {"blocks", block_gemm(4096, 4096)}});
  return cases;
}

class CompileOutput : public testing::TestWithParam<const char*> {};

TEST_P(CompileOutput, WithoutSpills) {
  const Target target = target_from_name(GetParam());
  std::vector<Source> sources;
  std::size_t number = 0;
  for (Case& one : cases_for(target)) {
    one.spec.shape = {4096, 4096, 1, 4096};
    for (const DType dtype : kTypes) {
      one.spec.output = dtype;
      for (const auto granularity : {RowGranularity::kTensor, RowGranularity::kGroup}) {
        if (granularity == RowGranularity::kGroup && !has_wgmma(target)) continue;
        one.spec.output_scale.granularity = granularity;
        const Plan plan = resolve(Spec::from_gemm(one.spec), target);
        for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
          if (!every_kernel() && number++ % 8 != 0) continue;
          Plan named = plan;
          named.kernels[i].name += std::string("_") + one.name;
          sources.push_back(render(named, i));
        }
      }
    }
  }
  ASSERT_FALSE(sources.empty());
  expect_no_spills(sources, target);
}

INSTANTIATE_TEST_SUITE_P(Targets, CompileOutput,
                         testing::Values("t4", "a100", "rtx4090", "h100", "b200"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace heddle
