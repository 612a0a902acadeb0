// Scales in two levels, in a spec.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "generator/operations/gemm/gemm.h"
#include "generator/operations/weight_ops/weight_ops.h"
#include "heddle/error.h"
#include "heddle/inspect/plan.h"
#include "tests/byte_gemm.h"
#include "tests/generator/spec/spec_pointers.h"

namespace heddle {
namespace {

TEST(SpecTwoLevels, AreParsedAndWritten) {
  const Spec spec = Spec::parse(R"({"heddle": 1, "op": "gemm", "shape": {"n": 256, "k": 512},
      "weight": {"bits": 4, "group_size": 32, "scale_dtype": "int8", "channel_scale": "fp16"},
      "activation": {"dtype": "int8", "granularity": "token"}, "output": {"dtype": "bf16"}})");
  EXPECT_EQ(spec.gemm().weight.channel_scale, DType::kFp16);
  EXPECT_EQ(spec.gemm().weight.scale_dtype, DType::kInt8);
  EXPECT_TRUE(check_meaning(spec.gemm()).empty());
  const std::string text = spec.canonical_json();
  EXPECT_NE(text.find(R"("scale_dtype":"int8","channel_scale":"fp16")"), std::string::npos) << text;
  EXPECT_EQ(Spec::parse(text).canonical_json(), text);
}

// Nothing else is taken with a scale of each channel, which may come before the type of scales.
TEST(SpecTwoLevels, AreIntegersWhereNothingElseIsSaid) {
  const auto parse = [](const std::string& members) {
    return Spec::parse(R"({"heddle": 1, "op": "gemm", "shape": {"n": 256, "k": 512}, "weight":
        {"bits": 4, "group_size": 32, )" +
                       members + R"(}, "activation": {"dtype": "int8",
        "granularity": "token"}, "output": {"dtype": "bf16"}})");
  };
  EXPECT_EQ(parse(R"("channel_scale": "fp16")").canonical_json(),
            parse(R"("scale_dtype": "int8", "channel_scale": "fp16")").canonical_json());
  const GemmSpec other = parse(R"("channel_scale": "fp16", "scale_dtype": "fp16")").gemm();
  EXPECT_EQ(pointers_of(other), (std::vector<std::string>{"/weight/scale_dtype"}));
}

// int8 activations give no type to scales, and specs that came before have the text that they had.
TEST(SpecTwoLevels, AreNoDefault) {
  const Spec spec = Spec::parse(R"({"heddle": 1, "op": "gemm", "shape": {"n": 256, "k": 512},
      "weight": {"bits": 4}, "activation": {"dtype": "int8", "granularity": "token"},
      "output": {"dtype": "bf16"}})");
  EXPECT_EQ(spec.gemm().weight.scale_dtype, DType::kFp32);
  EXPECT_EQ(spec.canonical_json().find("channel_scale"), std::string::npos);
  const Spec same = Spec::parse(R"({"heddle": 1, "op": "gemm", "shape": {"n": 256, "k": 512},
      "weight": {"bits": 4, "channel_scale": "none"}, "activation": {"dtype": "int8",
      "granularity": "token"}, "output": {"dtype": "bf16"}})");
  EXPECT_EQ(same.canonical_json(), spec.canonical_json());
}

TEST(SpecTwoLevels, HaveAPlanForEveryGroup) {
  for (const int group : {32, 96, 128, 384}) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
      GemmSpec spec = two_level_gemm(256, 1152, group);
      spec.weight.zero_point = zero;
      EXPECT_TRUE(check_meaning(spec).empty());
      const Plan plan = resolve(Spec::from_gemm(spec), target_from_name("h100"));
      ASSERT_EQ(decode_plans_of(plan).size(), 1U);
      EXPECT_EQ(plan.kernels.front().size_min, 1) << "one family serves every M";
      EXPECT_NE(plan.kernels.front().name.find("_cfp32"), std::string::npos);
      std::string reasons;
      for (const std::string& reason : plan.reasons) reasons += reason + '\n';
      EXPECT_NE(reasons.find("integer products are added exactly\n"), std::string::npos) << reasons;
    }
  }
}

TEST(SpecTwoLevels, RefuseByName) {
  struct Case {
    std::function<void(GemmSpec&)> change;
    std::string pointer;
  };
  const Case cases[] = {
      {[](GemmSpec& s) { s.weight.channel_scale.reset(); }, "/weight/scale_dtype"},
      {[](GemmSpec& s) { s.weight.scale_dtype = DType::kFp16; }, "/weight/scale_dtype"},
      {[](GemmSpec& s) { s.weight.group_size = kPerChannel; }, "/weight/group_size"},
      {[](GemmSpec& s) { s.weight.group_size = kPerTensor; }, "/weight/group_size"},
      {[](GemmSpec& s) { s.weight.group_size = 16; }, "/weight/group_size"},
      {[](GemmSpec& s) { s.weight.bits = 3; }, "/weight/type"},
      {[](GemmSpec& s) { s.weight.type = WeightType::kE2m1; }, "/weight/type"},
      {[](GemmSpec& s) {
         s.weight.bits = 8;
         s.weight.type = WeightType::kInt;
         s.weight.interleave = Interleave::kSwizzle128b;
       },
       "/weight/channel_scale"},
      {[](GemmSpec& s) { s.weight.zero_point = ZeroPoint::kFloat; }, "/weight/zero_point"},
      {[](GemmSpec& s) { s.weight.tensor_scale = true; }, "/weight/tensor_scale"},
      {[](GemmSpec& s) { s.weight.interleave = Interleave::kLinear; }, "/weight/interleave"},
      {[](GemmSpec& s) { s.accumulation = Accumulation::kFast; }, "/accumulation"},
      {[](GemmSpec& s) { s.activation_scale.symmetric = false; }, "/activation/symmetric"},
      {[](GemmSpec& s) { s.activation = DType::kFp8E4m3; }, "/weight/channel_scale"},
      {[](GemmSpec& s) {
         s.activation = DType::kFp16;
         s.activation_scale = {};
         s.weight.interleave = Interleave::kFragment;
       },
       "/weight/channel_scale"},
      {[](GemmSpec& s) { s.shape.k = 131200; }, "/shape/k"},
  };
  EXPECT_TRUE(pointers_of(two_level_gemm(256, 512)).empty());
  for (const Case& one : cases) {
    GemmSpec spec = two_level_gemm(256, 512);
    one.change(spec);
    const std::vector<std::string> pointers = pointers_of(spec);
    EXPECT_NE(std::find(pointers.begin(), pointers.end(), one.pointer), pointers.end())
        << one.pointer;
  }
  GemmSpec other = two_level_gemm(256, 512);
  other.weight.channel_scale = DType::kE8m0;
  EXPECT_THROW(Spec::from_gemm(other), Error);
}

TEST(SpecTwoLevels, NoOtherGpuAndNoOperationOnWeightsServesThem) {
  const Spec spec = Spec::from_gemm(two_level_gemm(256, 512));
  for (const char* target : {"a100", "rtx4090", "b200"}) {
    EXPECT_THROW(resolve(spec, target_from_name(target)), Error) << target;
  }
  WeightOpSpec op;
  op.shape = {256, 512};
  op.weight = two_level_gemm(256, 512).weight;
  for (const Op one : {Op::kDequantize, Op::kQuantizeWeight, Op::kRepack}) {
    std::string pointers;
    for (const Problem& problem : check_meaning(one, op)) pointers += problem.pointer + ' ';
    EXPECT_NE(pointers.find("/weight/channel_scale"), std::string::npos) << to_string(one);
  }
}

}  // namespace
}  // namespace heddle
