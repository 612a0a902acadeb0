#include "generator/operations/gemm/gemm.h"
#include "generator/operations/weight_ops/weight_ops.h"
#include "heddle/weights.h"
#include "tests/generator/spec/spec_helpers.h"
#include "tests/generator/spec/spec_pointers.h"

namespace heddle {
namespace {

GemmSpec good() {
  GemmSpec gemm;
  gemm.shape = {.n = 64, .k = 256, .m_min = 1, .m_max = 8};
  return gemm;
}

TEST(SpecMeaning, GoodSpecHasNoProblems) {
  EXPECT_EQ(pointers_of(good()), Pointers{});
  GemmSpec gemm = good();
  gemm.tile.m = 16;
  gemm.tile.n = 64;
  gemm.tile.k = 128;
  gemm.tile.warps_m = gemm.tile.warps_k = 2;
  gemm.tile.warps_n = 4;
  gemm.weight.group_size = kPerChannel;
  EXPECT_EQ(pointers_of(gemm), Pointers{});
}

TEST(SpecMeaning, Shape) {
  GemmSpec gemm = good();
  gemm.shape.m_min = 9;
  EXPECT_EQ(pointers_of(gemm), Pointers{"/shape/m"});
  gemm.shape.m_max = 9;
  EXPECT_EQ(pointers_of(gemm), Pointers{});
  gemm.shape.n = 60;
  EXPECT_EQ(pointers_of(gemm), Pointers{"/shape/n"});
  gemm.shape.k = 272;
  gemm.weight.group_size = 16;
  EXPECT_EQ(pointers_of(gemm), (Pointers{"/shape/n", "/shape/k"}));
}

TEST(SpecMeaning, GroupDividesK) {
  GemmSpec gemm = good();
  gemm.weight.group_size = 512;
  EXPECT_EQ(pointers_of(gemm), Pointers{"/weight/group_size"});
  EXPECT_NE(check_meaning(gemm)[0].message.find("larger than K = 256"), std::string::npos);
  gemm.weight.group_size = 96;
  EXPECT_NE(check_meaning(gemm).at(0).message.find("does not divide K = 256"), std::string::npos);
  gemm.weight.group_size = 256;
  EXPECT_EQ(pointers_of(gemm), Pointers{});
}

TEST(SpecMeaning, GatesAndUpsFillRowBlocks) {
  GemmSpec gemm = good();
  gemm.epilogue.gated = true;
  EXPECT_EQ(pointers_of(gemm), Pointers{});
  gemm.shape.n = 72;
  EXPECT_EQ(pointers_of(gemm), Pointers{"/shape/n"});
  EXPECT_THROW(pack_weights(gemm, QuantizedWeights{}), Error);
}

TEST(SpecMeaning, ClampedSwigluIsGatedAndHasALimit) {
  GemmSpec gemm = good();
  gemm.epilogue.activation = Activation::kClampedSwiglu;
  EXPECT_EQ(pointers_of(gemm), (Pointers{"/epilogue/activation", "/epilogue/limit"}));
  gemm.epilogue.gated = true;
  EXPECT_EQ(pointers_of(gemm), Pointers{"/epilogue/limit"});
  gemm.epilogue.limit = 7;
  EXPECT_EQ(pointers_of(gemm), Pointers{});
  gemm.epilogue.activation = Activation::kGelu;
  EXPECT_EQ(pointers_of(gemm), Pointers{"/epilogue/limit"});
  // DeepSeek V4's, which may have one.
  gemm.epilogue.activation = Activation::kSilu;
  EXPECT_EQ(pointers_of(gemm), Pointers{});
  gemm.epilogue.gated = false;
  EXPECT_EQ(pointers_of(gemm), Pointers{"/epilogue/limit"});
}

TEST(SpecMeaning, SituIsGatedAndItsGatesHaveALimit) {
  GemmSpec gemm = good();
  gemm.epilogue.activation = Activation::kSitu;
  EXPECT_EQ(pointers_of(gemm), (Pointers{"/epilogue/activation", "/epilogue/gate_limit"}));
  gemm.epilogue.gated = true;
  gemm.epilogue.gate_limit = 4;
  EXPECT_EQ(pointers_of(gemm), Pointers{});
  gemm.epilogue.limit = 25;
  EXPECT_EQ(pointers_of(gemm), Pointers{});
  gemm.epilogue.activation = Activation::kSilu;
  EXPECT_EQ(pointers_of(gemm), Pointers{"/epilogue/gate_limit"});
}

TEST(SpecMeaning, TileHoldsWholeStepsOfItsWarps) {
  GemmSpec gemm = good();
  gemm.tile.m = 8;
  gemm.tile.n = 48;
  gemm.tile.k = 96;
  gemm.tile.warps_m = 2;
  gemm.tile.warps_n = 4;
  EXPECT_EQ(pointers_of(gemm), (Pointers{"/tile/m", "/tile/n", "/tile/k"}));
  gemm.tile = {};
  gemm.tile.warps_m = gemm.tile.warps_n = gemm.tile.warps_k = 4;
  EXPECT_EQ(pointers_of(gemm), Pointers{"/tile"});
}

TEST(SpecMeaning, CodesHaveTheirTypesWidth) {
  GemmSpec gemm = good();
  gemm.weight.type = WeightType::kE4m3;
  EXPECT_EQ(pointers_of(gemm), Pointers{"/weight/bits"});
  EXPECT_EQ(check_meaning(gemm).at(0).allowed, "8");
  gemm.weight.bits = 8;
  EXPECT_EQ(pointers_of(gemm), Pointers{});
  gemm.weight.zero_point = ZeroPoint::kInt;
  EXPECT_EQ(pointers_of(gemm), Pointers{"/weight/zero_point"});
}

TEST(SpecMeaning, FloatZeroPointsAreOfTheScalesType) {
  GemmSpec gemm = good();
  gemm.weight.zero_point = ZeroPoint::kFloat;
  EXPECT_EQ(pointers_of(gemm), Pointers{});
  gemm.weight.scale_dtype = DType::kE8m0;
  EXPECT_EQ(pointers_of(gemm), Pointers{"/weight/scale_dtype"});
}

TEST(SpecMeaning, InterleaveFitsTheCodes) {
  GemmSpec gemm = good();
  gemm.weight.bits = 3;
  for (const Interleave bad :
       {Interleave::kAwq, Interleave::kEvenOdd, Interleave::kTrtllm, Interleave::kPermutation}) {
    gemm.weight.interleave = bad;
    EXPECT_EQ(pointers_of(gemm), Pointers{"/weight/interleave"}) << to_string(bad);
  }
  gemm.weight.interleave = Interleave::kLinear;
  EXPECT_EQ(pointers_of(gemm), Pointers{});
  gemm.weight.permutation = {0};
  EXPECT_EQ(pointers_of(gemm), Pointers{"/weight/permutation"});
  gemm.weight.bits = 8;
  gemm.weight.interleave = Interleave::kPermutation;
  EXPECT_EQ(pointers_of(gemm), Pointers{"/weight/permutation"});
  gemm.weight.permutation = {3, 2, 1, 4};
  EXPECT_EQ(pointers_of(gemm), Pointers{"/weight/permutation"});
  gemm.weight.permutation = {3, 2, 1, 0};
  EXPECT_EQ(pointers_of(gemm), Pointers{});
}

TEST(SpecMeaning, WhatACheckpointCannotHold) {
  WeightOpSpec spec;
  spec.shape = {64, 256};
  const auto found = [&](Op op) {
    std::vector<std::string> pointers_of;
    for (const Problem& problem : check_meaning(op, spec)) pointers_of.push_back(problem.pointer);
    return pointers_of;
  };
  EXPECT_EQ(found(Op::kDequantize), Pointers{});
  EXPECT_EQ(found(Op::kQuantizeWeight), Pointers{});
  EXPECT_EQ(found(Op::kRepack), Pointers{"/source/format"});
  spec.format = CheckpointFormat::kAwq;
  EXPECT_EQ(found(Op::kRepack), Pointers{});
  spec.weight.bits = 3;
  spec.act_order = true;
  EXPECT_EQ(found(Op::kRepack), (Pointers{"/weight/bits", "/source/act_order"}));
  spec.format = CheckpointFormat::kGptq;
  EXPECT_EQ(found(Op::kDequantize), Pointers{});
  spec.weight.type = WeightType::kInt;
  spec.weight.zero_point = ZeroPoint::kFloat;
  spec.weight.group_size = kPerTensor;
  EXPECT_EQ(found(Op::kDequantize),
            (Pointers{"/weight/type", "/weight/zero_point", "/weight/group_size"}));
  spec.weight = {};
  spec.weight.bits = 3;
  spec.shape.n = 72;  // 216 bits are no whole words
  EXPECT_EQ(found(Op::kRepack), Pointers{});
  spec.weight.zero_point = ZeroPoint::kInt;
  EXPECT_EQ(found(Op::kRepack), Pointers{"/shape/n"});
  EXPECT_EQ(found(Op::kDequantize), Pointers{"/shape/n"});
}

TEST(SpecMeaning, OnlyPackedWeightsAreGated) {
  WeightOpSpec spec;
  spec.shape = {64, 128};
  spec.gated = true;
  const auto found = [&](Op op) {
    Pointers pointers_of;
    for (const Problem& problem : check_meaning(op, spec)) pointers_of.push_back(problem.pointer);
    return pointers_of;
  };
  EXPECT_EQ(found(Op::kDequantize), Pointers{});
  EXPECT_EQ(found(Op::kQuantizeWeight), Pointers{});
  spec.format = CheckpointFormat::kAwq;
  EXPECT_EQ(found(Op::kRepack), Pointers{});
  EXPECT_EQ(found(Op::kDequantize), Pointers{"/epilogue/gated"});
  spec.shape.n = 72;
  EXPECT_EQ(found(Op::kRepack), Pointers{"/shape/n"});
  EXPECT_EQ(found(Op::kQuantizeWeight), Pointers{"/shape/n"});
}

TEST(SpecMeaning, MultipliesInTheTypeOfX) {
  GemmSpec gemm = good();
  gemm.multiply = DType::kFp16;
  EXPECT_EQ(pointers_of(gemm), Pointers{});
  gemm.multiply = DType::kBf16;
  EXPECT_EQ(pointers_of(gemm), Pointers{"/multiply/dtype"});
  const Problem problem = check_meaning(gemm).at(0);
  EXPECT_EQ(problem.value, "\"bf16\"");
  EXPECT_NE(problem.allowed.find("\"fp16\""), std::string::npos);
  gemm.activation = DType::kBf16;
  EXPECT_EQ(pointers_of(gemm), Pointers{});
}

TEST(SpecMeaning, TuringHasNoBf16) {
  GemmSpec gemm = good();
  gemm.path = Path::kTuring;
  EXPECT_EQ(pointers_of(gemm), Pointers{});
  gemm.activation = DType::kBf16;
  EXPECT_EQ(pointers_of(gemm), Pointers{"/path"});
}

}  // namespace
}  // namespace heddle
