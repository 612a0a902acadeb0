// What is planned for weights of 16 bits.
#include <gtest/gtest.h>

#include "generator/decode/decode_plan.h"
#include "generator/families/gemm_work.h"
#include "tests/generator/planner/gemm_plans.h"
#include "tests/plain_weight.h"

namespace heddle {
namespace {

// Heads, routers and layers that a quantiser left alone.
constexpr MatrixShape kShapes[] = {{128256, 4096}, {151936, 3584}, {2560, 2880},
                                   {128, 2880},    {8, 32},        {4096, 14336}};

TEST(PlanPlain, EveryGpuServesEveryM) {
  for (const Target& target : known_targets()) {
    for (const MatrixShape& shape : kShapes) {
      GemmSpec spec = plain_gemm(shape.n, shape.k);
      // Factors of X take shared memory, too, of which Turing has little.
      for (const bool pre_scale : {false, true}) {
        spec.pre_scale = pre_scale;
        const Plan plan = plan_of(spec, target);
        ASSERT_FALSE(plan.kernels.empty()) << target.name;
        std::int64_t next = 1;
        for (const PlannedKernel& kernel : plan.kernels) {
          EXPECT_EQ(kernel.size_min, next) << target.name;
          EXPECT_LE(kernel.shared_bytes, target.shared_per_block) << target.name;
          next = kernel.size_max + 1;
        }
        EXPECT_EQ(next, kDefaultMaxM + 1) << target.name;
      }
    }
  }
}

// Neither scales nor decoding: of a chunk there are its loads.
TEST(PlanPlain, DecodingTakesNothing) {
  const Plan plan = plan_of(plain_gemm(4096, 4096), "h100");
  EXPECT_EQ(decode_slots(gemm_request(plan), ScaleMode::kNone, 8), 16.0 * 128 * 2 / (32 * 16));
  for (const PlannedKernel& kernel : plan.kernels) {
    const DecodePlan decode = kernel.family->decode_plan(plan, kernel);
    EXPECT_TRUE(decode.ops.empty()) << kernel.name;
    EXPECT_EQ(decode.result_exponent, 0) << kernel.name;
  }
}

// Twice the bytes of 8 bits take about twice the time where the memory sets the pace.
TEST(PlanPlain, BytesSetThePaceOfFewTokens) {
  const auto predicted = [](const GemmSpec& spec, std::int64_t m) {
    const Plan plan = plan_of(spec, "h100");
    const PlannedKernel& kernel = kernel_at(plan, m);
    const GemmFamily& family = gemm_family_of(kernel);
    return family.predicted_us(plan, kernel, LaunchSize{m}, values_of(family.cost_parameters()));
  };
  GemmSpec eight = spec_of(28672, 8192);
  eight.weight.bits = 8;
  eight.weight.group_size = kPerChannel;
  for (const std::int64_t m : {1, 8, 16}) {
    const double ratio = predicted(plain_gemm(28672, 8192), m) / predicted(eight, m);
    EXPECT_GT(ratio, 1.7) << m;
    EXPECT_LT(ratio, 2.1) << m;
  }
}

TEST(PlanPlain, OlderPathsServeThem) {
  for (const Path path : {Path::kTuring, Path::kAmpere}) {
    GemmSpec spec = plain_gemm(4096, 4096);
    spec.path = path;
    EXPECT_EQ(refusal(spec, "h200"), "accepted") << to_string(path);
  }
}

TEST(PlanPlain, KernelsAreNamedByTheType) {
  const Plan plan = plan_of(plain_gemm(4096, 4096, DType::kBf16), "a100");
  EXPECT_EQ(plan.kernels[0].name.find("heddle_gemm_bf16_bf16_n4096_k4096_m1_"), 0u)
      << plan.kernels[0].name;
}

TEST(PlanPlain, XIsOfTheSameType) {
  GemmSpec spec = plain_gemm(4096, 4096, DType::kFp16);
  spec.activation = DType::kBf16;
  EXPECT_NE(refusal(spec, "h100").find("/weight/type"), std::string::npos) << refusal(spec, "h100");
}

}  // namespace
}  // namespace heddle
