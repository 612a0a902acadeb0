// Kernels for weights of 16 bits, for every generation: they compile, nothing spills, and there is
// nothing between a weight's load and its product. Needs NVRTC, not a GPU.
#include <gtest/gtest.h>

#include "tests/plain_weight.h"
#include "tests/runtime/compile/compile_check.h"

namespace heddle {
namespace {

// One shape divides every tile, the other none; a router has few rows, a head many.
std::vector<GemmSpec> every_spec(DType dtype) {
  std::vector<GemmSpec> specs;
  for (const MatrixShape& shape :
       {MatrixShape{4096, 4096}, {1032, 1312}, {128, 2880}, {128256, 4096}, {28672, 8192}}) {
    GemmSpec spec;
    spec.shape.n = shape.n;
    spec.shape.k = shape.k;
    spec.shape.m_max = 4096;
    spec.activation = dtype;
    spec.weight = plain_weight(dtype);
    specs.push_back(spec);
  }
  specs[1].epilogue = {true, Activation::kGelu, true};
  specs[4].epilogue = {false, Activation::kSilu, false, true};
  return specs;
}

class CompilePlain : public testing::TestWithParam<const char*> {};

TEST_P(CompilePlain, WithoutSpills) {
  const Target target = target_from_name(GetParam());
  std::vector<Source> sources;
  std::size_t number = 0;
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    if (dtype == DType::kBf16 && target.arch() < 80) continue;
    for (const GemmSpec& spec : every_spec(dtype)) {
      // With each type half of the specs, at least.
      if (!every_kernel() && target.arch() >= 80 && ++number % 2 == 0) continue;
      add_kernels(resolve(Spec::from_gemm(spec), target), number, &sources);
    }
  }
  expect_no_spills(sources, target);
}

INSTANTIATE_TEST_SUITE_P(Generations, CompilePlain,
                         testing::Values("sm_75", "sm_80", "sm_89", "sm_90", "sm_120"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace heddle
