// Every launch refuses memory that is a byte too small, whichever it is, and takes what is just
// large enough.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/weights.h"
#include "runtime/launch/decode_attention_launch.h"
#include "runtime/launch/gemm_launch.h"
#include "runtime/launch/kv_append_launch.h"
#include "runtime/launch/weight_op_launch.h"
#include "tests/runtime/launch/launch_refusals.h"
#include "tests/runtime/launch_size_checks.h"

namespace heddle {
namespace {

using testing::expect_each_is_needed;
using testing::Sizes;

TEST(LaunchSizes, OfGemm) {
  GemmSpec spec;
  spec.shape = {264, 512, 1, 64};
  spec.epilogue.bias = spec.epilogue.residual = true;
  spec.pre_scale = spec.act_order = true;
  Plan plan;
  plan.spec = Spec::from_gemm(spec);
  plan.layout = weight_layout(spec);
  GemmArgs args;
  args.m = 3;
  args.x = memory(0x1000, 3 * 512 * 2);
  args.weights = memory(0x2000, weight_layout(spec).total_bytes);
  args.y = memory(0x3000, 3 * 264 * 2);
  args.bias = memory(0x4000, 264 * 2);
  args.residual = memory(0x5000, 3 * 264 * 2);
  args.pre_scale = memory(0x6000, 512 * 2);
  args.permutation = memory(0x7000, 512 * 4);
  expect_each_is_needed([&] { validate(plan, 0, args); },
                        {{"x", &args.x.bytes},
                         {"weights", &args.weights.bytes},
                         {"y", &args.y.bytes},
                         {"bias", &args.bias.bytes},
                         {"residual", &args.residual.bytes},
                         {"pre_scale", &args.pre_scale.bytes},
                         {"permutation", &args.permutation.bytes}});
}

// A residual of X's type beside Y of eight bits.
TEST(LaunchSizes, OfGemmWithCodes) {
  GemmSpec spec;
  spec.shape = {264, 512, 1, 64};
  spec.epilogue.residual = true;
  spec.output = DType::kFp8E4m3;
  spec.output_scale.granularity = RowGranularity::kTensor;
  Plan plan;
  plan.spec = Spec::from_gemm(spec);
  plan.layout = weight_layout(spec);
  GemmArgs args;
  args.m = 3;
  args.x = memory(0x1000, 3 * 512 * 2);
  args.weights = memory(0x2000, weight_layout(spec).total_bytes);
  args.y = memory(0x3000, 3 * 264);
  args.residual = memory(0x4000, 3 * 264 * 2);
  args.y_scales = memory(0x5000, 4);
  expect_each_is_needed([&] { validate(plan, 0, args); }, {{"y", &args.y.bytes},
                                                           {"residual", &args.residual.bytes},
                                                           {"y_scales", &args.y_scales.bytes}});
}

Plan weight_plan(Op op, CheckpointFormat format) {
  WeightOpSpec spec;
  spec.shape = {256, 512};
  spec.format = format;
  spec.weight.group_size = 128;
  spec.weight.zero_point = ZeroPoint::kInt;
  spec.act_order = true;
  Plan plan;
  plan.spec = Spec::from_weight_op(op, spec);
  plan.layout = weight_layout(spec.shape, spec.weight);
  return plan;
}

// 4 bits, zero points too, and four groups of FP16 scales.
WeightSource checkpoint_source() {
  WeightSource source;
  source.weights = memory(0x1000, 256 * 512 / 2);
  source.scales = memory(0x2000, 4 * 256 * 2);
  source.zeros = memory(0x3000, 4 * 256 / 2);
  return source;
}

Sizes sizes_of(WeightSource* source) {
  return {{"weights", &source->weights.bytes},
          {"scales", &source->scales.bytes},
          {"zeros", &source->zeros.bytes}};
}

TEST(LaunchSizes, OfDequantizeFromACheckpoint) {
  const Plan plan = weight_plan(Op::kDequantize, CheckpointFormat::kGptq);
  DequantizeArgs args{checkpoint_source(), memory(0x4000, 256 * 512 * 2)};
  args.source.group_index = memory(0x5000, 512 * 4);
  Sizes sizes = sizes_of(&args.source);
  sizes.emplace_back("group_index", &args.source.group_index.bytes);
  sizes.emplace_back("w", &args.w.bytes);
  expect_each_is_needed([&] { validate(plan, args); }, sizes);
}

TEST(LaunchSizes, OfDequantizeFromPackedWeights) {
  const Plan plan = weight_plan(Op::kDequantize, CheckpointFormat::kHeddle);
  DequantizeArgs args;
  args.source.weights = memory(0x1000, plan.layout.total_bytes);
  args.source.permutation = memory(0x2000, 512 * 4);
  args.w = memory(0x4000, 256 * 512 * 2);
  expect_each_is_needed([&] { validate(plan, args); },
                        {{"weights", &args.source.weights.bytes},
                         {"permutation", &args.source.permutation.bytes},
                         {"w", &args.w.bytes}});
}

TEST(LaunchSizes, OfRepack) {
  const Plan plan = weight_plan(Op::kRepack, CheckpointFormat::kGptq);
  RepackArgs args{checkpoint_source(), memory(0x4000, plan.layout.total_bytes)};
  args.source.permutation = memory(0x5000, 512 * 4);
  Sizes sizes = sizes_of(&args.source);
  sizes.emplace_back("permutation", &args.source.permutation.bytes);
  sizes.emplace_back("packed", &args.packed.bytes);
  expect_each_is_needed([&] { validate(plan, args); }, sizes);
}

TEST(LaunchSizes, OfQuantizeWeight) {
  const Plan plan = weight_plan(Op::kQuantizeWeight, CheckpointFormat::kHeddle);
  QuantizeWeightArgs args{memory(0x1000, 256 * 512 * 2), memory(0x2000, plan.layout.total_bytes)};
  expect_each_is_needed([&] { validate(plan, args); },
                        {{"w", &args.w.bytes}, {"packed", &args.packed.bytes}});
}

// Seven pages of 64 tokens, two heads of 64 elements; K in INT8 with FP16 scales per channel over
// 32 tokens and a window, V in INT8 with a scale and a zero point for all.
TEST(LaunchSizes, OfKvAppend) {
  Plan plan;
  plan.spec =
      Spec::parse(R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":2,"head_dim":64},)"
                  R"("activation":{"dtype":"fp16"},"rope":{"pairing":"gptj","source":"table"},)"
                  R"("kv":{"dtype":"int8","page_size":64,)"
                  R"("k":{"granularity":"channel","group_size":32,"scale_dtype":"fp16"},)"
                  R"("v":{"granularity":"tensor","symmetric":false}},)"
                  R"("query":{"heads":4},"norm":{"epsilon":1e-6}})");
  KvAppendArgs args;
  args.tokens = 5;
  args.sequences = 3;
  args.k_stride = 200;
  args.k = memory(0x1000, (4 * 200 + 128) * 2);
  args.v = memory(0x2000, 5 * 128 * 2);
  args.offsets = memory(0x3000, 4 * 4);
  args.lengths = memory(0x4000, 3 * 4);
  args.rotations = memory(0x5000, 10 * 64 * 4);
  args.rotation_rows = 10;
  args.cache.pages = 7;
  args.cache.block_table = memory(0x6000, 3 * 4 * 4);
  args.cache.table_stride = 4;
  args.cache.residual_slot_count = 6;
  args.cache.residual_slots = memory(0x7000, 3 * 4);
  args.cache.k.codes = memory(0x8000, 7 * 64 * 2 * 64);
  args.cache.k.scales = memory(0x9000, 7 * 2 * 2 * 64 * 2);
  args.cache.k.residual = memory(0xa000, 6 * 2 * 32 * 64 * 2);
  args.cache.v.codes = memory(0xb000, 7 * 64 * 2 * 64);
  args.cache.v.given = memory(0xc000, 2 * 4);
  args.q = memory(0x10000, (4 * 304 + 256) * 2);
  args.q_stride = 304;
  args.q_out = memory(0x20000, 5 * 256 * 2);
  args.k_norm = memory(0x30000, 64 * 2);
  args.q_norm = memory(0x31000, 64 * 2);
  expect_each_is_needed([&] { validate(plan, args); },
                        {{"k", &args.k.bytes},
                         {"v", &args.v.bytes},
                         {"offsets", &args.offsets.bytes},
                         {"lengths", &args.lengths.bytes},
                         {"rotations", &args.rotations.bytes},
                         {"cache.block_table", &args.cache.block_table.bytes},
                         {"cache.residual_slots", &args.cache.residual_slots.bytes},
                         {"cache.k.codes", &args.cache.k.codes.bytes},
                         {"cache.k.scales", &args.cache.k.scales.bytes},
                         {"cache.k.residual", &args.cache.k.residual.bytes},
                         {"cache.v.codes", &args.cache.v.codes.bytes},
                         {"cache.v.given", &args.cache.v.given.bytes},
                         {"q", &args.q.bytes},
                         {"q_out", &args.q_out.bytes},
                         {"k_norm", &args.k_norm.bytes},
                         {"q_norm", &args.q_norm.bytes}});
}

// Seven sequences of up to 100 tokens; K in NVFP4, whose scales have a factor, V in INT8 with an
// FP16 scale of each head.
TEST(LaunchSizes, OfDecodeAttention) {
  const Plan plan =
      resolve(Spec::parse(R"({"heddle":1,"op":"decode_attention","shape":{"heads":8,"kv_heads":2,)"
                          R"("head_dim":128},"activation":{"dtype":"fp16"},"alibi":"given",)"
                          R"("sink_logits":true,"log_sum_exp":true,"kv":{"layout":"contiguous",)"
                          R"("k":{"dtype":"nvfp4"},"v":{"dtype":"int8","granularity":"head",)"
                          R"("scale_dtype":"fp16"}}})"),
              target_from_name("h200"));
  DecodeAttentionArgs args;
  args.sequences = 3;
  args.q = memory(0x1000, 3 * 8 * 128 * 2);
  args.out = memory(0x2000, 3 * 8 * 128 * 2);
  args.lengths = memory(0x3000, 3 * 4);
  args.slopes = memory(0x4000, 8 * 4);
  args.sink_logits = memory(0x5000, 8 * 4);
  args.log_sum_exp = memory(0x6000, 3 * 8 * 4);
  args.cache.pages = 7;
  args.cache.page_tokens = 100;
  args.cache.k.codes = memory(0x8000, 7 * 100 * 2 * 128 / 2);
  args.cache.k.scales = memory(0x9000, 7 * 100 * 2 * 128 / 16);
  args.cache.k.given = memory(0xa000, 4);
  args.cache.v.codes = memory(0xb000, 7 * 100 * 2 * 128);
  args.cache.v.scales = memory(0xc000, 7 * 100 * 2 * 2);
  args.workspace = memory(0xd000, plan.max_workspace_bytes());
  expect_each_is_needed([&] { validate(plan, args); },
                        {{"q", &args.q.bytes},
                         {"out", &args.out.bytes},
                         {"lengths", &args.lengths.bytes},
                         {"slopes", &args.slopes.bytes},
                         {"sink_logits", &args.sink_logits.bytes},
                         {"log_sum_exp", &args.log_sum_exp.bytes},
                         {"cache.k.codes", &args.cache.k.codes.bytes},
                         {"cache.k.scales", &args.cache.k.scales.bytes},
                         {"cache.k.given", &args.cache.k.given.bytes},
                         {"cache.v.codes", &args.cache.v.codes.bytes},
                         {"cache.v.scales", &args.cache.v.scales.bytes}});
}

// The largest numbers that a launch takes make no small product of large ones.
TEST(LaunchSizes, OfTheLargestCacheAreNoSmallNumbers) {
  Plan plan;
  plan.spec = Spec::parse(R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":8,"head_dim":128},)"
                          R"("activation":{"dtype":"fp16"},"kv":{"dtype":"fp16"}})");
  KvAppendArgs args = args_with_cache<KvAppendArgs>();
  args.cache.k.scales = args.cache.v.scales = {};
  args.k = args.v = memory(0x1000);
  args.offsets = memory(0x2000);
  args.tokens = args.sequences = INT32_MAX;
  args.cache.pages = args.cache.table_stride = INT32_MAX;
  args.k_stride = args.v_stride = 2147483640;
  args.cache.block_table.bytes = SIZE_MAX;
  EXPECT_EQ(refusal(plan, args), "");
  args.cache.block_table.bytes = std::size_t{1} << 63;
  EXPECT_EQ(refusal(plan, args), "launch.too_small");
  args.cache.block_table.bytes = SIZE_MAX;
  args.k.bytes = std::size_t{1} << 62;
  EXPECT_EQ(refusal(plan, args), "launch.too_small");
}

TEST(DeviceMemory, CountsTheBytesOfItsElements) {
  const std::int32_t numbers[] = {1, 2, 3};
  const DeviceInput input = device_input(numbers, 3);
  EXPECT_EQ(input.data, numbers);
  EXPECT_EQ(input.bytes, 12U);
  float sums[2] = {};
  const DeviceOutput output = device_output(sums, 2);
  const DeviceInput read = output;
  EXPECT_EQ(read.data, sums);
  EXPECT_EQ(read.bytes, 8U);
  EXPECT_EQ(device_input(numbers, SIZE_MAX / 2).bytes, 0U) << "a count that no memory has";
}

}  // namespace
}  // namespace heddle
