// The parts of the GPU harness that compute and touch no GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "generator/operations/gemm/gemm.h"
#include "heddle/weights.h"
#include "tests/attention_spec.h"
#include "tests/byte_gemm.h"
#include "tools/gpu_harness/numbers/stored_scale.h"
#include "tools/gpu_harness/operations/decode_attention/bench_cache.h"
#include "tools/gpu_harness/operations/gemm/floor.h"
#include "tools/gpu_harness/operations/gemm/weight_copies.h"
#include "tools/gpu_harness/timing/graph_timer.h"
#include "tools/gpu_harness/timing/launch_overhead.h"
#include "tools/gpu_harness/timing/median.h"

namespace heddle {
namespace {

constexpr double kReadTbPerS = 4.5;

GemmSpec large_spec() {
  GemmSpec spec;
  spec.shape.n = spec.shape.k = 8192;
  return spec;
}

TEST(GemmFloor, TrafficIsThePackedWeightsAndBothSidesOfEachToken) {
  const GemmSpec spec = large_spec();
  EXPECT_EQ(traffic_bytes(spec, 3),
            static_cast<double>(weight_layout(spec).total_bytes + 2 * 3 * (8192 + 8192)));
}

TEST(GemmFloor, TrafficCountsWhatElseALaunchReads) {
  GemmSpec spec = large_spec();
  const double plain = traffic_bytes(spec, 5);
  spec.epilogue.bias = true;
  EXPECT_EQ(traffic_bytes(spec, 5), plain + 2 * 8192);
  spec.epilogue.residual = true;
  EXPECT_EQ(traffic_bytes(spec, 5), plain + 2 * 8192 + 2 * 5 * 8192);
}

TEST(WeightCopies, TheirUnitIsAGemmWhereTheWholeIs) {
  GemmSpec gated = block_gemm(1024, 512);
  gated.epilogue = {false, Activation::kSilu, false, true};
  for (const GemmSpec& spec : {gated, block_gemm(1024, 512), large_spec(),
                               byte_gemm(72, 512, DType::kInt8), block_gemm(72, 512)}) {
    ASSERT_TRUE(check_meaning(spec).empty());
    const GemmSpec unit = spec_of_unit(spec);
    EXPECT_TRUE(check_meaning(unit).empty());
    EXPECT_LE(unit.shape.n, spec.shape.n);
    // Its scales of blocks, too, end where those of the next unit begin.
    const WeightLayout layout = weight_layout(unit);
    const std::int64_t tiles = (layout.row_blocks + 3) / 4;
    if (unit.shape.n == spec.shape.n || layout.block_bytes == 0) continue;
    EXPECT_EQ(layout.tensor_offset - layout.channel_offset,
              static_cast<std::size_t>(tiles * layout.chunks_per_row_block * layout.block_bytes));
  }
}

TEST(GemmFloor, MemoryBoundsFewTokensAndTensorCoresMany) {
  const GemmSpec spec = large_spec();
  const Target h200 = target_from_name("h200");
  EXPECT_DOUBLE_EQ(floor_us(spec, 1, h200, kReadTbPerS),
                   1.5 + traffic_bytes(spec, 1) / kReadTbPerS * 1e-6);
  EXPECT_NEAR(floor_us(spec, 4096, h200, kReadTbPerS), 2.0 * 4096 * 8192 * 8192 / 790e6, 1e-6);
}

TEST(GemmFloor, WhatIsNotKnownOfADeviceBoundsNothing) {
  const GemmSpec spec = large_spec();
  for (const char* name : {"h100-pcie", "a100"}) {
    EXPECT_DOUBLE_EQ(floor_us(spec, 4096, target_from_name(name), kReadTbPerS),
                     traffic_bytes(spec, 4096) / kReadTbPerS * 1e-6)
        << name;
  }
}

TEST(ReplayPlan, ShortLaunchesFillAGraphWithWholeRounds) {
  const ReplayPlan plan = plan_replays(30, 5, {2000, 50000});
  EXPECT_EQ(plan.launches, 420);  // 14 rounds of 150 us
  EXPECT_EQ(plan.replays, 21);
}

TEST(ReplayPlan, LongLaunchesAreReplayedAFewTimes) {
  EXPECT_EQ(plan_replays(3, 6000, {2000, 50000}).launches, 3);
  EXPECT_EQ(plan_replays(3, 6000, {2000, 50000}).replays, 5);
  EXPECT_EQ(plan_replays(1, 5000, {2000, 50000}).replays, 10);
}

TEST(WeightCopies, TogetherTheyAreLargerThanAnyCache) {
  for (const std::size_t bytes : {std::size_t{1} << 20, std::size_t{100} << 20}) {
    EXPECT_GT(copies_for(bytes) * bytes, std::size_t{260} << 20);
    EXPECT_LE((copies_for(bytes) - 1) * bytes, std::size_t{260} << 20);
  }
  EXPECT_EQ(copies_for(std::size_t{1} << 30), 1U);
}

// What a problem has behind its tokens is NaN.
int not_finite(const std::vector<std::uint8_t>& halves) {
  int count = 0;
  for (std::size_t i = 0; i + 1 < halves.size(); i += 2) {
    std::uint16_t half = 0;
    std::memcpy(&half, halves.data() + i, 2);
    if ((half & 0x7C00) == 0x7C00) ++count;
  }
  return count;
}

TEST(BenchPattern, HasNothingButItsTokens) {
  for (const char* kv : {R"("dtype":"int8")", R"("dtype":"int4","granularity":"token")",
                         R"("k":{"dtype":"int4","granularity":"channel"},"v":{"dtype":"int8"})"}) {
    const Spec spec = attention_spec(std::string(R"("layout":"contiguous","order":"nhd",)") + kv,
                                     "", {8, 4, 64, 1}, false);
    const AttentionProblem pattern = bench_pattern(spec.decode_attention());
    for (const std::size_t which : {std::size_t{0}, std::size_t{1}}) {
      EXPECT_FALSE(pattern.codes[which].empty()) << kv;
      EXPECT_FALSE(pattern.scales[which].empty()) << kv;
      EXPECT_EQ(not_finite(pattern.scales[which]), 0) << kv;
    }
  }
  const Spec plain = attention_spec(R"("layout":"contiguous","order":"nhd","dtype":"fp16")", "",
                                    {8, 4, 64, 1}, false);
  EXPECT_EQ(not_finite(bench_pattern(plain.decode_attention()).codes[0]), 0);
}

TEST(StoredScale, IsTheTypesOwnNumber) {
  EXPECT_EQ(stored_scale(DType::kFp16, 0xC500), -5);
  EXPECT_EQ(stored_scale(DType::kBf16, 0x3FC0), 1.5);
  EXPECT_EQ(stored_scale(DType::kFp32, 0x3F000000), 0.5);
  EXPECT_EQ(stored_scale(DType::kE8m0, 0), std::ldexp(1.0F, -127));
  EXPECT_EQ(stored_scale(DType::kE4m3, 0x01), std::ldexp(1.0F, -9));
  EXPECT_EQ(stored_scale(DType::kE4m3, 0xFE), -448);
  EXPECT_TRUE(std::isnan(stored_scale(DType::kE4m3, 0x7F)));
  EXPECT_TRUE(std::isnan(stored_scale(DType::kE8m0, 0xFF)));
}

TEST(Median, IsTheMiddleOrTheUpperOfTwo) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({5, 1, 3}), 3);
  EXPECT_EQ(median({4, 1, 3, 2}), 3);
}

// A hundred kernels of 3 us; of 735 us, which took half a minute in all; of 10 ms.
TEST(LaunchRounds, LongKernelsGetFewer) {
  EXPECT_EQ(launch_rounds(0.0003), 201);
  EXPECT_EQ(launch_rounds(0.0735), 13);
  EXPECT_EQ(launch_rounds(1), 11);
}

}  // namespace
}  // namespace heddle
