// Activations of eight bits in a spec: what is taken, what is left to be said, what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "generator/decode/requests.h"
#include "generator/operations/gemm/gemm.h"
#include "generator/operations/kernel_argument.h"
#include "heddle/error.h"
#include "heddle/inspect/plan.h"
#include "tests/byte_gemm.h"
#include "tests/generator/spec/spec_pointers.h"

namespace heddle {
namespace {

constexpr const char* kInt8 = R"({"heddle": 1, "op": "gemm", "shape": {"n": 256, "k": 512},
    "weight": {"bits": 8, "type": "int", "group_size": -1},
    "activation": {"dtype": "int8", "granularity": "token"}, "output": {"dtype": "bf16"}})";

TEST(SpecBytes, LeavesLittleToBeSaid) {
  const GemmSpec spec = Spec::parse(kInt8).gemm();
  EXPECT_EQ(spec.activation, DType::kInt8);
  EXPECT_EQ(spec.activation_scale.granularity, RowGranularity::kToken);
  EXPECT_EQ(spec.weight.interleave, Interleave::kSwizzle128b);
  EXPECT_EQ(spec.weight.scale_dtype, DType::kFp32) << "no type of scales is called int8";
  EXPECT_EQ(spec.bias_dtype(), DType::kBf16);
  EXPECT_TRUE(check_meaning(spec).empty());
}

TEST(SpecBytes, HasOneCanonicalText) {
  const Spec spec = Spec::parse(kInt8);
  EXPECT_EQ(Spec::parse(spec.canonical_json()).canonical_json(), spec.canonical_json());
  GemmSpec fragment = spec.gemm();
  fragment.weight.interleave = Interleave::kFragment;
  EXPECT_EQ(Spec::from_gemm(fragment).canonical_json(), spec.canonical_json());
}

TEST(SpecBytes, TakesEveryPairOfTypes) {
  for (const DType x : {DType::kFp8E4m3, DType::kFp8E5m2}) {
    for (const WeightType w : {WeightType::kE4m3, WeightType::kE5m2}) {
      GemmSpec spec = byte_gemm(256, 512, x);
      spec.weight.type = w;
      EXPECT_TRUE(check_meaning(spec).empty());
      EXPECT_FALSE(resolve(Spec::from_gemm(spec), target_from_name("h100")).kernels.empty());
    }
  }
}

TEST(SpecBytes, RefusesByName) {
  struct Case {
    std::function<void(GemmSpec&)> change;
    std::string pointer;
    DType dtype = DType::kInt8;
  };
  const Case cases[] = {
      {[](GemmSpec& s) { s.activation_scale.granularity = RowGranularity::kNone; },
       "/activation/granularity"},
      {[](GemmSpec& s) { s.activation_scale.granularity = RowGranularity::kGroup; },
       "/activation/granularity"},
      {[](GemmSpec& s) { s.activation_scale.symmetric = false; }, "/activation/symmetric",
       DType::kFp8E4m3},
      {[](GemmSpec& s) {
         s.activation_scale.granularity = RowGranularity::kTensor;
         s.activation_scale.symmetric = false;
       },
       "/activation/symmetric"},
      {[](GemmSpec& s) { s.shape.k = 131072; }, "/shape/k"},
      {[](GemmSpec& s) {
         s.shape.k = 65824;
         s.activation_scale.symmetric = false;
       },
       "/shape/k"},
      {[](GemmSpec& s) { s.pre_scale = true; }, "/activation/pre_scale"},
      {[](GemmSpec& s) { s.act_order = true; }, "/activation/act_order"},
      {[](GemmSpec& s) { s.weight.type = WeightType::kE4m3; }, "/weight/type"},
      {[](GemmSpec& s) { s.weight.type = WeightType::kInt; }, "/weight/type", DType::kFp8E4m3},
      {[](GemmSpec& s) { s.weight.bits = 3; }, "/weight/type"},
      {[](GemmSpec& s) { s.weight.group_size = 128; }, "/weight/group_size"},
      {[](GemmSpec& s) { s.weight.zero_point = ZeroPoint::kInt; }, "/weight/zero_point"},
      {[](GemmSpec& s) { s.weight.tensor_scale = true; }, "/weight/tensor_scale"},
      {[](GemmSpec& s) { s.weight.scale_dtype = DType::kE8m0; }, "/weight/scale_dtype"},
      {[](GemmSpec& s) { s.weight.interleave = Interleave::kLinear; }, "/weight/interleave"},
      {[](GemmSpec& s) { s.output.reset(); }, "/output/dtype"},
      {[](GemmSpec& s) { s.multiply = DType::kFp16; }, "/multiply/dtype"},
      {[](GemmSpec& s) { s.accumulation = Accumulation::kFast; }, "/accumulation"},
  };
  for (const Case& one : cases) {
    GemmSpec spec = byte_gemm(256, 512, one.dtype);
    one.change(spec);
    const std::vector<std::string> pointers = pointers_of(spec);
    EXPECT_NE(std::find(pointers.begin(), pointers.end(), one.pointer), pointers.end())
        << one.pointer;
  }
}

