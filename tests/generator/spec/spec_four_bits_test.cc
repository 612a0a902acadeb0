// Weights of four bits that activations of eight bits are multiplied by, in a spec.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "generator/decode/decode_plan.h"
#include "generator/operations/gemm/gemm.h"
#include "generator/operations/kernel_argument.h"
#include "generator/operations/weight_ops/weight_ops.h"
#include "heddle/error.h"
#include "heddle/inspect/plan.h"
#include "tests/byte_gemm.h"
#include "tests/generator/spec/spec_pointers.h"

namespace heddle {
namespace {

TEST(SpecFourBits, HaveTheirOwnOrder) {
  const Spec spec = Spec::parse(R"({"heddle": 1, "op": "gemm", "shape": {"n": 256, "k": 512},
      "weight": {"bits": 4}, "activation": {"dtype": "int8", "granularity": "token"},
      "output": {"dtype": "bf16"}})");
  EXPECT_EQ(spec.gemm().weight.interleave, Interleave::kByteFragment);
  EXPECT_EQ(spec.gemm().weight.scale_dtype, DType::kFp32);
  EXPECT_TRUE(check_meaning(spec.gemm()).empty());
  EXPECT_EQ(Spec::parse(spec.canonical_json()).canonical_json(), spec.canonical_json());
}

TEST(SpecFourBits, TakeEveryGroupOfWholeColumns) {
  for (const DType x : {DType::kInt8, DType::kFp8E4m3, DType::kFp8E5m2}) {
    for (const int group : {kPerChannel, kPerTensor, 32, 96, 128, 384}) {
      for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
        GemmSpec spec = four_bit_gemm(256, 1152, x, group);
        spec.weight.zero_point = zero;
        EXPECT_TRUE(check_meaning(spec).empty());
        const Plan plan = resolve(Spec::from_gemm(spec), target_from_name("h100"));
        // Streams multiply FP8 as FP16.
        const std::vector<SharedDecodePlan> decodes = decode_plans_of(plan);
        ASSERT_EQ(decodes.size(), x == DType::kInt8 ? 1U : 2U);
        EXPECT_EQ(decodes.front()->request.dtype, plan.decode->request.dtype);
        for (const PlannedKernel& kernel : plan.kernels) {
          EXPECT_TRUE(kernel.takes(KernelArgument::kXScales));
        }
      }
    }
  }
}

// The order was not asked for, so no word is said of it.
TEST(SpecFourBits, OtherWeightsOfFourBitsAreRefusedByTheirType) {
  for (const std::string type : {"nf4", "e2m1"}) {
    const Spec spec = Spec::parse(R"({"heddle": 1, "op": "gemm", "shape": {"n": 256, "k": 512},
        "weight": {"bits": 4, "group_size": 32, "type": ")" +
                                  type + R"("},
        "activation": {"dtype": "int8", "granularity": "token"}, "output": {"dtype": "bf16"}})");
    EXPECT_EQ(pointers_of(spec.gemm()), std::vector<std::string>{"/weight/type"}) << type;
  }
}

TEST(SpecFourBits, RefuseByName) {
  struct Case {
    std::function<void(GemmSpec&)> change;
    std::string pointer;
  };
  const Case cases[] = {
      {[](GemmSpec& s) { s.weight.bits = 3; }, "/weight/type"},
      {[](GemmSpec& s) { s.weight.type = WeightType::kE2m1; }, "/weight/type"},
      {[](GemmSpec& s) { s.weight.type = WeightType::kNf4; }, "/weight/type"},
      {[](GemmSpec& s) { s.weight.group_size = 16; }, "/weight/group_size"},
      {[](GemmSpec& s) { s.weight.group_offset = 16; }, "/weight/group_offset"},
      {[](GemmSpec& s) { s.weight.group_rows = kBlockRows; }, "/weight/group_rows"},
      {[](GemmSpec& s) { s.weight.zero_point = ZeroPoint::kFloat; }, "/weight/zero_point"},
      {[](GemmSpec& s) { s.weight.tensor_scale = true; }, "/weight/tensor_scale"},
      {[](GemmSpec& s) { s.weight.scale_dtype = DType::kE4m3; }, "/weight/scale_dtype"},
      {[](GemmSpec& s) { s.weight.interleave = Interleave::kLinear; }, "/weight/interleave"},
      {[](GemmSpec& s) { s.activation_scale.symmetric = false; }, "/activation/symmetric"},
      {[](GemmSpec& s) { s.activation_scale.granularity = RowGranularity::kGroup; },
       "/activation/granularity"},
      {[](GemmSpec& s) {
         s.activation = DType::kFp8E4m3;
         s.accumulation = Accumulation::kFast;
       },
       "/accumulation"},
  };
  for (const Case& one : cases) {
    GemmSpec spec = four_bit_gemm(256, 512, DType::kInt8);
    one.change(spec);
    const std::vector<std::string> pointers = pointers_of(spec);
    EXPECT_NE(std::find(pointers.begin(), pointers.end(), one.pointer), pointers.end())
        << one.pointer;
  }
}

std::string reasons_of(DType x, int group) {
  const GemmSpec spec = four_bit_gemm(256, 1152, x, group);
  std::string text;
  const Plan plan = resolve(Spec::from_gemm(spec), target_from_name("h100"));
  for (const std::string& reason : plan.reasons) text += reason + '\n';
  return text;
}

TEST(SpecFourBits, PlansSayHowProductsAreAdded) {
  EXPECT_NE(reasons_of(DType::kInt8, kPerChannel).find("products are added exactly\n"),
            std::string::npos);
  EXPECT_NE(reasons_of(DType::kInt8, 128).find("of 128 columns are added exactly, then in FP32"),
            std::string::npos);
  EXPECT_NE(reasons_of(DType::kFp8E4m3, 32).find("products of 32 columns"), std::string::npos);
}

TEST(SpecFourBits, SumsOfGroupsFitWhateverK) {
  EXPECT_TRUE(pointers_of(four_bit_gemm(256, 131200, DType::kInt8)).empty());
  EXPECT_EQ(pointers_of(four_bit_gemm(256, 131200, DType::kInt8, kPerChannel)),
            std::vector<std::string>{"/shape/k"});
}

TEST(SpecFourBits, TheirOrderIsOfEightBitActivationsAlone) {
  GemmSpec spec;
  spec.shape = {256, 512};
  spec.weight.interleave = Interleave::kByteFragment;
  EXPECT_EQ(pointers_of(spec), std::vector<std::string>{"/weight/interleave"});
  WeightOpSpec op;
  op.shape = {256, 512};
  op.weight = four_bit_gemm(256, 512, DType::kInt8).weight;
  for (const Op one : {Op::kDequantize, Op::kQuantizeWeight}) {
    std::string pointer;
    for (const Problem& problem : check_meaning(one, op)) pointer += problem.pointer;
    EXPECT_NE(pointer.find("/weight/interleave"), std::string::npos) << to_string(one);
  }
}

}  // namespace
}  // namespace heddle
