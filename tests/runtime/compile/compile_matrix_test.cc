// Every kernel family, for every architecture that the NVRTC at hand supports from sm_75 up: it
// compiles, it fits the register file, and nothing spills. Needs NVRTC, not a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "heddle/error.h"
#include "tests/runtime/compile/compile_check.h"

namespace heddle {
namespace {

struct MatrixCase {
  int group_size;
  ZeroPoint zero_point;
  DType scale_dtype;
  int bits = 4;
};

// Group sizes with every way of applying a scale; a scale type other than the activation's keeps
// the scale on the sums, which takes the most registers.
const MatrixCase kMatrixCases[] = {
    {32, ZeroPoint::kInt, DType::kFp16},           {64, ZeroPoint::kNone, DType::kBf16},
    {128, ZeroPoint::kNone, DType::kFp16},         {128, ZeroPoint::kInt, DType::kBf16},
    {128, ZeroPoint::kInt, DType::kFp32},          {256, ZeroPoint::kInt, DType::kFp16},
    {128, ZeroPoint::kInt, DType::kFp16, 2},       {32, ZeroPoint::kInt, DType::kBf16, 3},
    {16, ZeroPoint::kNone, DType::kFp16, 5},       {128, ZeroPoint::kInt, DType::kBf16, 8},
    {kPerChannel, ZeroPoint::kNone, DType::kFp16}, {kPerChannel, ZeroPoint::kInt, DType::kFp32},
};

// One shape divides every tile, the other none.
GemmSpec matrix_spec(const MatrixCase& c, DType dtype, bool ragged) {
  GemmSpec spec;
  spec.shape.n = ragged ? 1032 : 4096;
  spec.shape.k = ragged && c.group_size == 32 ? 1056 : (ragged ? 1280 : 4096);
  spec.activation = dtype;
  spec.weight.bits = c.bits;
  spec.weight.group_size = c.group_size;
  spec.weight.zero_point = c.zero_point;
  spec.weight.scale_dtype = c.scale_dtype;
  spec.weight.type = ragged ? WeightType::kInt : WeightType::kUint;
  spec.epilogue.bias = ragged;
  spec.epilogue.residual = ragged;
  spec.epilogue.activation = ragged ? Activation::kGelu : Activation::kNone;
  return spec;
}

// An architecture takes one pair of cases in so many: sm_75, which has one type, all of them; sm_80
// a third with each type; all others a sixth, since there are six pairs.
int turns_of(int arch) {
  if (every_kernel() || arch == 75) return 1;
  return arch == 80 ? 3 : 6;
}

class CompileMatrix : public testing::TestWithParam<int> {};

TEST_P(CompileMatrix, CompilesWithoutSpills) {
  const int arch = GetParam();
  const Target target = target_from_name("sm_" + std::to_string(arch));
  std::vector<Source> sources;
  std::size_t plans = 0;
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    const bool bf16 = dtype == DType::kBf16;
    if (bf16 && arch < 80) continue;
    // Two cases at a time, of each shape; others with the other type.
    const int turn = arch / 20 + arch % 10 + (bf16 ? 1 : 0);
    for (int i = 0; i < static_cast<int>(std::size(kMatrixCases)); ++i) {
      if ((turn + i / 2) % turns_of(arch) != 0) continue;
      const bool ragged = (i % 2 == 1) != bf16;
      add_kernels(resolve(Spec::from_gemm(matrix_spec(kMatrixCases[i], dtype, ragged)), target),
                  plans++, &sources);
    }
  }
  expect_no_spills(sources, target);
}

INSTANTIATE_TEST_SUITE_P(Archs, CompileMatrix, testing::ValuesIn(compiled_archs()),
                         [](const auto& info) { return "sm_" + std::to_string(info.param); });

TEST(CompileMatrix, HoldsTheArchitecturesThatAreSupported) {
  const std::vector<int> all = compiled_archs();
  for (const int arch : {75, 80, 86, 87, 89, 90, 100, 120}) {
    EXPECT_NE(std::find(all.begin(), all.end(), arch), all.end()) << "sm_" << arch;
  }
}

// The paths of older architectures can be forced on newer ones, so that their numbers are tested
// there.
TEST(CompileMatrix, TheTuringPathCompilesOnHopper) {
  GemmSpec spec = matrix_spec(kMatrixCases[2], DType::kFp16, true);
  spec.path = Path::kTuring;
  for (const BuildResult& result :
       runtime().build(render_all(resolve(Spec::from_gemm(spec), target_from_name("h200"))))) {
    EXPECT_EQ(result.binary->spill_bytes, 0) << result.kernel_name;
    EXPECT_EQ(result.binary->ptx.str().find("cp.async"), std::string::npos);
    EXPECT_NE(result.binary->ptx.str().find("m16n8k8"), std::string::npos);
  }
}

}  // namespace
}  // namespace heddle
