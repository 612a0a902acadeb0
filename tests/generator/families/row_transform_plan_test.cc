// How row_transform is planned, what is refused, and that what is rendered holds the decisions.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "generator/families/configuration.h"
#include "generator/families/family.h"
#include "generator/families/row_transform/config.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "tests/generator/planner/plan_refusals.h"

namespace heddle {
namespace {

constexpr const char* kRms = R"("norm":{"type":"rms","epsilon":1e-6})";
constexpr const char* kSilu = R"("gate":{"order":"halves","activation":"silu"})";

Spec row_spec(std::int64_t columns, const std::string& work, const std::string& m = "",
              const std::string& dtype = "bf16") {
  return Spec::parse(R"({"heddle":1,"op":"row_transform","shape":{"columns":)" +
                     std::to_string(columns) + m + R"(},"input":{"dtype":")" + dtype + R"("},)" +
                     work + "}");
}

Plan row_plan(const Spec& spec, const char* target = "h200") {
  return resolve(spec, target_from_name(target));
}

Pointers row_refusals(const Spec& spec, const char* target = "h200") {
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
        const Plan plan = row_plan(row_spec(columns, work, "", "fp16"), target);
        for (const PlannedKernel& kernel : plan.kernels) {
          const device::RowTransformConfig& c = config(kernel);
          SCOPED_TRACE(kernel.name);
          ASSERT_EQ(kernel.threads % 32, 0);
          ASSERT_LE(kernel.threads, 1024);
          const bool norm = c.norm != NormType::kNone;
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
  const Plan plan = row_plan(row_spec(8192, kRms));
  ASSERT_EQ(plan.kernels.size(), 2U);
  EXPECT_EQ(plan.kernels[0].size_min, 1);
  EXPECT_EQ(plan.kernels[0].size_max, 132);
  EXPECT_EQ(plan.kernels[1].size_min, 133);
  EXPECT_EQ(plan.kernels[1].size_max, 65536);
  EXPECT_EQ(plan.kernels[0].threads, 1024);
  EXPECT_EQ(config(plan.kernels[0]).vectors, 1);
  EXPECT_EQ(plan.kernels[1].threads, 256);
  EXPECT_EQ(config(plan.kernels[1]).vectors, 4);
  EXPECT_EQ(row_plan(row_spec(8192, kRms, R"(,"m":[1,8])")).kernels.size(), 1U);
  EXPECT_EQ(row_plan(row_spec(8192, kRms, R"(,"m":[200,300])")).kernels.size(), 1U);
  EXPECT_EQ(row_plan(row_spec(65536, kRms)).kernels.size(), 1U) << "both are alike";
}

// Blocks are what the GPU holds at a time, and those of a launch have as many rows as each other,
// but for one.
TEST(RowTransformPlan, BlocksShareRowsEvenly) {
  const Plan plan = row_plan(row_spec(8192, kRms));
  const PlannedKernel& many = plan.kernels[1];
  const unsigned most = 132 * static_cast<unsigned>(many.blocks_per_sm);
  for (const unsigned m : {133U, 500U, 4096U, 65536U}) {
    const KernelLaunch launch = plan.launch(1, {m});
    EXPECT_LE(launch.grid_x, most);
    const unsigned rounds = (m + launch.grid_x - 1) / launch.grid_x;
    EXPECT_EQ(rounds, (m + most - 1) / most);
    EXPECT_EQ(launch.grid_y, 1U);
  }
  const Plan gate = row_plan(row_spec(28672, kSilu));
  const KernelLaunch one = gate.launch(0, {1});
  EXPECT_EQ(one.grid_x, 1U);
  EXPECT_EQ(one.grid_y, 28U) << "one row is shared by thread blocks";
}

TEST(RowTransformPlan, Refusals) {
  using P = Pointers;
  const auto of = [](const std::string& work) { return row_refusals(row_spec(128, work)); };
  EXPECT_EQ(of(kRms), P{});
  EXPECT_EQ(of(kSilu), P{});
  EXPECT_EQ(row_refusals(row_spec(100, kRms)), P{"/shape/columns"});
  EXPECT_EQ(row_refusals(row_spec(128, kRms, R"(,"m":[9,8])")), P{"/shape/m"});
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
  EXPECT_EQ(of(std::string(kRms) + R"(,"output":{"dtype":"fp16"})"), P{"/output/dtype"});
  EXPECT_EQ(row_refusals(row_spec(128, kRms), "sm_75"), P{"/input/dtype"});
  EXPECT_EQ(row_refusals(row_spec(128, kRms, "", "fp16"), "sm_75"), P{});
}

// An output of 8 bits: which of its fields go together.
TEST(RowTransformPlan, RefusalsOfOutputs) {
  using P = Pointers;
  const auto of = [](const std::string& output) {
    return row_refusals(row_spec(128, R"("output":{)" + output + "}"));
  };
  for (const char* dtype : {"int8", "fp8_e4m3", "fp8_e5m2"}) {
    const std::string begin = std::string(R"("dtype":")") + dtype + '"';
    EXPECT_EQ(of(begin), P{"/output/granularity"});
    EXPECT_EQ(of(begin + R"(,"granularity":"none")"), P{"/output/granularity"});
    for (const char* granularity : {"tensor", "token", "group"}) {
      const std::string more = begin + R"(,"granularity":")" + granularity + '"';
      EXPECT_EQ(of(more), P{}) << more;
      EXPECT_EQ(of(more + R"(,"pre_scale":true)"), P{}) << more;
      const bool groups = granularity == std::string("group");
      const bool integer = dtype == std::string("int8");
      EXPECT_EQ(of(more + R"(,"scale_layout":"column_major")"),
                groups ? P{} : P{"/output/scale_layout"});
      EXPECT_EQ(of(more + R"(,"scale_dtype":"e8m0")"),
                groups && !integer ? P{} : P{"/output/scale_dtype"});
      EXPECT_EQ(of(more + R"(,"symmetric":false)"),
                integer && granularity == std::string("token") ? P{} : P{"/output/symmetric"});
    }
  }
  // Behind norms, gates and activations.
  const std::string int8 = R"("output":{"dtype":"int8","granularity":"token"},)";
  EXPECT_EQ(row_refusals(row_spec(128, int8 + kRms)), P{});
  EXPECT_EQ(row_refusals(row_spec(128, int8 + kRms + R"(,"residual":true)")), P{});
  EXPECT_EQ(row_refusals(row_spec(128, int8 + kSilu)), P{});
  EXPECT_EQ(row_refusals(row_spec(128, int8 + kSilu + R"(,"residual":true)")), P{"/residual"});
  EXPECT_EQ(row_refusals(row_spec(100, int8 + kSilu)), P{"/shape/columns"});
  EXPECT_EQ(row_refusals(row_spec(128, int8 + kRms, "", "fp16"), "sm_75"), P{});
  // 16 bits have nothing of it.
  EXPECT_EQ(of(R"("dtype":"bf16")"), P{""});
  EXPECT_EQ(row_refusals(row_spec(128, std::string(kRms) +
                                           R"(,"output":{"dtype":"bf16","granularity":"token",)"
                                           R"("symmetric":false,"scale_dtype":"e8m0",)"
                                           R"("scale_layout":"column_major","pre_scale":true})")),
            (P{"/output/granularity", "/output/symmetric", "/output/scale_dtype",
               "/output/scale_layout", "/output/pre_scale"}));
}

// One scale for a row makes it a unit of work, which threads of one block take; others do not.
TEST(RowTransformPlan, ThreadsCoverARowOfOneScale) {
  for (const std::string& work : {std::string(), std::string(kSilu) + ','}) {
    for (int columns = 8; columns <= 70000; columns += columns < 2048 ? 8 : 1000) {
      const Plan plan =
          row_plan(row_spec(columns, work + R"("output":{"dtype":"int8","granularity":"token"})"));
      for (const PlannedKernel& kernel : plan.kernels) {
        const device::RowTransformConfig& c = config(kernel);
        ASSERT_EQ(c.parts, 1);
        ASSERT_TRUE(c.lanes <= 32 || c.rows == 1) << "the barrier is the block's";
        ASSERT_EQ(kernel.threads % 32, 0);
        ASSERT_LE(kernel.threads, 1024);
        ASSERT_EQ(kernel.shared_bytes, c.lanes > 32 ? 2 * c.sums_bytes() : 0);
        if (c.in_registers) {
          ASSERT_GE(c.lanes * c.vectors, c.row_vectors());
        } else {
          ASSERT_GT(c.row_vectors(), 2 * 1024);
        }
      }
    }
  }
  const Plan groups = row_plan(
      row_spec(28672, std::string(kSilu) + R"(,"output":{"dtype":"int8","granularity":"group"})"));
  EXPECT_EQ(groups.launch(0, {1}).grid_y, 28U) << "one row is shared by thread blocks";
}

// Groups are those of neighbouring lanes: no vector of one lies with another warp.
TEST(RowTransformPlan, GroupsLieInNeighbouringLanes) {
  for (int columns = 8; columns <= 70000; columns += columns < 2048 ? 8 : 1000) {
    for (const std::string& work :
         {std::string(), std::string(kSilu) + ',', std::string(kRms) + ','}) {
      const Plan plan =
          row_plan(row_spec(columns, work + R"("output":{"dtype":"int8","granularity":"group"})"));
      for (const PlannedKernel& kernel : plan.kernels) {
        const device::RowTransformConfig& c = config(kernel);
        ASSERT_TRUE(c.lanes % device::kRowGroupVectors == 0 || c.lanes >= c.row_vectors())
            << kernel.name;
      }
    }
  }
}

TEST(RowTransformPlan, SaysHowYIsStored) {
  const auto text = [](const std::string& output) {
    const Plan plan = row_plan(row_spec(8192, std::string(kRms) + R"(,"output":{)" + output + "}"));
    return describe(plan) + plan.kernels[0].name;
  };
  EXPECT_NE(text(R"("dtype":"fp8_e4m3","granularity":"tensor")").find("by a given scale"),
            std::string::npos);
  const std::string zeros =
      text(R"("dtype":"int8","granularity":"token","symmetric":false,"pre_scale":true)");
  EXPECT_NE(
      zeros.find("Y by factors of its columns, in int8, a scale and a zero point for each row"),
      std::string::npos)
      << zeros;
  EXPECT_NE(zeros.find("heddle_row_rms_bf16_int8_token_zeros_scaled_n8192_few"), std::string::npos);
  const std::string groups = text(
      R"("dtype":"fp8_e4m3","granularity":"group","scale_dtype":"e8m0","scale_layout":"column_major")");
  EXPECT_NE(groups.find("a scale in e8m0 for each 128 columns of a row, column_major"),
            std::string::npos)
      << groups;
  EXPECT_NE(groups.find("_fp8_e4m3_group_e8m0_columns_n8192_"), std::string::npos);
}

TEST(RowTransformPlan, IsRenderedAndDescribed) {
  const Plan plan = row_plan(row_spec(8192, std::string(kRms) + R"(,"residual":true)"));
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
