// Specs and targets at the ends of what is allowed: a plan or a refusal, never a crash.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "heddle/inspect/source.h"
#include "tests/generator/planner/gemm_plans.h"

namespace heddle {
namespace {

std::string refusal_of(const char* json, const char* target) {
  return refusal(Spec::parse(json), target);
}

TEST(PlanExtremes, AStageWithoutAWholeChunkIsRefused) {
  // Warps along N on the path hopper ask for tiles fed by bulk copies.
  EXPECT_NE(refusal_of(R"({"heddle":1,"op":"gemm","shape":{"n":4096,"k":4096,"m":[1,16]},
                           "weight":{"bits":4},"activation":{"dtype":"fp16"},"path":"hopper",
                           "tile":{"m":16,"k":64,"warps_n":1}})",
                       "h200")
                .find("/tile/k"),
            std::string::npos);
  EXPECT_NE(refusal_of(R"({"heddle":1,"op":"gemm","shape":{"n":136,"k":18944,"m":[16,2147483647]},
                           "weight":{"bits":7,"type":"int","group_size":32,"zero_point":"none",
                                     "tensor_scale":true},
                           "activation":{"dtype":"fp16"},"path":"hopper",
                           "tile":{"m":1024,"k":64,"split_k":3,"warps_m":1,"warps_n":1}})",
                       "thor")
                .find("/tile"),
            std::string::npos);
}

Spec attention_spec() {
  return Spec::parse(R"({"heddle":1,"op":"decode_attention",
                         "shape":{"heads":32,"kv_heads":8,"head_dim":128},
                         "activation":{"dtype":"fp16"},"kv":{"dtype":"int8"}})");
}

Spec append_spec() {
  return Spec::parse(R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":8,"head_dim":128},
                         "activation":{"dtype":"fp16"},"kv":{"dtype":"int8"}})");
}

// Whether there is a plan whose kernels can be rendered. Throws no other error than a refusal.
bool has_plan(const Spec& spec, const Target& target) {
  try {
    const Plan plan = resolve(spec, target);
    EXPECT_FALSE(describe(plan).empty());
    EXPECT_FALSE(plan_to_json(plan).empty());
    EXPECT_EQ(render_all(plan).size(), plan.kernel_count());
    return true;
  } catch (const Error& error) {
    EXPECT_TRUE(error.category() == ErrorCategory::kUnsupported ||
                error.category() == ErrorCategory::kUsage)
        << error.what();
    return false;
  }
}

TEST(PlanExtremes, EveryNumberOfMultiprocessorsHasPlans) {
  for (const char* name : {"t4", "a100", "rtx4090", "h200", "b200", "rtx5090"}) {
    for (const int sm_count : {1, 2, 3, 5, 4096}) {
      Target target = target_from_name(name);
      target.sm_count = sm_count;
      EXPECT_TRUE(has_plan(Spec::from_gemm(small_spec()), target)) << name << ' ' << sm_count;
      EXPECT_TRUE(has_plan(append_spec(), target)) << name << ' ' << sm_count;
      EXPECT_EQ(has_plan(attention_spec(), target), target.arch() >= 80) << name << ' ' << sm_count;
    }
  }
}

// What serves where no other kernel may, of a GPU whose blocks share few SMs or registers.
TEST(PlanExtremes, SmallGpusHavePlans) {
  GemmSpec columns = small_spec();
  columns.act_order = true;
  GemmSpec zeros = small_spec();
  zeros.weight.zero_point = ZeroPoint::kFloat;
  Target target = target_from_name("h100");
  target.sm_count = 1;
  for (const std::int64_t k : {512, 11008}) {
    columns.shape = {256, k, 1, 65536};
    EXPECT_TRUE(has_plan(Spec::from_gemm(columns), target));
  }
  target = target_from_name("h100");
  target.registers_per_sm = 16384;
  for (const std::int64_t k : {128, 8192}) {
    zeros.shape = {64, k, 1, 65536};
    EXPECT_TRUE(has_plan(Spec::from_gemm(zeros), target));
  }
}

TEST(PlanExtremes, NoKernelTakesMoreSharedMemoryThanABlockHas) {
  const auto expect_room = [](const Spec& spec, const Target& target) {
    try {
      const Plan plan = resolve(spec, target);
      for (std::size_t i = 0; i < plan.kernel_count(); ++i) {
        EXPECT_LE(plan.kernel(i).shared_bytes, target.shared_per_block) << spec.canonical_json();
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "plan.unsupported") << error.what();
    }
  };
  for (const char* name : {"a100", "h200", "rtx5090"}) {
    // Streams size themselves by what an SM has, of which a block may have a small part.
    Target target = target_from_name(name);
    target.shared_per_sm = 1 << 20;
    expect_room(Spec::from_gemm(small_spec()), target);
    // Kernels of one size fit or are refused.
    target.shared_per_block = target.shared_per_sm = 16384;
    expect_room(Spec::from_gemm(small_spec()), target);
    expect_room(attention_spec(), target);
    expect_room(append_spec(), target);
    WeightOpSpec op;
    op.shape = {1024, 2048};
    expect_room(Spec::from_weight_op(Op::kDequantize, op), target);
    expect_room(Spec::from_weight_op(Op::kQuantizeWeight, op), target);
    op.format = CheckpointFormat::kGptq;
    expect_room(Spec::from_weight_op(Op::kRepack, op), target);
  }
}

TEST(PlanExtremes, AbsurdFactsOfATargetAreRefused) {
  using Change = std::function<void(Target&, std::int64_t)>;
  const Change changes[] = {
      [](Target& t, std::int64_t x) { t.sm_count = static_cast<int>(x); },
      [](Target& t, std::int64_t x) { t.shared_per_block = static_cast<int>(x); },
      [](Target& t, std::int64_t x) { t.shared_per_sm = static_cast<int>(x); },
      [](Target& t, std::int64_t x) { t.registers_per_sm = static_cast<int>(x); },
      [](Target& t, std::int64_t x) { t.threads_per_sm = static_cast<int>(x); },
      [](Target& t, std::int64_t x) { t.l2_bytes = x; },
      [](Target& t, std::int64_t x) { t.memory_gb_per_s = static_cast<double>(x); },
      [](Target& t, std::int64_t x) { t.major = static_cast<int>(x); },
      [](Target& t, std::int64_t x) { t.minor = static_cast<int>(x); },
  };
  const Spec specs[] = {Spec::from_gemm(small_spec()), attention_spec(), append_spec()};
  for (const Change& change : changes) {
    for (const std::int64_t value :
         {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}, std::int64_t{2}, std::int64_t{100000},
          std::int64_t{std::numeric_limits<int>::max()},
          std::int64_t{std::numeric_limits<int>::min()}}) {
      for (const char* name : {"t4", "a100", "h200", "rtx5090"}) {
        Target target = target_from_name(name);
        change(target, value);
        for (const Spec& spec : specs) has_plan(spec, target);
      }
    }
  }
}

}  // namespace
}  // namespace heddle
