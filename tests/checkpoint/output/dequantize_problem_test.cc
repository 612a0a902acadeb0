// What the GPU's results are compared with is what `heddle dequantize` computes on the CPU: random
// checkpoints of one layer through both.
#include "tools/gpu_harness/operations/weight_ops/dequantize_problem.h"

#include <gtest/gtest.h>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/output/convert.h"
#include "tests/checkpoint/test_util.h"

namespace heddle {
namespace {

TensorType stored_type(DType dtype) {
  return dtype == DType::kFp32   ? TensorType::kF32
         : dtype == DType::kBf16 ? TensorType::kBf16
                                 : TensorType::kF16;
}

CheckpointConfig config_of_op(const WeightOpSpec& spec) {
  const bool awq = spec.format == CheckpointFormat::kAwq;
  Scheme scheme;
  scheme.storage = awq ? Storage::kAwq : Storage::kGptq;
  scheme.bits = spec.weight.bits;
  scheme.group_size = spec.weight.group_size;
  scheme.symmetric = spec.weight.zero_point == ZeroPoint::kNone;
  scheme.zero_is_minus_one = spec.format == CheckpointFormat::kGptq;
  CheckpointConfig config;
  config.dtype = spec.dtype;
  config.quantization = Quantization::uniform("test", scheme);
  return config;
}

std::vector<TestTensor> layer_tensors(const WeightOpSpec& spec, const SourceTensors& source) {
  const auto [n, k] = spec.shape;
  const int bits = spec.weight.bits;
  const std::int64_t groups = k / spec.weight.group_size;
  const bool awq = spec.format == CheckpointFormat::kAwq;
  std::vector<TestTensor> tensors;
  tensors.push_back(
      {"l.qweight", TensorType::kI32,
       awq ? std::vector<std::int64_t>{k, n / 8} : std::vector<std::int64_t>{k * bits / 32, n},
       source.weights});
  tensors.push_back({"l.scales", stored_type(spec.weight.scale_dtype), {groups, n}, source.scales});
  if (!source.zeros.empty()) {
    tensors.push_back({"l.qzeros", TensorType::kI32, {groups, n * bits / 32}, source.zeros});
  }
  if (!source.group_index.empty()) {
    tensors.push_back({"l.g_idx", TensorType::kI32, {k}, bytes_of_values(source.group_index)});
  }
  return tensors;
}

void expect_same_bits(const WeightOpSpec& spec) {
  const DequantizeProblem problem = make_dequantize_problem(spec, 7);
  const TemporaryFolder folder;
  write_tensors(folder / "in.safetensors", layer_tensors(spec, problem.source));
  dequantize_checkpoint(Checkpoint(folder / "in.safetensors"), config_of_op(spec),
                        folder / "out.safetensors", {});
  EXPECT_EQ(Checkpoint(folder / "out.safetensors").read("l.weight"),
            bytes_of_values(problem.expected))
      << Spec::from_weight_op(Op::kDequantize, spec).canonical_json();
}

WeightOpSpec spec_of(CheckpointFormat format, int bits, DType dtype, DType scale, ZeroPoint zero,
                     bool act_order) {
  WeightOpSpec spec;
  spec.shape = {96, 192};
  spec.format = format;
  spec.weight.bits = bits;
  spec.weight.group_size = 32;
  spec.weight.zero_point = zero;
  spec.weight.scale_dtype = scale;
  spec.dtype = dtype;
  spec.act_order = act_order;
  return spec;
}

TEST(DequantizeProblem, IsWhatTheCpuComputesFromCheckpoints) {
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    for (const DType scale : {DType::kFp16, DType::kBf16, DType::kFp32}) {
      for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
        expect_same_bits(spec_of(CheckpointFormat::kAwq, 4, dtype, scale, zero, false));
        for (const int bits : {2, 3, 4, 8}) {
          for (const bool act_order : {false, true}) {
            expect_same_bits(spec_of(CheckpointFormat::kGptq, bits, dtype, scale, zero, act_order));
            expect_same_bits(
                spec_of(CheckpointFormat::kGptqV2, bits, dtype, scale, zero, act_order));
          }
        }
      }
    }
  }
}

TEST(DequantizeProblem, PoisonIsNoWeightAndAnyNanIsNan) {
  EXPECT_FALSE(same_weight(DType::kFp16, kPoisonWeight, 0x7E00));
  EXPECT_TRUE(same_weight(DType::kFp16, 0x7FFF, 0x7E00));
  EXPECT_FALSE(same_weight(DType::kFp16, 0x7C00, 0x7E00));
  EXPECT_TRUE(same_weight(DType::kBf16, 0x7FFF, 0x7FC0));
  EXPECT_FALSE(same_weight(DType::kBf16, 0x3F80, 0x3F81));
}

// By hand: the places where a second rounding would show.
TEST(DequantizeProblem, TheScaleIsTheOneRounding) {
  WeightOpSpec spec =
      spec_of(CheckpointFormat::kHeddle, 4, DType::kFp16, DType::kFp32, ZeroPoint::kInt, false);
  const auto weight = [&spec](unsigned code, unsigned zero, float scale, float tensor_scale) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &scale, sizeof bits);
    return expected_weight(spec, code, zero, bits, tensor_scale);
  };
  EXPECT_EQ(weight(3, 2, 1.0F, 1.0F), 0x3C00);
  EXPECT_EQ(weight(0, 15, 1.0F, 1.0F), 0xCB80);  // -15
  // Three times these lie just below and just above the middle of two neighbours; FP32 would round
  // the products to the middle, and from there to the even one, 0x3C02.
  EXPECT_EQ(weight(5, 2, 0x1.55d554p-2F, 1.0F), 0x3C01);
  EXPECT_EQ(weight(5, 2, 0x1.562aacp-2F, 1.0F), 0x3C03);
  spec.weight.tensor_scale = true;
  EXPECT_EQ(weight(3, 2, 1.0F, 0.5F), 0x3800);
}

}  // namespace
}  // namespace heddle