TEST(SpecBytes, TakesBlocks) {
  const GemmSpec spec = Spec::parse(R"({"heddle": 1, "op": "gemm", "shape": {"n": 200, "k": 416},
      "weight": {"bits": 8, "type": "e4m3", "group_size": 128, "group_rows": 128},
      "activation": {"dtype": "fp8_e4m3", "granularity": "group", "scale_dtype": "e8m0"},
      "output": {"dtype": "bf16"}})")
                            .gemm();
  EXPECT_TRUE(spec.weight.has_blocks());
  EXPECT_EQ(spec.weight.scale_dtype, DType::kFp32);
  EXPECT_TRUE(check_meaning(spec).empty()) << "neither side is whole blocks";
  const std::string text = Spec::from_gemm(spec).canonical_json();
  EXPECT_EQ(Spec::parse(text).canonical_json(), text);
  for (const PlannedKernel& kernel :
       resolve(Spec::from_gemm(spec), target_from_name("h100")).kernels) {
    EXPECT_TRUE(kernel.takes(KernelArgument::kXScaleMap)) << kernel.name;
    EXPECT_FALSE(kernel.takes(KernelArgument::kXScales)) << kernel.name;
    EXPECT_NE(kernel.name.find("_g128x128_"), std::string::npos) << kernel.name;
    EXPECT_NE(kernel.name.find("_group_e8m0_"), std::string::npos) << kernel.name;
  }
}

// All at once: what the refusals allow is taken.
TEST(SpecBytes, SaysAllThatIntegersHaveInTheWayOfBlocks) {
  GemmSpec spec = byte_gemm(256, 512, DType::kInt8);
  spec.activation_scale.granularity = RowGranularity::kGroup;
  spec.weight.group_rows = kBlockRows;
  spec.weight.group_size = 128;
  EXPECT_EQ(pointers_of(spec),
            (std::vector<std::string>{"/activation/granularity", "/weight/group_rows",
                                      "/weight/group_size"}));
  for (const Problem& problem : check_meaning(spec)) {
    EXPECT_EQ(problem.allowed.find("group"), std::string::npos) << problem.allowed;
  }
  // Nor is a way there offered.
  spec.weight.group_rows = 1;
  for (const Problem& problem : check_meaning(spec)) {
    EXPECT_EQ(problem.allowed.find("group"), std::string::npos) << problem.allowed;
  }
}

TEST(SpecBytes, BlocksAllowTheOneGranularityThatTheyHave) {
  GemmSpec spec = block_gemm(256, 512);
  spec.activation_scale.granularity = RowGranularity::kNone;
  EXPECT_EQ(check_meaning(spec).front().allowed, "\"group\"");
}

