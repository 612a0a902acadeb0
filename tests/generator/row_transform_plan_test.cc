// How row_transform is planned, what is refused, and that what is rendered holds the decisions.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "generator/families/configuration.h"
#include "generator/families/family.h"
#include "generator/families/row_transform/config.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "tests/generator/plan_refusals.h"

namespace heddle {
namespace {

constexpr const char* kRms = R"("norm":{"type":"rms","epsilon":1e-6})";
constexpr const char* kSilu = R"("gate":{"order":"halves","activation":"silu"})";

Spec spec_of(std::int64_t columns, const std::string& work, const std::string& m = "",
             const std::string& dtype = "bf16") {
  return Spec::parse(R"({"heddle":1,"op":"row_transform","shape":{"columns":)" +
                     std::to_string(columns) + m + R"(},"input":{"dtype":")" + dtype + R"("},)" +
                     work + "}");
}

Plan plan_of(const Spec& spec, const char* target = "h200") {
  return resolve(spec, target_from_name(target));
}

Pointers refusals(const Spec& spec, const char* target = "h200") {
  return refused_fields(spec, target);
}

const device::RowTransformConfig& config(const PlannedKernel& kernel) {
  return config_of<device::RowTransformConfig>(kernel);
}

// Every vector of a row has a thread, and few threads have none.
TEST(RowTransformPlan, ThreadsCoverARow) {
  for (const char* target : {"sm_75", "sm_80", "h200", "sm_120"}) {
    for (int columns = 8; columns <= 70000; columns += columns < 2048 ? 8 : 1000) {
      for (const std::string& work :
           {std::string(kRms) + R"(,"residual":true)", std::string(kSilu)}) {
        const Plan plan = plan_of(spec_of(columns, work, "", "fp16"), target);
        for (const PlannedKernel& kernel : plan.kernels) {
          const device::RowTransformConfig& c = config(kernel);
          SCOPED_TRACE(kernel.name);
          ASSERT_EQ(kernel.threads % 32, 0);
          ASSERT_LE(kernel.threads, 1024);
          const bool norm = c.norm != device::NormType::kNone;
          ASSERT_TRUE(c.lanes % 32 == 0 || 32 % c.lanes == 0);
          ASSERT_TRUE(!norm || c.lanes <= 32 || c.rows == 1) << "the barrier is the block's";
          ASSERT_EQ(kernel.shared_bytes, c.shared_bytes());
          const int covered = c.lanes * c.vectors * c.parts;
          if (norm && !c.in_registers) {
            ASSERT_GT(c.row_vectors(), 4 * 1024);
            continue;
          }
          ASSERT_GE(covered, c.row_vectors());
          // No thread could do without its last vector.
          ASSERT_LT(c.lanes * (c.vectors * c.parts - c.vectors), c.row_vectors());
        }
      }
    }
  }
}

// Few rows have more threads each; no two kernels serve one M.
TEST(RowTransformPlan, FewRowsAreSharedByMoreThreads) {
  const Plan plan = plan_of(spec_of(8192, kRms));
  ASSERT_EQ(plan.kernels.size(), 2U);
  EXPECT_EQ(plan.kernels[0].size_min, 1);
  EXPECT_EQ(plan.kernels[0].size_max, 132);
  EXPECT_EQ(plan.kernels[1].size_min, 133);
  EXPECT_EQ(plan.kernels[1].size_max, 65536);
  EXPECT_EQ(plan.kernels[0].threads, 1024);
  EXPECT_EQ(config(plan.kernels[0]).vectors, 1);
  EXPECT_EQ(plan.kernels[1].threads, 256);
  EXPECT_EQ(config(plan.kernels[1]).vectors, 4);
  EXPECT_EQ(plan_of(spec_of(8192, kRms, R"(,"m":[1,8])")).kernels.size(), 1U);
  EXPECT_EQ(plan_of(spec_of(8192, kRms, R"(,"m":[200,300])")).kernels.size(), 1U);
  EXPECT_EQ(plan_of(spec_of(65536, kRms)).kernels.size(), 1U) << "both are alike";
}

// Blocks are what the GPU holds at a time, and those of a launch have as many rows as each other,
// but for one.
TEST(RowTransformPlan, BlocksShareRowsEvenly) {
  const Plan plan = plan_of(spec_of(8192, kRms));
  const PlannedKernel& many = plan.kernels[1];
  const unsigned most = 132 * static_cast<unsigned>(many.blocks_per_sm);
  for (const unsigned m : {133U, 500U, 4096U, 65536U}) {
    const KernelLaunch launch = plan.launch(1, {m});
    EXPECT_LE(launch.grid_x, most);
    const unsigned rounds = (m + launch.grid_x - 1) / launch.grid_x;
    EXPECT_EQ(rounds, (m + most - 1) / most);
    EXPECT_EQ(launch.grid_y, 1U);
  }
  const Plan gate = plan_of(spec_of(28672, kSilu));
  const KernelLaunch one = gate.launch(0, {1});
  EXPECT_EQ(one.grid_x, 1U);
  EXPECT_EQ(one.grid_y, 28U) << "one row is shared by thread blocks";
}

TEST(RowTransformPlan, Refusals) {
  using P = Pointers;
  const auto of = [](const std::string& work) { return refusals(spec_of(128, work)); };
  EXPECT_EQ(of(kRms), P{});
  EXPECT_EQ(of(kSilu), P{});
  EXPECT_EQ(refusals(spec_of(100, kRms)), P{"/shape/columns"});
  EXPECT_EQ(refusals(spec_of(128, kRms, R"(,"m":[9,8])")), P{"/shape/m"});
  EXPECT_EQ(of(R"("norm":{"type":"rms"})"), P{"/norm/epsilon"});
  EXPECT_EQ(of(R"("norm":{"type":"rms","epsilon":1e-6,"bias":true})"), P{"/norm/bias"});
  EXPECT_EQ(of(R"("norm":{"type":"layer","epsilon":1e-6,"bias":true})"), P{});
  EXPECT_EQ(of(std::string(kRms) + "," + kSilu), P{"/gate"});
  EXPECT_EQ(of(R"("residual":false)"), P{""});
  EXPECT_EQ(of(R"("gate":{"order":"halves"})"), P{}) << "a product without a function";
  EXPECT_EQ(of(R"("gate":{"activation":"gelu"})"), P{}) << "a function without a product";
  EXPECT_EQ(of(std::string(kSilu) + R"(,"residual":true)"), P{"/residual"});
  EXPECT_EQ(of(std::string(kSilu) +
               R"(,"norm":{"type":"none","epsilon":1e-6,"weight_offset":1,"bias":true})"),
            (P{"/norm/epsilon", "/norm/weight_offset", "/norm/bias"}));
  EXPECT_EQ(of(std::string(kRms) + R"(,"output":{"dtype":"e4m3"})"), P{"/output/dtype"});
  EXPECT_EQ(of(std::string(kRms) + R"(,"output":{"dtype":"fp16"})"), P{"/output/dtype"});
  EXPECT_EQ(refusals(spec_of(128, kRms), "sm_75"), P{"/input/dtype"});
  EXPECT_EQ(refusals(spec_of(128, kRms, "", "fp16"), "sm_75"), P{});
}

TEST(RowTransformPlan, IsRenderedAndDescribed) {
  const Plan plan = plan_of(spec_of(8192, std::string(kRms) + R"(,"residual":true)"));
  const Source source = render(plan, 1);
  EXPECT_NE(source.text.find("row_transform<heddle::Config>"), std::string::npos);
  EXPECT_NE(source.text.find("/*epsilon_bits=*/897988541,"), std::string::npos) << "1e-6 in FP32";
  EXPECT_NE(source.text.find("M 133 to 65536"), std::string::npos);
  EXPECT_NE(describe(plan).find("Y[M, 8192] = rms norm(X + residual)"), std::string::npos);
  const auto json = nlohmann::json::parse(plan_to_json(plan));
  EXPECT_EQ(json["kernels"][0]["m"], nlohmann::json::parse("[1,132]"));
  EXPECT_EQ(json["kernels"][1]["configuration"]["lanes"], 256);
  EXPECT_FALSE(json.contains("cache"));
}

}  // namespace
}  // namespace heddle
