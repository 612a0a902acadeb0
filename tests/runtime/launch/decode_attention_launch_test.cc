#include "runtime/launch/decode_attention_launch.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "heddle/error.h"
#include "tests/attention_spec.h"
#include "tests/runtime/launch/launch_refusals.h"

namespace heddle {
namespace {

Plan attention_plan(const std::string& kv, const std::string& more = "",
                    const char* target = "h200") {
  return resolve(
      Spec::parse(R"({"heddle":1,"op":"decode_attention","shape":{"heads":32,)"
                  R"("kv_heads":8,"head_dim":128},"activation":{"dtype":"fp16"},"kv":{)" +
                  kv + "}" + more + "}"),
      target_from_name(target));
}

DecodeAttentionArgs attention_args() {
  auto args = args_with_cache<DecodeAttentionArgs>();
  args.q = memory(0x1000);
  args.out = memory(0x2000);
  args.workspace = memory(0x9000);
  return args;
}

std::string attention_refusal(const Plan& plan,
                              const std::function<void(DecodeAttentionArgs&)>& change) {
  return refusal_after(plan, attention_args(), change);
}

TEST(DecodeAttentionLaunch, WantsItsPointers) {
  const Plan plan = attention_plan("");
  EXPECT_EQ(attention_refusal(plan, [](auto&) {}), "");
  EXPECT_EQ(attention_refusal(plan, [](auto& a) { a.q = {}; }), "launch.missing");
  EXPECT_EQ(attention_refusal(plan, [](auto& a) { a.out = memory(0x2008); }), "launch.misaligned");
  EXPECT_EQ(attention_refusal(plan, [](auto& a) { a.lengths = {}; }), "launch.missing");
  EXPECT_EQ(attention_refusal(plan, [](auto& a) { a.cache.block_table = {}; }), "launch.missing");
  EXPECT_EQ(attention_refusal(plan, [](auto& a) { a.cache.v.scales = {}; }), "launch.missing");
  EXPECT_EQ(attention_refusal(plan, [](auto& a) { a.slopes = memory(0xa000); }),
            "launch.unexpected");
  EXPECT_EQ(attention_refusal(plan, [](auto& a) { a.log_sum_exp = memory(0xa000); }),
            "launch.unexpected");
}

TEST(DecodeAttentionLaunch, WantsWhatTheSpecAsksFor) {
  const Plan plan = attention_plan("", R"(,"alibi":"given","sink_logits":true,"log_sum_exp":true)");
  const auto all = [](DecodeAttentionArgs& a) {
    a.slopes = a.sink_logits = memory(0xa004);
    a.log_sum_exp = memory(0xb004);
  };
  EXPECT_EQ(attention_refusal(plan, all), "");
  EXPECT_EQ(attention_refusal(plan,
                              [&](auto& a) {
                                all(a);
                                a.slopes = {};
                              }),
            "launch.missing");
  EXPECT_EQ(attention_refusal(plan,
                              [&](auto& a) {
                                all(a);
                                a.sink_logits = {};
                              }),
            "launch.missing");
}

TEST(DecodeAttentionLaunch, WantsSizesThatFit) {
  const Plan plan = attention_plan("");
  EXPECT_EQ(attention_refusal(plan, [](auto& a) { a.sequences = 1025; }), "launch.size");
  EXPECT_EQ(attention_refusal(plan, [](auto& a) { a.sequences = -1; }), "launch.size");
  EXPECT_EQ(attention_refusal(plan, [](auto& a) { a.cache.pages = 0; }), "launch.size");
  EXPECT_EQ(
      attention_refusal(plan, [&](auto& a) { a.workspace.bytes = plan.max_workspace_bytes() - 1; }),
      "launch.workspace");
  EXPECT_EQ(attention_refusal(plan, [](auto& a) { a.workspace = {}; }), "launch.missing");
  // Pages of 64: 1024 sequences of 2^21 tokens are one too many, of 2^21 - 64 they are not.
  const auto of_pages = [](std::int64_t pages) {
    return [=](DecodeAttentionArgs& a) {
      a.sequences = 1024;
      a.cache.table_stride = pages;
    };
  };
  EXPECT_EQ(attention_refusal(plan, of_pages(32768)), "launch.size");
  EXPECT_EQ(attention_refusal(plan, of_pages(32767)), "");
  // 128 heads of K and V each have all of these tiles.
  const Plan many = resolve(attention_spec(R"("dtype":"int8")", "", {128, 128, 128, 1}, false),
                            target_from_name("h200"));
  EXPECT_EQ(attention_refusal(many, of_pages(32767)), "launch.size");
  EXPECT_EQ(attention_refusal(many, of_pages(4096)), "");
  const Plan contiguous = attention_plan(R"("layout":"contiguous")");
  const auto dense = [](DecodeAttentionArgs& a) {
    a.cache.block_table = {};
    a.cache.table_stride = 0;
    a.cache.page_tokens = 100;
  };
  EXPECT_EQ(attention_refusal(contiguous, dense), "");
  EXPECT_EQ(attention_refusal(contiguous,
                              [&](auto& a) {
                                dense(a);
                                a.cache.page_tokens = 101;
                              }),
            "launch.size");
  EXPECT_EQ(attention_refusal(contiguous,
                              [&](auto& a) {
                                dense(a);
                                a.sequences = 17;
                              }),
            "launch.size");
}

TEST(DecodeAttentionLaunch, WantsAResidualWindowWithScalesPerChannel) {
  const Plan plan = attention_plan(R"("k":{"granularity":"channel"})");
  const auto window = [](DecodeAttentionArgs& a) {
    a.cache.k.residual = memory(0xa000);
    a.cache.residual_slot_count = 4;
  };
  EXPECT_EQ(attention_refusal(plan, [](auto&) {}), "launch.missing");
  EXPECT_EQ(attention_refusal(plan, window), "");
  EXPECT_EQ(attention_refusal(attention_plan(""), window), "launch.unexpected");
  DecodeAttentionArgs args = attention_args();
  window(args);
  args.cache.residual_slots = memory(0xb004);
  const AttentionParameters parameters = decode_attention_parameters(plan, args);
  EXPECT_EQ(parameters.k_residual, args.cache.k.residual.data);
  EXPECT_EQ(parameters.residual_slots, args.cache.residual_slots.data);
  EXPECT_EQ(parameters.residual_slot_count, 4);
}

std::string refused(const std::string& kv, const char* target = "h200") {
  try {
    resolve(Spec::parse(R"({"heddle":1,"op":"decode_attention","shape":{"heads":12,"kv_heads":3,)"
                        R"("head_dim":80},"activation":{"dtype":"fp16"},"kv":{)" +
                        kv + "}}"),
            target_from_name(target));
  } catch (const Error& error) {
    return error.problems().empty() ? "none" : error.problems().front().pointer;
  }
  return {};
}

KernelLaunch grid_of(const Plan& plan, std::int64_t sequences, std::int64_t capacity) {
  DecodeAttentionArgs args = attention_args();
  args.sequences = sequences;
  args.cache.table_stride = capacity / plan.spec.decode_attention().kv.page_size;
  const LaunchSize size = decode_attention_size(plan, args);
  return plan.launch(plan.kernel_for(size.size), size);
}

// NVFP4 has a factor of all scales.
TEST(DecodeAttentionLaunch, WantsWhatIsGiven) {
  const Plan plan = attention_plan(R"("k":{"dtype":"nvfp4"},"v":{"dtype":"int8"})");
  EXPECT_EQ(attention_refusal(plan, [](auto&) {}), "launch.missing");
  const auto give = [](auto& a) { a.cache.k.given = memory(0xa000); };
  EXPECT_EQ(attention_refusal(plan, give), "");
  EXPECT_EQ(attention_refusal(attention_plan(""), give), "launch.unexpected");
}

// 8 heads, tiles of 32 tokens.
TEST(DecodeAttentionLaunch, HasNoMoreBlocksThanCanHaveWork) {
  const auto blocks_of = [](const Plan& plan, std::int64_t sequences, std::int64_t capacity) {
    return static_cast<int>(grid_of(plan, sequences, capacity).grid_x);
  };
  const Plan int8 =
      attention_plan(R"("dtype":"int8")");  // 2 blocks of 4 warps per SM, 4 tiles at least
  EXPECT_EQ(blocks_of(int8, 1, 128), 8);
  EXPECT_EQ(blocks_of(int8, 4, 4096), 264);
  EXPECT_EQ(blocks_of(int8, 10, 128), 80);
  EXPECT_EQ(blocks_of(int8, 64, 8192), 264);
  EXPECT_EQ(blocks_of(int8, 1, 0), 1);
  const Plan int4 =
      attention_plan(R"("dtype":"int4")");  // 4 blocks, 8 tiles at least of longer sequences
  EXPECT_EQ(blocks_of(int4, 1, 128), 8);
  EXPECT_EQ(blocks_of(int4, 32, 1024), 528);
  EXPECT_EQ(blocks_of(int4, 64, 8128), 528);
  EXPECT_EQ(blocks_of(int4, 64, 8192), 264);  // of eight warps
}

// Clusters are as large as sequences have tiles for, but not where two launches would not fit, nor
// where few blocks would have many tiles.
TEST(DecodeAttentionLaunch, FewSequencesAreSharedByClusters) {
  const auto grids_of = [](const Plan& plan, std::int64_t sequences, std::int64_t capacity) {
    const KernelLaunch grid = grid_of(plan, sequences, capacity);
    return std::pair(static_cast<int>(grid.grid_x), static_cast<int>(grid.cluster));
  };
  const Plan int8 = attention_plan(R"("dtype":"int8")");
  EXPECT_EQ(grids_of(int8, 1, 128), std::pair(8, 1));
  EXPECT_EQ(grids_of(int8, 1, 192), std::pair(16, 2));
  EXPECT_EQ(grids_of(int8, 1, 1024), std::pair(64, 8));
  EXPECT_EQ(grids_of(int8, 1, 8192), std::pair(64, 8));
  EXPECT_EQ(grids_of(int8, 1, 8256), std::pair(264, 2));
  EXPECT_EQ(grids_of(int8, 2, 8128), std::pair(264, 1));
  EXPECT_EQ(grids_of(int8, 31, 8192), std::pair(264, 2));
  EXPECT_EQ(grids_of(int8, 32, 8192), std::pair(264, 1));
  EXPECT_EQ(grids_of(int8, 2, 1024), std::pair(64, 4));
  EXPECT_EQ(grids_of(int8, 8, 512), std::pair(128, 2));
  EXPECT_EQ(grids_of(int8, 9, 512), std::pair(264, 1));
  EXPECT_EQ(grids_of(int8, 32, 1024), std::pair(264, 1));
  const Plan int4 = attention_plan(R"("dtype":"int4")");
  EXPECT_EQ(grids_of(int4, 2, 1024), std::pair(128, 8));
  EXPECT_EQ(grids_of(int4, 3, 1024), std::pair(96, 4));
  EXPECT_EQ(grids_of(int4, 1, 8192), std::pair(64, 8));
  EXPECT_EQ(grids_of(int4, 1, 32768), std::pair(264, 2));
  EXPECT_EQ(grid_of(attention_plan(R"("dtype":"fp16")"), 1, 1024).cluster, 1U);
  EXPECT_EQ(grid_of(attention_plan("", "", "a100"), 1, 1024).cluster, 1U);
}

// Small stages leave room for more blocks, a window's table of lengths or two row tiles do not.
TEST(DecodeAttentionPlan, FillsTheSharedMemoryOfAnSm) {
  const auto blocks_per_sm = [](const Plan& plan) { return plan.kernels.front().blocks_per_sm; };
  EXPECT_EQ(blocks_per_sm(attention_plan(R"("dtype":"fp16")")), 1);
  EXPECT_EQ(blocks_per_sm(attention_plan(R"("dtype":"int8")")), 2);
  EXPECT_EQ(blocks_per_sm(attention_plan(R"("dtype":"int4")")), 4);
  EXPECT_EQ(blocks_per_sm(attention_plan(R"("dtype":"int4")", R"(,"window":100)")), 3);
  EXPECT_EQ(blocks_per_sm(attention_plan(R"("dtype":"nvfp4")")), 3);
}

// Where four or three blocks of an SM serve short sequences, two with as many warps serve long
// ones.
TEST(DecodeAttentionPlan, HasAKernelForLongSequencesOf4BitCodes) {
  const auto kernels_of = [](const char* kv, const char* more, const char* target) {
    std::vector<std::pair<int, int>> threads_and_blocks;
    const Plan plan = attention_plan(kv, more, target);
    for (const PlannedKernel& kernel : plan.kernels)
      threads_and_blocks.emplace_back(kernel.threads, kernel.blocks_per_sm);
    return threads_and_blocks;
  };
  using Kernels = std::vector<std::pair<int, int>>;
  EXPECT_EQ(kernels_of(R"("dtype":"int4")", "", "h200"), (Kernels{{128, 4}, {256, 2}}));
  EXPECT_EQ(kernels_of(R"("dtype":"int8")", "", "h200"), (Kernels{{128, 2}}));
  EXPECT_EQ(kernels_of(R"("dtype":"int4")", R"(,"window":100)", "h200"), (Kernels{{128, 3}}));
  EXPECT_EQ(kernels_of(R"("dtype":"int4","granularity":"group","group_size":32)", "", "h200"),
            (Kernels{{128, 3}, {192, 2}}));
  EXPECT_EQ(kernels_of(R"("dtype":"int4","granularity":"group","group_size":64)", "", "h200"),
            (Kernels{{128, 3}, {192, 2}}));
  EXPECT_EQ(kernels_of(R"("dtype":"int4","k":{"granularity":"channel"})", "", "h200"),
            (Kernels{{128, 3}, {192, 2}}));
  EXPECT_EQ(kernels_of(R"("dtype":"int2")", "", "h200").size(), 1U);
  EXPECT_EQ(kernels_of(R"("dtype":"int4")", "", "a100").size(), 1U);
}

TEST(DecodeAttentionPlan, RefusesWhatHasNoKernel) {
  EXPECT_EQ(refused(R"("dtype":"int8")"), "");
  EXPECT_THROW(resolve(Spec::parse(R"({"heddle":1,"op":"decode_attention","shape":{"heads":8,)"
                                   R"("kv_heads":8,"head_dim":64},"activation":{"dtype":"fp16"},)"
                                   R"("kv":{"dtype":"int8"}})"),
                       target_from_name("sm_75")),
               Error);
  EXPECT_EQ(refused(R"("dtype":"int4")"), "/shape/head_dim");
  EXPECT_EQ(refused(R"("dtype":"int2")"), "/shape/head_dim");
  EXPECT_EQ(refused(R"("dtype":"nvfp4")"), "/shape/head_dim");
  EXPECT_EQ(refused(R"("dtype":"bf16")"), "/kv/k/dtype");
  EXPECT_EQ(refused(R"("dtype":"int8","granularity":"channel")"), "/kv/v/granularity");
  EXPECT_EQ(refused(R"("k":{"granularity":"channel"})"), "");
  EXPECT_EQ(refused(R"("k":{"granularity":"channel","group_size":40})"), "/kv/k/group_size");
  EXPECT_EQ(refused(R"("k":{"granularity":"channel","group_size":128})"), "/kv/page_size");
  EXPECT_EQ(refused(R"("dtype":"int8","page_size":1)"), "/kv/page_size");
  EXPECT_EQ(refused(R"("dtype":"int8","page_size":1,"scale_dtype":"fp32")"), "");
  EXPECT_EQ(refused(R"("dtype":"int8","order":"nhd")"), "/kv/k/scale_dtype");
}

}  // namespace
}  // namespace heddle