TEST(SpecBytes, RefusesOtherBlocksByName) {
  const std::pair<std::function<void(GemmSpec&)>, std::string> cases[] = {
      {[](GemmSpec& s) { s.activation_scale.granularity = RowGranularity::kToken; },
       "/weight/group_rows"},
      {[](GemmSpec& s) { s.weight.group_rows = 1; }, "/activation/granularity"},
      {[](GemmSpec& s) { s.weight.group_size = 64; }, "/weight/group_size"},
      {[](GemmSpec& s) { s.weight.group_size = kPerChannel; }, "/weight/group_size"},
      {[](GemmSpec& s) { s.weight.group_offset = 32; }, "/weight/group_offset"},
      {[](GemmSpec& s) { s.weight.scale_dtype = DType::kBf16; }, "/weight/scale_dtype"},
      {[](GemmSpec& s) { s.accumulation = Accumulation::kFast; }, "/accumulation"},
      {[](GemmSpec& s) {
         s.activation = DType::kInt8;
         s.weight.type = WeightType::kInt;
       },
       "/activation/granularity"},
      {[](GemmSpec& s) {
         s.activation = DType::kFp16;
         s.activation_scale = {};
         s.weight.interleave = Interleave::kFragment;
       },
       "/weight/group_rows"},
      {[](GemmSpec& s) {
         s.epilogue = {false, Activation::kSilu, false, true};
         s.shape.n = 384;
       },
       "/shape/n"},
  };
  for (const auto& [change, pointer] : cases) {
    GemmSpec spec = block_gemm(256, 512);
    change(spec);
    const std::vector<std::string> pointers = pointers_of(spec);
    EXPECT_NE(std::find(pointers.begin(), pointers.end(), pointer), pointers.end()) << pointer;
  }
  GemmSpec tokens = byte_gemm(256, 512, DType::kFp8E4m3);
  tokens.activation_scale.scale_dtype = RowScaleDtype::kE8m0;
  EXPECT_EQ(pointers_of(tokens), std::vector<std::string>{"/activation/scale_dtype"});
}

TEST(SpecBytes, RefusesItsFieldsWithSixteenBits) {
  GemmSpec spec;
  spec.shape.n = spec.shape.k = 256;
  spec.activation_scale = {RowGranularity::kToken, false};
  spec.accumulation = Accumulation::kFast;
  spec.weight.bits = 8;
  spec.weight.interleave = Interleave::kSwizzle128b;
  spec.activation_scale.scale_dtype = RowScaleDtype::kE8m0;
  spec.weight.group_rows = kBlockRows;
  EXPECT_EQ(pointers_of(spec),
            (std::vector<std::string>{"/activation/granularity", "/activation/symmetric",
                                      "/activation/scale_dtype", "/weight/group_rows",
                                      "/accumulation", "/weight/interleave"}));
}

TEST(SpecBytes, NothingDecodesTheirOrder) {
  const WeightSpec weight = byte_gemm(256, 512, DType::kInt8).weight;
  EXPECT_THROW(decode_request(weight, DType::kFp16), Error);
}

TEST(SpecBytes, NeedsTensorCoresOfTheType) {
  for (const char* target : {"sm_75", "a100", "sm_86"}) {
    try {
      resolve(Spec::from_gemm(byte_gemm(256, 512, DType::kFp8E4m3)), target_from_name(target));
      FAIL() << target;
    } catch (const Error& error) {
      ASSERT_FALSE(error.problems().empty());
      EXPECT_EQ(error.problems().front().pointer, "/activation/dtype");
      EXPECT_NE(error.problems().front().message.find("FP8"), std::string::npos);
    }
  }
}

TEST(SpecBytes, PlansDecodeNothing) {
  const Plan plan =
      resolve(Spec::from_gemm(byte_gemm(4096, 4096, DType::kInt8)), target_from_name("h200"));
  EXPECT_TRUE(decode_plans_of(plan).empty());
  EXPECT_EQ(plan.kernels.front().size_min, 1) << "one family serves every M";
  for (const PlannedKernel& kernel : plan.kernels) {
    EXPECT_TRUE(kernel.takes(KernelArgument::kXScales)) << kernel.name;
  }
}

}  // namespace
}  // namespace heddle
