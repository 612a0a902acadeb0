// check_packed_weights: a kernel takes weights that were packed for it, and no others.
#include <gtest/gtest.h>

#include <functional>

#include "heddle/error.h"
#include "heddle/weights.h"
#include "tests/generator/spec/spec_pointers.h"

namespace heddle {
namespace {

GemmSpec gemm() {
  GemmSpec spec;
  spec.shape.n = 64;
  spec.shape.k = 256;
  return spec;
}

// The fields in which they differ.
Pointers mismatch(const Spec& kernel, const Spec& packed) {
  try {
    check_packed_weights(kernel, packed);
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kUsage);
    EXPECT_EQ(error.code(), "weights.mismatch");
    return pointers_of(error.problems());
  }
  return {};
}

std::string mismatch_code(const Spec& kernel, const Spec& packed) {
  try {
    check_packed_weights(kernel, packed);
  } catch (const Error& error) {
    return error.code();
  }
  return {};
}

TEST(PackedMatch, EveryFieldOfTheBytesCounts) {
  const Spec kernel = Spec::from_gemm(gemm());
  EXPECT_EQ(mismatch(kernel, kernel), Pointers{});
  const std::pair<const char*, std::function<void(GemmSpec&)>> changes[] = {
      {"/shape/n", [](GemmSpec& spec) { spec.shape.n = 128; }},
      {"/shape/k", [](GemmSpec& spec) { spec.shape.k = 512; }},
      {"/weight/bits", [](GemmSpec& spec) { spec.weight.bits = 8; }},
      {"/weight/type", [](GemmSpec& spec) { spec.weight.type = WeightType::kInt; }},
      {"/weight/group_size", [](GemmSpec& spec) { spec.weight.group_size = 64; }},
      {"/weight/group_offset", [](GemmSpec& spec) { spec.weight.group_offset = 32; }},
      {"/weight/group_rows", [](GemmSpec& spec) { spec.weight.group_rows = 128; }},
      {"/weight/zero_point", [](GemmSpec& spec) { spec.weight.zero_point = ZeroPoint::kInt; }},
      {"/weight/scale_dtype", [](GemmSpec& spec) { spec.weight.scale_dtype = DType::kFp32; }},
      {"/weight/tensor_scale", [](GemmSpec& spec) { spec.weight.tensor_scale = true; }},
      {"/weight/interleave", [](GemmSpec& spec) { spec.weight.interleave = Interleave::kLinear; }},
      {"/activation/act_order", [](GemmSpec& spec) { spec.act_order = true; }},
      {"/epilogue/gated", [](GemmSpec& spec) { spec.epilogue.gated = true; }}};
  for (const auto& [pointer, change] : changes) {
    GemmSpec other = gemm();
    change(other);
    EXPECT_EQ(mismatch(kernel, Spec::from_gemm(other)), Pointers{pointer});
    EXPECT_EQ(mismatch(Spec::from_gemm(other), kernel), Pointers{pointer});
  }
}

TEST(PackedMatch, WhatIsNotInTheBytesDoesNot) {
  GemmSpec other = gemm();
  other.shape.m_max = 8;
  other.epilogue.bias = other.epilogue.residual = true;
  other.epilogue.activation = Activation::kRelu;
  other.pre_scale = true;
  other.deterministic = false;
  other.batch_invariant = true;
  EXPECT_EQ(mismatch(Spec::from_gemm(gemm()), Spec::from_gemm(other)), Pointers{});
}

// What one operation packs another one reads.
TEST(PackedMatch, OperationsOnWeightsTakePart) {
  GemmSpec wanted = gemm();
  wanted.epilogue.gated = true;
  wanted.act_order = true;
  const Spec kernel = Spec::from_gemm(wanted);
  WeightOpSpec op;
  op.shape = {64, 256};
  op.format = CheckpointFormat::kGptq;
  op.act_order = op.gated = true;
  const Spec repack = Spec::from_weight_op(Op::kRepack, op);
  EXPECT_EQ(mismatch(kernel, repack), Pointers{});
  op.gated = false;
  EXPECT_EQ(mismatch(kernel, Spec::from_weight_op(Op::kRepack, op)), Pointers{"/epilogue/gated"});
  op.format = CheckpointFormat::kHeddle;
  op.act_order = false;
  const Spec dequantize = Spec::from_weight_op(Op::kDequantize, op);
  EXPECT_EQ(mismatch(dequantize, repack), (Pointers{"/source/act_order", "/epilogue/gated"}));
  const Spec quantize = Spec::from_weight_op(Op::kQuantizeWeight, op);
  EXPECT_EQ(mismatch(dequantize, quantize), Pointers{});
  EXPECT_EQ(mismatch_code(repack, kernel), "weights.no_weight");  // it reads a checkpoint
  op.format = CheckpointFormat::kAwq;
  EXPECT_EQ(mismatch_code(Spec::from_weight_op(Op::kDequantize, op), kernel), "weights.no_weight");
  EXPECT_EQ(mismatch_code(kernel, Spec::from_weight_op(Op::kDequantize, op)), "weights.no_weight");
}

}  // namespace
}  // namespace heddle
