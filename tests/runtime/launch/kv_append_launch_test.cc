#include "runtime/launch/kv_append_launch.h"

#include <gtest/gtest.h>

#include <functional>

#include "generator/families/configuration.h"
#include "kv_append/config.h"
#include "tests/runtime/kv_append_launches.h"
#include "tests/runtime/launch/launch_refusals.h"

namespace heddle {
namespace {

std::string append_refusal(const Plan& plan, const std::function<void(KvAppendArgs&)>& change) {
  return refusal_after(plan, kv_append_args(), change);
}

TEST(KvAppendLaunch, WantsItsPointers) {
  const Plan plan = kv_append_plan("");
  EXPECT_EQ(append_refusal(plan, [](auto&) {}), "");
  EXPECT_EQ(append_refusal(plan, [](auto& a) { a.k = {}; }), "launch.missing");
  EXPECT_EQ(append_refusal(plan, [](auto& a) { a.v = memory(0x2008); }), "launch.misaligned");
  EXPECT_EQ(append_refusal(plan, [](auto& a) { a.lengths = {}; }), "launch.missing");
  EXPECT_EQ(append_refusal(plan, [](auto& a) { a.lengths = memory(0x3002); }), "launch.misaligned");
  EXPECT_EQ(append_refusal(plan, [](auto& a) { a.cache.k.codes = {}; }), "launch.missing");
  EXPECT_EQ(append_refusal(plan, [](auto& a) { a.cache.v.scales = {}; }), "launch.missing");
  EXPECT_EQ(append_refusal(plan, [](auto& a) { a.cache.block_table = {}; }), "launch.missing");
  EXPECT_EQ(append_refusal(plan, [](auto& a) { a.rotations = memory(0x9000); }),
            "launch.unexpected");
}

TEST(KvAppendLaunch, WantsScalesAsTheSpecHasThem) {
  const Plan given = kv_append_plan(R"("dtype":"fp8_e4m3")");
  EXPECT_EQ(append_refusal(given, [](auto&) {}), "launch.unexpected");
  const auto without = [](KvAppendArgs& a) { a.cache.k.scales = a.cache.v.scales = {}; };
  EXPECT_EQ(append_refusal(given, without), "launch.missing");
  EXPECT_EQ(append_refusal(given,
                           [&](auto& a) {
                             without(a);
                             a.cache.k.given = a.cache.v.given = memory(0x9004);
                           }),
            "");
  EXPECT_EQ(append_refusal(kv_append_plan(R"("dtype":"fp16")"), without), "");
  EXPECT_EQ(append_refusal(kv_append_plan(R"("dtype":"nvfp4")"), [](auto&) {}), "launch.missing");
}

TEST(KvAppendLaunch, WantsSizesThatFit) {
  const Plan plan = kv_append_plan("");
  EXPECT_EQ(append_refusal(plan, [](auto& a) { a.tokens = 5; }), "launch.size");
  EXPECT_EQ(append_refusal(plan,
                           [](auto& a) {
                             a.tokens = 5;
                             a.offsets = memory(0x9004);
                           }),
            "");
  EXPECT_EQ(append_refusal(plan, [](auto& a) { a.tokens = -1; }), "launch.size");
  const auto idle = [](auto& a) { a.tokens = a.sequences = 0; };
  EXPECT_EQ(append_refusal(plan, idle), "");
  EXPECT_EQ(append_refusal(plan, [](auto& a) { a.sequences = 0; }), "launch.size");
  EXPECT_EQ(append_refusal(plan, [](auto& a) { a.cache.pages = std::int64_t{1} << 31; }),
            "launch.size");
  EXPECT_EQ(append_refusal(plan, [](auto& a) { a.cache.table_stride = 0; }), "launch.size");
  EXPECT_EQ(append_refusal(plan, [](auto& a) { a.cache.page_tokens = 32; }), "launch.size");
  EXPECT_EQ(append_refusal(plan, [](auto& a) { a.k_stride = 1000; }), "launch.size");
  EXPECT_EQ(append_refusal(plan, [](auto& a) { a.v_stride = 1028; }), "launch.size");
  EXPECT_EQ(append_refusal(plan, [](auto& a) { a.v_stride = 3072; }), "");
  EXPECT_EQ(append_refusal(plan, [](auto& a) { a.v_stride = std::int64_t{1} << 62; }),
            "launch.size");
  const Plan contiguous = kv_append_plan(R"("layout":"contiguous")");
  EXPECT_EQ(append_refusal(contiguous, [](auto&) {}), "launch.unexpected");
  const auto table = [](KvAppendArgs& a) { a.cache.block_table = {}; };
  EXPECT_EQ(append_refusal(contiguous, table), "launch.size");
  EXPECT_EQ(append_refusal(contiguous,
                           [&](auto& a) {
                             table(a);
                             a.cache.page_tokens = 4096;
                           }),
            "");
  // Rows of a sequence, tokens times heads, are counted in 32 bits.
  const std::int64_t heads = contiguous.spec.kv_append().shape.kv_heads;
  const auto of_tokens = [&](std::int64_t tokens) {
    return append_refusal(contiguous, [&](auto& a) {
      table(a);
      a.cache.page_tokens = tokens;
    });
  };
  EXPECT_EQ(of_tokens(2147483647 / heads), "");
  EXPECT_EQ(of_tokens(2147483647 / heads + 1), "launch.size");
}

TEST(KvAppendLaunch, WantsATableOfRotationsExactlyIfTheSpecHasOne) {
  const Plan plan = kv_append_plan("", R"(,"rope":{"pairing":"gptj","source":"table"})");
  EXPECT_EQ(append_refusal(plan, [](auto&) {}), "launch.missing");
  EXPECT_EQ(append_refusal(plan, [](auto& a) { a.rotations = memory(0x9000); }), "launch.size");
  EXPECT_EQ(append_refusal(plan,
                           [](auto& a) {
                             a.rotations = memory(0x9000);
                             a.rotation_rows = 10;
                           }),
            "");
}

TEST(KvAppendLaunch, WantsAResidualWindowExactlyWithScalesPerChannel) {
  const auto window = [](KvAppendArgs& a) {
    a.cache.k.residual = memory(0xa000);
    a.cache.residual_slot_count = 4;
  };
  EXPECT_EQ(append_refusal(kv_append_plan(""), window), "launch.unexpected");
  const Plan plan = kv_append_plan(R"("k":{"granularity":"channel","group_size":32})");
  EXPECT_EQ(append_refusal(plan, [](auto&) {}), "launch.missing");
  EXPECT_EQ(append_refusal(plan, window), "");
  const auto after = [&](const std::function<void(KvAppendArgs&)>& change) {
    return append_refusal(plan, [&](KvAppendArgs& a) {
      window(a);
      change(a);
    });
  };
  EXPECT_EQ(after([](auto& a) { a.cache.k.residual = memory(0xa008); }), "launch.misaligned");
  EXPECT_EQ(after([](auto& a) { a.cache.v.residual = memory(0xa000); }), "launch.unexpected");
  EXPECT_EQ(after([](auto& a) { a.cache.residual_slot_count = 3; }), "launch.size");
  EXPECT_EQ(after([](auto& a) {
              a.cache.residual_slot_count = 3;
              a.cache.residual_slots = memory(0xb004);
            }),
            "");
  EXPECT_EQ(after([](auto& a) {
              a.cache.residual_slot_count = 0;
              a.cache.residual_slots = memory(0xb004);
            }),
            "launch.size");
  const Plan contiguous =
      kv_append_plan(R"("k":{"granularity":"channel","group_size":64},"layout":"contiguous")");
  const auto of_tokens = [&](std::int64_t tokens) {
    return append_refusal(contiguous, [&](KvAppendArgs& a) {
      window(a);
      a.cache.block_table = {};
      a.cache.page_tokens = tokens;
    });
  };
  EXPECT_EQ(of_tokens(640), "");
  EXPECT_EQ(of_tokens(672), "launch.size");
}

KvAppendParameters parameters_of(const Plan& plan, const KvAppendArgs& args) {
  return kv_append_parameters(plan, args, kv_append_launch(plan, args));
}

// A block of threads for every sequence and for every 32 tokens, of each head; then V's.
TEST(KvAppendLaunch, CountsBlocksOfTokens) {
  const Plan plan = resolve(kv_append_plan(R"("k":{"granularity":"channel","group_size":32})").spec,
                            target_from_name("h200"));
  KvAppendArgs args = kv_append_args();
  const auto of_v = [&] {
    const unsigned tile =
        static_cast<unsigned>(config_of<device::KvAppendConfig>(plan.kernels[0]).tokens);
    const int parts = parameters_of(plan, args).head_parts;
    return (static_cast<unsigned>(args.tokens) + tile - 1) / tile * static_cast<unsigned>(parts);
  };
  EXPECT_EQ(kv_append_launch(plan, args).grid_x, 8 * 4 + of_v());
  args.tokens = 100;
  args.offsets = memory(0x9004);
  EXPECT_EQ(kv_append_launch(plan, args).grid_x, 8 * (4 + 3) + of_v());
  EXPECT_EQ(kv_append_launch(plan, args).grid_y, 1U);
}

// So that they keep all SMs busy; not where a scale is of all heads of a token.
TEST(KvAppendLaunch, BlocksOfFewTokensShareTheHeads) {
  KvAppendArgs args = kv_append_args();
  const auto parts_of = [&](const char* kv, std::int64_t tokens) {
    const Plan plan = resolve(kv_append_plan(kv).spec, target_from_name("h200"));
    args.tokens = tokens;
    const int parts = parameters_of(plan, args).head_parts;
    const std::int64_t tile = config_of<device::KvAppendConfig>(plan.kernels[0]).tokens;
    EXPECT_EQ(kv_append_launch(plan, args).grid_x, 2 * ((tokens + tile - 1) / tile) * parts);
    return parts;
  };
  EXPECT_EQ(parts_of("", 1), 8);
  EXPECT_GT(parts_of("", 2000), 1);
  EXPECT_LT(parts_of("", 2000), 8);
  EXPECT_EQ(parts_of("", 100000), 1);
  EXPECT_EQ(parts_of(R"("granularity":"token")", 1), 1);
}

TEST(KvAppendLaunch, StridesAreBytes) {
  KvAppendArgs args = kv_append_args();
  args.v_stride = 3072;
  const KvAppendParameters parameters =
      parameters_of(resolve(kv_append_plan("").spec, target_from_name("h200")), args);
  EXPECT_EQ(parameters.k_stride, 8 * 128 * 2);
  EXPECT_EQ(parameters.v_stride, 3072 * 2);
}

}  // namespace
}  // namespace heddle
