// Q and the norm of heads in launches of kv_append.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

#include "generator/families/configuration.h"
#include "kv_append/config.h"
#include "runtime/launch/kv_append_launch.h"
#include "tests/runtime/kv_append_launches.h"
#include "tests/runtime/launch/launch_refusals.h"

namespace heddle {
namespace {

constexpr const char* kQueryAndNorm = R"(,"query":{"heads":32},"norm":{"epsilon":1e-6})";

// Far from K, V and each other.
KvAppendArgs args_with_query() {
  KvAppendArgs args = kv_append_args();
  args.q = memory(0x100000);
  args.q_out = memory(0x200000);
  args.k_norm = memory(0x300000);
  args.q_norm = memory(0x400000);
  return args;
}

TEST(KvAppendQueryLaunch, WantsQueryAndWeightsExactlyIfTheSpecHasThem) {
  const auto after = [](const char* more, const std::function<void(KvAppendArgs&)>& change) {
    KvAppendArgs args = args_with_query();
    change(args);
    return refusal(kv_append_plan("", more), args);
  };
  const auto of_both = [&](const std::function<void(KvAppendArgs&)>& change) {
    return after(kQueryAndNorm, change);
  };
  EXPECT_EQ(of_both([](auto&) {}), "");
  EXPECT_EQ(of_both([](auto& a) { a.q = {}; }), "launch.missing");
  EXPECT_EQ(of_both([](auto& a) { a.q_out = {}; }), "launch.missing");
  EXPECT_EQ(of_both([](auto& a) { a.k_norm = {}; }), "launch.missing");
  EXPECT_EQ(of_both([](auto& a) { a.q_norm = {}; }), "launch.missing");
  EXPECT_EQ(of_both([](auto& a) { a.q_norm = memory(0x400008); }), "launch.misaligned");
  EXPECT_EQ(of_both([](auto& a) { a.q_stride = 4000; }), "launch.size");
  EXPECT_EQ(of_both([](auto& a) { a.q_stride = 6144; }), "");
  const char* norm = R"(,"norm":{"epsilon":1e-6})";
  EXPECT_EQ(after(norm, [](auto&) {}), "launch.unexpected");
  const auto only_k_norm = [](auto& a) {
    a.q = a.q_norm = {};
    a.q_out = {};
  };
  EXPECT_EQ(after(norm, only_k_norm), "");
  EXPECT_EQ(after("", only_k_norm), "launch.unexpected");
  EXPECT_EQ(after(R"(,"query":{"heads":32})", [](auto& a) { a.q_norm = {}; }), "launch.unexpected");
  EXPECT_EQ(after("",
                  [](auto& a) {
                    a.q = a.k_norm = a.q_norm = {};
                    a.q_out = {};
                    a.q_stride = 4096;
                  }),
            "launch.unexpected");
}

TEST(KvAppendQueryLaunch, QueryMayBeWrittenWhereItIsAndNowhereElse) {
  const Plan plan = kv_append_plan("", kQueryAndNorm);
  constexpr std::uintptr_t kBytes = 4 * 32 * 128 * 2;  // of Q's tokens
  const auto after = [&](const std::function<void(KvAppendArgs&)>& change) {
    KvAppendArgs args = args_with_query();
    change(args);
    return refusal(plan, args);
  };
  EXPECT_EQ(after([](auto& a) { a.q_out = memory(0x100000); }), "");
  EXPECT_EQ(after([](auto& a) { a.q_out = memory(0x100000 + kBytes); }), "");
  EXPECT_EQ(after([](auto& a) { a.q_out = memory(0x100000 + kBytes - 16); }), "launch.overlap");
  EXPECT_EQ(after([](auto& a) { a.q_out = memory(0x100000 - kBytes + 16); }), "launch.overlap");
  EXPECT_EQ(after([](auto& a) {
              a.q_out = memory(0x100000);
              a.q_stride = 6144;
            }),
            "launch.overlap");
  EXPECT_EQ(after([](auto& a) { a.k = memory(0x200000); }), "launch.overlap");
  EXPECT_EQ(after([](auto& a) { a.v = memory(0x200000 + kBytes - 16); }), "launch.overlap");
  EXPECT_EQ(after([](auto& a) { a.k_norm = memory(0x200000); }), "launch.overlap");
  EXPECT_EQ(after([](auto& a) { a.q_norm = memory(0x200010); }), "launch.overlap");
}

// None of Q's blocks has more heads than one of K's.
TEST(KvAppendQueryLaunch, BlocksOfQueryFollowThoseOfKAndV) {
  KvAppendArgs args = args_with_query();
  for (const char* kv : {"", R"("granularity":"token")"}) {
    const Plan plan = resolve(kv_append_plan(kv, kQueryAndNorm).spec, target_from_name("h200"));
    const auto& config = config_of<device::KvAppendConfig>(plan.kernels[0]);
    for (const std::int64_t tokens : {1, 64, 2000, 100000}) {
      args.tokens = tokens;
      const int parts = kv_append_launch(plan, args).schedule;
      const std::int64_t tiles = (tokens + config.tokens - 1) / config.tokens;
      const int query_parts = config.query_parts(parts);
      EXPECT_EQ(kv_append_launch(plan, args).grid_x, tiles * (2 * parts + query_parts));
      EXPECT_LE((32 + query_parts - 1) / query_parts, (8 + parts - 1) / parts);
    }
  }
}

TEST(KvAppendQueryLaunch, StridesAreBytes) {
  KvAppendArgs args = args_with_query();
  const Plan plan = resolve(kv_append_plan("", kQueryAndNorm).spec, target_from_name("h200"));
  const auto stride = [&] {
    return kv_append_parameters(plan, args, kv_append_launch(plan, args)).q_stride;
  };
  EXPECT_EQ(stride(), 32 * 128 * 2);
  args.q_stride = 6144;
  EXPECT_EQ(stride(), 6144 * 2);
}

}  // namespace
}  // namespace heddle
