// What decode_attention refuses of a cache in groups, and what it plans.
#include <gtest/gtest.h>

#include "decode_attention/config.h"
#include "generator/families/configuration.h"
#include "generator/operations/kernel_argument.h"
#include "tests/attention_spec.h"
#include "tests/generator/planner/plan_refusals.h"

namespace heddle {
namespace {

Pointers attention_refusals(const std::string& kv, int head_dim) {
  return refused_fields(attention_spec(kv, "", {32, 8, head_dim, 1}, false), "h200");
}

std::string in_groups(const std::string& tensor, const std::string& dtype, int group) {
  return '"' + tensor + R"(":{"dtype":")" + dtype + R"(","granularity":"group","group_size":)" +
         std::to_string(group) + "}";
}

// A lane reads codes 16 bytes at a time, all of one group.
TEST(DecodeAttentionPlan, GroupsAreWholeRunsOf16Bytes) {
  struct Case {
    const char* dtype;
    int head_dim, group;
    bool served;
  };
  for (const Case& c : {Case{"int4", 96, 48, false},
                        {"int4", 160, 80, false},
                        {"int4", 96, 96, true},
                        {"int4", 128, 32, true},
                        {"int4", 128, 16, false},
                        {"int2", 192, 96, false},
                        {"int2", 128, 64, true},
                        {"int8", 96, 48, true},
                        {"int8", 128, 16, true}}) {
    for (const std::string tensor : {"k", "v"}) {
      const std::string other = tensor == "k" ? "v" : "k";
      const std::string kv =
          in_groups(tensor, c.dtype, c.group) + ",\"" + other + R"(":{"dtype":"int8"})";
      const Pointers expected = c.served ? Pointers{} : Pointers{"/kv/" + tensor + "/group_size"};
      EXPECT_EQ(attention_refusals(kv, c.head_dim), expected) << kv << ", head_dim " << c.head_dim;
    }
  }
}

// What a refusal allows is served.
TEST(DecodeAttentionPlan, RefusedHeadsOfNvfp4NameTheHeadsThatAreServed) {
  for (const int head_dim : {16, 32, 96, 192}) {
    try {
      static_cast<void>(
          resolve(attention_spec(R"("dtype":"nvfp4")", "", {32, 8, head_dim, 1}, false),
                  target_from_name("h200")));
      ADD_FAILURE() << head_dim;
    } catch (const Error& error) {
      EXPECT_EQ(error.problems().front().allowed, "64, 128 or multiples of 256") << head_dim;
    }
  }
}

// The plan's kernels find each other's counters zero and their parts at the same places.
TEST(DecodeAttentionPlan, KernelsShareAWorkspace) {
  const Plan plan = resolve(attention_spec(R"("dtype":"int4")", "", {32, 8, 128, 1}, false),
                            target_from_name("h200"));
  ASSERT_EQ(plan.kernels.size(), 2U);
  const auto& usual = config_of<device::DecodeAttentionConfig>(plan.kernels[0]);
  const auto& wide = config_of<device::DecodeAttentionConfig>(plan.kernels[1]);
  EXPECT_GT(wide.warps, usual.warps);
  EXPECT_EQ(usual.most_blocks, plan.target.sm_count * plan.kernels[0].blocks_per_sm);
  EXPECT_EQ(wide.most_blocks, usual.most_blocks);
  EXPECT_EQ(wide.counter_bytes(), usual.counter_bytes());
  EXPECT_EQ(wide.slot_bytes(), usual.slot_bytes());
  EXPECT_EQ(plan.max_workspace_bytes(), static_cast<std::size_t>(usual.workspace_bytes()));
}

// Kernels of other plans and operations, too: where one has its counters none puts anything else.
TEST(DecodeAttentionPlan, CountersAreThoseOfEveryWorkspace) {
  Target largest = target_from_name("h200");
  largest.sm_count = 4096;  // the most that a target may have
  largest.registers_per_sm *= 4;
  largest.shared_per_sm *= 4;
  for (const char* dtype : {"int8", "int4", "fp16"}) {
    const Plan plan = resolve(
        attention_spec(std::string(R"("dtype":")") + dtype + '"', "", {32, 8, 128, 1}, false),
        largest);
    for (const PlannedKernel& kernel : plan.kernels) {
      const auto& config = config_of<device::DecodeAttentionConfig>(kernel);
      EXPECT_EQ(config.counter_bytes(), kWorkspaceCounterBytes);
      EXPECT_LE(4 * config.most_blocks, kWorkspaceCounterBytes);
    }
  }
}

TEST(DecodeAttentionPlan, TheRegisterFileBoundsTheBlocksOfAnSm) {
  const Spec spec = attention_spec(R"("dtype":"int4")", "", {32, 8, 128, 1}, false);
  Target target = target_from_name("h200");
  EXPECT_EQ(resolve(spec, target).kernels.front().blocks_per_sm, 4);
  target.registers_per_sm /= 2;
  EXPECT_EQ(resolve(spec, target).kernels.front().blocks_per_sm, 2);
}

// All blocks that the registers are for find room on an SM.
TEST(DecodeAttentionPlan, BlocksFitTheirSharedMemory) {
  for (const char* target : {"a100", "h200", "rtx4090", "b200"}) {
    for (const char* dtype : {"int8", "int4", "fp8_e4m3", "nvfp4", "fp16"}) {
      for (const int head_dim : {64, 128, 256}) {
        const Plan plan = resolve(attention_spec(std::string(R"("dtype":")") + dtype + '"', "",
                                                 {32, 8, head_dim, 1}, false),
                                  target_from_name(target));
        for (const PlannedKernel& kernel : plan.kernels) {
          const auto& config = config_of<device::DecodeAttentionConfig>(kernel);
          EXPECT_GE(config.stages, 2);
          EXPECT_EQ(kernel.shared_bytes, config.shared_bytes());
          EXPECT_LE(kernel.shared_bytes, plan.target.shared_per_block);
          EXPECT_LE(kernel.blocks_per_sm * (kernel.shared_bytes + 1024), plan.target.shared_per_sm)
              << target << ' ' << dtype << ' ' << head_dim;
        }
      }
    }
  }
}

// Q is as wide as K, the output as V.
TEST(AttentionConfig, KAndVHaveSizesOfTheirOwn) {
  const Plan plan = resolve(attention_spec(R"("dtype":"fp16")", "", {32, 8, 128, 1}, false),
                            target_from_name("h200"));
  const auto& square = config_of<device::DecodeAttentionConfig>(plan.kernels.front());
  device::DecodeAttentionConfig wide = square;
  wide.k.head_dim = 192;
  wide.k.row_bytes = 2 * wide.k.head_dim;
  EXPECT_EQ(wide.slot_bytes(), square.slot_bytes());
  EXPECT_EQ(wide.sum_stride(), square.sum_stride());
  EXPECT_EQ(wide.values_offset(), wide.k.code_tile_bytes());
  EXPECT_GT(wide.stage_bytes(), square.stage_bytes());
  EXPECT_FALSE(wide.has_large_heads());
  wide.k.head_dim = 576;
  wide.v.head_dim = 512;
  EXPECT_EQ(wide.query_bytes(), 2 * wide.block_rows() * 576);
  EXPECT_EQ(wide.sum_stride(), 512 + 4);
}

TEST(AttentionConfig, RowsOfVThatLieInKTakeNoRoomOfTheirOwn) {
  const Plan plan = resolve(attention_spec(R"("dtype":"fp16")", "", {32, 8, 128, 1}, false),
                            target_from_name("h200"));
  device::DecodeAttentionConfig config =
      config_of<device::DecodeAttentionConfig>(plan.kernels.front());
  config.heads.value_rows = device::ValueRows::kFirstOfKey;
  EXPECT_EQ(config.values_offset(), 0);
  EXPECT_EQ(config.key_entries_offset(), config.k.code_tile_bytes());
}

}  // namespace
}  // namespace heddle
