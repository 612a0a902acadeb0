// Y in codes of eight bits: the kernels that the planner chooses compile without spills on every
// generation. Needs NVRTC, not a GPU.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "generator/target/capabilities.h"
#include "tests/byte_gemm.h"
#include "tests/runtime/compile/compile_check.h"

namespace heddle {
namespace {

constexpr DType kTypes[] = {DType::kInt8, DType::kFp8E4m3, DType::kFp8E5m2};

struct OutputCase {
  const char* name;
  GemmSpec spec;
};

std::vector<OutputCase> cases_for(const Target& target) {
  GemmSpec halves;
  halves.weight.zero_point = ZeroPoint::kInt;
  std::vector<OutputCase> cases = {{"halves", halves}, {"gated", halves}, {"around", halves}};
  cases[1].spec.epilogue = {false, Activation::kSilu, false, true};
  cases[2].spec.epilogue = {true, Activation::kGelu, true};
  GemmSpec gated = byte_gemm(4096, 4096, DType::kInt8);
  gated.epilogue = {false, Activation::kSilu, false, true};
  GemmSpec around = byte_gemm(4096, 4096, has_fp8_mma(target) ? DType::kFp8E4m3 : DType::kInt8);
  around.epilogue = {true, Activation::kNone, true};
  cases.insert(cases.end(), {{"bytes", byte_gemm(4096, 4096, DType::kInt8)},
                             {"bytes_gated", gated},
                             {"bytes_around", around}});
  if (has_wgmma(target)) {
    cases.insert(cases.end(), {{"four_bits", four_bit_gemm(4096, 4096, DType::kInt8)},
                               {"two_levels", two_level_gemm(4096, 4096, 32)},
                               {"blocks", block_gemm(4096, 4096)}});
  }
  return cases;
}

// Gates, ups and their tokens of eight bits leave a T4 no shared memory for whole groups.
bool is_served(const GemmSpec& spec, const Target& target) {
  return spec.output_scale.granularity != RowGranularity::kGroup ||
         !(spec.epilogue.gated && spec.has_byte_activations()) || has_async_copies(target);
}

class CompileOutput : public testing::TestWithParam<const char*> {};

TEST_P(CompileOutput, WithoutSpills) {
  const Target target = target_from_name(GetParam());
  std::vector<Source> sources;
  // Those of wgmma, which have the fewest registers to spare, more often.
  const std::size_t turns = has_wgmma(target) ? 12 : 16;
  std::size_t number = 0;
  for (OutputCase& one : cases_for(target)) {
    one.spec.shape = {4096, 4096, 1, 4096};
    for (const DType dtype : kTypes) {
      one.spec.output = dtype;
      for (const auto granularity : {RowGranularity::kTensor, RowGranularity::kGroup}) {
        one.spec.output_scale.granularity = granularity;
        if (!is_served(one.spec, target)) continue;
        const Plan plan = resolve(Spec::from_gemm(one.spec), target);
        for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
          if (!every_kernel() && number++ % turns != 0) continue;
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

// Tiles of whole groups and many tokens have registers where weights take the most of them, with
// room for two thread blocks on an SM and without.
TEST(CompileOutputGroups, OfDemandingWeightsWithoutSpills) {
  GemmSpec float_zeros, wide_scales, one_bit;
  float_zeros.weight.zero_point = ZeroPoint::kFloat;
  float_zeros.weight.group_size = 64;
  wide_scales.activation = DType::kBf16;
  wide_scales.weight.scale_dtype = DType::kFp32;
  wide_scales.weight.group_size = 32;
  one_bit.weight.bits = 1;
  const Target target = target_from_name("a100");
  std::vector<Source> sources;
  for (GemmSpec spec : {float_zeros, wide_scales, one_bit}) {
    spec.shape = {1296, 4096, 1, 2000};
    if (spec.weight.zero_point == ZeroPoint::kNone) spec.weight.zero_point = ZeroPoint::kInt;
    spec.output = DType::kFp8E4m3;
    spec.output_scale = {RowGranularity::kGroup, RowScaleDtype::kE8m0};
    for (const bool gated : {false, true}) {
      spec.epilogue = {true, Activation::kSilu, true, gated};
      Plan plan = resolve(Spec::from_gemm(spec), target);
      plan.kernels.back().name += std::to_string(sources.size());
      sources.push_back(render(plan, plan.kernels.size() - 1));
    }
  }
  expect_no_spills(sources, target);
}

INSTANTIATE_TEST_SUITE_P(Targets, CompileOutput,
                         testing::Values("t4", "a100", "rtx4090", "h100", "b200", "rtx5090"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace heddle
