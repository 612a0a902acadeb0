// Every kind of weight and of activation treatment that compile_matrix_test.cc leaves out, for
// sm_90, which has the most kernels, and one architecture of another generation: it compiles and
// nothing spills. Needs NVRTC, not a GPU.
#include <gtest/gtest.h>

#include "tests/runtime/compile/compile_check.h"

namespace heddle {
namespace {

GemmSpec format_spec(WeightType type, int bits, int group, DType scale) {
  GemmSpec spec;
  spec.shape = {1032, 1536, 1, 100};
  spec.weight.type = type;
  spec.weight.bits = bits;
  spec.weight.group_size = group;
  spec.weight.scale_dtype = scale;
  return spec;
}

std::vector<GemmSpec> every_format(DType dtype) {
  std::vector<GemmSpec> specs{
      format_spec(WeightType::kE4m3, 8, kPerChannel, DType::kFp32),
      format_spec(WeightType::kE4m3, 8, 32, DType::kE8m0),
      format_spec(WeightType::kE5m2, 8, kPerTensor, DType::kFp32),
      format_spec(WeightType::kE2m3, 6, 128, dtype),
      format_spec(WeightType::kE3m2, 6, 64, DType::kFp32),
      format_spec(WeightType::kE2m1, 4, 32, DType::kE8m0),
      format_spec(WeightType::kE2m1, 4, 16, DType::kE4m3),
      format_spec(WeightType::kNf4, 4, 64, dtype),
      format_spec(WeightType::kUint, 4, 48, dtype),
      format_spec(WeightType::kUint, 8, 128, DType::kE8m0),
  };
  specs[6].weight.tensor_scale = true;
  for (const int bits : {3, 4, 8}) {
    for (const int group : {32, 128, kPerChannel}) {
      specs.push_back(format_spec(WeightType::kUint, bits, group, dtype));
      specs.back().weight.zero_point = ZeroPoint::kFloat;
    }
    specs.push_back(format_spec(WeightType::kInt, bits, 128, dtype));
    specs.back().weight.zero_point = ZeroPoint::kInt;
    specs.back().weight.interleave = bits == 3 ? Interleave::kLinear : Interleave::kTrtllm;
  }
  for (const bool act_order : {false, true}) {
    specs.push_back(format_spec(WeightType::kUint, 4, 128, dtype));
    specs.back().pre_scale = true;
    specs.back().act_order = act_order;
  }
  // Long K, whose tokens come in pieces.
  for (int bits = 1; bits <= 8; ++bits) {
    for (const int group : {16, 128}) {
      specs.push_back(format_spec(WeightType::kUint, bits, group, dtype));
      specs.back().weight.zero_point = ZeroPoint::kInt;
      specs.back().shape = {1032, 9600, 1, 2};
    }
  }
  for (GemmSpec& spec : specs) spec.activation = dtype;
  return specs;
}

class CompileFormats : public testing::TestWithParam<const char*> {};

TEST_P(CompileFormats, WithoutSpills) {
  const Target target = target_from_name(GetParam());
  std::vector<Source> sources;
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    // One type each; the folded powers of two of float codes are FP16's.
    const bool fp16 = target.arch() == 75 || target.arch() == 90;
    if ((dtype == DType::kFp16) != fp16) continue;
    std::size_t number = 0;
    for (const GemmSpec& spec : every_format(dtype)) {
      if (!has_turn(number++, target.arch()) && target.arch() != 90) continue;
      // Shifted, since the list has rounds of four.
      add_kernels(resolve(Spec::from_gemm(spec), target), number + number / 4, &sources);
    }
  }
  expect_no_spills(sources, target);
}

INSTANTIATE_TEST_SUITE_P(Generations, CompileFormats,
                         testing::Values("sm_75", "sm_80", "sm_90", "sm_120"),
                         [](const auto& info) { return std::string(info.param); });

// Every warp of a stream has one whole stage of a row block, whose chunks the compiler may mix as
// it likes; and the tile of wgmma with the most sums beside the most tokens of its own.
TEST(CompileShapes, WithoutSpills) {
  const Target target = target_from_name("h200");
  std::vector<Source> sources;
  std::size_t number = 0;
  // Each spec has one of the types of activations; the shapes of a format come in twos.
  const auto add = [&](const GemmSpec& spec) {
    const bool is_even = (number / 2 + number % 2) % 2 == 0;
    ++number;
    if (!every_kernel() && (spec.activation == DType::kFp16) != is_even) return;
    for (Source& source : render_all(resolve(Spec::from_gemm(spec), target))) {
      sources.push_back(std::move(source));
    }
  };
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    number = 0;
    for (GemmSpec spec : {format_spec(WeightType::kE2m1, 4, 32, DType::kE8m0),
                          format_spec(WeightType::kE2m1, 4, 16, DType::kE4m3),
                          format_spec(WeightType::kUint, 4, 32, DType::kE8m0),
                          format_spec(WeightType::kUint, 4, 32, dtype),
                          format_spec(WeightType::kUint, 4, 64, dtype),
                          format_spec(WeightType::kUint, 4, 128, dtype)}) {
      spec.activation = dtype;
      spec.shape = {4096, 4096, 1, 16};
      add(spec);
      spec.shape = {28672, 8192, 65, 128};
      add(spec);
    }
    // Two chunks of a warp are all of K.
    for (GemmSpec spec : {format_spec(WeightType::kUint, 4, 16, DType::kFp32),
                          format_spec(WeightType::kUint, 3, 16, dtype),
                          format_spec(WeightType::kUint, 4, 32, dtype),
                          format_spec(WeightType::kE2m1, 4, 16, DType::kFp32),
                          format_spec(WeightType::kE2m1, 4, 32, dtype)}) {
      spec.activation = dtype;
      spec.shape = {4096, 2048, 1, 8};
      add(spec);
    }
  }
  expect_no_spills(sources, target);
}

}  // namespace
}  // namespace heddle
