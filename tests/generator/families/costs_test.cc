// Every family's costs are few, named, and physical.
#include "generator/families/costs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "generator/families/gemm_work.h"
#include "generator/families/registry.h"
#include "tests/byte_gemm.h"
#include "tests/generator/planner/gemm_plans.h"

namespace heddle {
namespace {

TEST(Costs, AreFewAndEachHasANameAMeaningAndAPositiveValue) {
  constexpr std::size_t kMost = 10;
  ASSERT_FALSE(gemm_families().empty());
  for (const GemmFamily* family : gemm_families()) {
    const std::vector<CostParameter>& costs = family->cost_parameters();
    EXPECT_LE(costs.size(), kMost) << family->name();
    EXPECT_FALSE(costs.empty()) << family->name();
    std::set<std::string_view> names;
    for (const CostParameter& one : costs) {
      const CostRange range = range_of(one);
      EXPECT_GE(one.value, range.least) << one.name << " of " << family->name();
      EXPECT_LE(one.value, range.most) << one.name << " of " << family->name();
      const std::string text = fmt::format("{} of {}", one.name, family->name());
      EXPECT_FALSE(one.name.empty()) << text;
      EXPECT_FALSE(one.unit.empty()) << text;
      EXPECT_FALSE(one.meaning.empty()) << text;
      EXPECT_TRUE(std::isfinite(one.value)) << text;
      EXPECT_GT(one.value, 0) << text;
      EXPECT_TRUE(names.insert(one.name).second) << text;
    }
  }
}

GemmSpec spec_for(const GemmFamily& family, std::int64_t k, int bits) {
  GemmSpec spec = spec_of(4096, k);
  spec.weight.bits = bits;
  if (family.multiplies_halves()) return spec;
  if (family.name() == "byte_stream") return four_bit_gemm(4096, k, DType::kInt8);
  spec = byte_gemm(4096, k, DType::kInt8);
  spec.path = Path::kAmpere;
  return spec;
}

// A cost that no predicted time depends on would be measured for nothing. Some set a bound that
// only other values reach, lower or higher ones.
TEST(Costs, EachChangesThePredictedTimeOfSomeKernel) {
  for (const GemmFamily* family : gemm_families()) {
    const std::vector<CostParameter>& parameters = family->cost_parameters();
    std::vector<double> values;
    for (const CostParameter& one : parameters) values.push_back(one.value);
    std::set<std::string_view> used;
    for (const auto& [k, m] : {std::pair{128, 16},
                               {4096, 1},
                               {131072, 1},
                               {4096, 4},
                               {28672, 4},
                               {28672, 8},
                               {8192, 64},
                               {8192, 8192}}) {
      for (const int bits : {2, 8}) {
        const Plan plan = unplanned(spec_for(*family, k, bits), target_from_name("h200"));
        if (!family->exclusions(plan.spec, plan.target, {m, m}).empty()) continue;
        for (const PlannedKernel& one : family->candidates(plan, {m, m})) {
          const double us = family->predicted_us(plan, one, LaunchSize{m}, values);
          for (std::size_t i = 0; i < values.size(); ++i) {
            for (const double times : {0.1, 10.0}) {
              std::vector<double> others = values;
              others[i] *= times;
              if (family->predicted_us(plan, one, LaunchSize{m}, others) != us)
                used.insert(parameters[i].name);
            }
          }
        }
      }
    }
    for (const CostParameter& one : parameters) {
      EXPECT_TRUE(used.contains(one.name)) << one.name << " of " << family->name();
    }
  }
}

TEST(GemmWork, SideBySideIsBetweenTheLongerAndTheSum) {
  for (const double exponent : {1.0, 2.0, 3.0}) {
    for (const double other : {0.0, 1.0, 50.0, 100.0}) {
      const double both = side_by_side(100, other, exponent);
      EXPECT_GE(both, 100);
      EXPECT_LE(both, 100 + other + 1e-9);
      EXPECT_EQ(both, side_by_side(other, 100, exponent));
    }
  }
}

}  // namespace
}  // namespace heddle
