// Plans of specs at random, most with a tile of the user's: a reason or a plan that keeps its
// promises, never a crash. What the sanitizers see here they see nowhere else.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <random>

#include "heddle/error.h"
#include "tests/byte_gemm.h"
#include "tests/generator/planner/gemm_plans.h"
#include "tests/generator/planner/plan_refusals.h"

namespace heddle {
namespace {

class RandomSpecs {
 public:
  GemmSpec next() {
    GemmSpec spec;
    spec.shape.n = one_of<std::int64_t>({8, 200, 4096, 28672, 151936, 1048576});
    spec.shape.k = one_of<std::int64_t>({64, 2048, 4096, 8192, 12288, 29568});
    spec.shape.m_min = one_of<std::int64_t>({1, 1, 1, 9, 17, 129});
    spec.shape.m_max = one_of<std::int64_t>({spec.shape.m_min, 200, 65536, 2147483647});
    spec.activation = spec.weight.scale_dtype = one_of({DType::kFp16, DType::kBf16});
    spec.weight.bits = one_of({2, 3, 4, 5, 8});
    spec.weight.group_size = one_of({16, 32, 64, 128, kPerChannel});
    if (spec.weight.group_size > 16 && random_() % 4 == 0) spec.weight.group_offset = 16;
    spec.weight.zero_point = one_of({ZeroPoint::kNone, ZeroPoint::kInt, ZeroPoint::kFloat});
    spec.path = one_of({Path::kAuto, Path::kAuto, Path::kTuring, Path::kAmpere, Path::kHopper});
    maybe({8, 16, 24, 64, 128, 256}, spec.tile.m);
    maybe({16, 32, 48, 64, 128, 256}, spec.tile.n);
    maybe({128, 256, 512, 1024, 4096}, spec.tile.k);
    maybe({1, 2, 3, 8}, spec.tile.stages);
    maybe({1, 2, 7}, spec.tile.split_k);
    maybe({1, 2, 4}, spec.tile.warps_m);
    maybe({1, 2, 4, 8, 32}, spec.tile.warps_n);
    maybe({1, 2, 4, 8, 16}, spec.tile.warps_k);
    return spec;
  }
  const char* target() { return one_of({"sm_75", "a100", "rtx4090", "h200", "b200", "rtx5090"}); }

 private:
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[random_() % values.size()];
  }
  void maybe(std::initializer_list<int> values, std::optional<int>& field) {
    if (random_() % 4 == 0) field = one_of(values);
  }

  std::mt19937 random_{11};
};

void expect_sound(const Plan& plan) {
  const GemmShape& shape = plan.spec.gemm().shape;
  std::int64_t next = shape.m_min;
  for (const PlannedKernel& kernel : plan.kernels) {
    EXPECT_EQ(kernel.size_min, next);
    EXPECT_GE(kernel.size_max, kernel.size_min);
    EXPECT_LE(kernel.shared_bytes, plan.target.shared_per_block);
    EXPECT_GE(kernel.family->json(kernel).value("stages", 2), 2);
    EXPECT_LE(kernel.threads, 1024);
    next = kernel.size_max + 1;
  }
  EXPECT_EQ(next, shape.m_max + 1);
}

TEST(PlanRandom, AReasonOrASoundPlan) {
  RandomSpecs specs;
  int plans = 0, refusals = 0;
  for (int i = 0; i < 6000; ++i) {
    const GemmSpec gemm = specs.next();
    const char* const target = specs.target();
    SCOPED_TRACE(Spec::from_gemm(gemm).canonical_json() + " for " + target);
    try {
      const Spec spec = Spec::from_gemm(gemm);
      expect_sound(resolve(spec, target_from_name(target)));
      ++plans;
    } catch (const Error& error) {
      EXPECT_TRUE(error.category() == ErrorCategory::kUnsupported ||
                  error.category() == ErrorCategory::kSpec)
          << error.what();
      EXPECT_FALSE(error.problems().empty());
      ++refusals;
    }
  }
  EXPECT_GT(plans, 500);
  EXPECT_GT(refusals, 500);
}

TEST(PlanRandom, AReasonOrASoundPlanOfTwoOperandsOfEightBits) {
  RandomSpecs specs;
  int plans = 0, refusals = 0;
  for (int i = 0; i < 2000; ++i) {
    const GemmSpec drawn = specs.next();
    constexpr DType kTypes[] = {DType::kInt8, DType::kFp8E4m3, DType::kFp8E5m2};
    GemmSpec gemm = byte_gemm(drawn.shape.n, drawn.shape.k, kTypes[i % 3]);
    gemm.shape = drawn.shape;
    gemm.tile = drawn.tile;
    gemm.path = drawn.path;
    const Target target = target_from_name(specs.target());
    SCOPED_TRACE(Spec::from_gemm(gemm).canonical_json() + " for " + target.name);
    try {
      expect_sound(resolve(Spec::from_gemm(gemm), target));
      ++plans;
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::kUnsupported) << error.what();
      EXPECT_FALSE(error.problems().empty());
      ++refusals;
    }
  }
  EXPECT_GT(plans, 300);
  EXPECT_GT(refusals, 300);
}

// A shard that begins inside of a group is served where a whole matrix is. Its chunks are larger: a
// tile or the path hopper, if the spec sets one, may have shared memory for the smaller ones alone.
TEST(PlanRandom, GroupOffsetsChangeNoVerdict) {
  RandomSpecs specs;
  int served = 0;
  for (int i = 0; i < 1500; ++i) {
    GemmSpec gemm = specs.next();
    gemm.tile = {};
    if (gemm.path == Path::kHopper) gemm.path = Path::kAuto;
    if (gemm.weight.group_size <= 16 || gemm.shape.k % gemm.weight.group_size != 0) continue;
    const char* const target = specs.target();
    const std::string whole = refusal(Spec::from_gemm(gemm), target);
    gemm.weight.group_offset = 16 * (1 + i % (gemm.weight.group_size / 16 - 1));
    const Spec spec = Spec::from_gemm(gemm);
    SCOPED_TRACE(spec.canonical_json() + " for " + target);
    EXPECT_EQ(refusal(spec, target) == "accepted", whole == "accepted") << whole;
    if (whole != "accepted") continue;
    expect_sound(resolve(spec, target_from_name(target)));
    ++served;
  }
  EXPECT_GT(served, 150);
}

}  // namespace
}  // namespace heddle
