// The kernels that a sweep measures the planner's choice against.
#include "generator/planner/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "heddle/inspect/source.h"
#include "tests/generator/planner/gemm_plans.h"

namespace heddle {
namespace {

std::vector<PlannedKernel> candidate_kernels(const GemmSpec& spec, const char* target,
                                             std::int64_t m) {
  std::vector<PlannedKernel> kernels;
  for (const CandidatePlan& one : candidate_plans(plan_of(spec, target), m)) {
    EXPECT_EQ(one.plan.kernels.size(), 1U);
    const PlannedKernel& kernel = one.plan.kernels.front();
    EXPECT_LE(kernel.size_min, m);
    EXPECT_GE(kernel.size_max, m);
    EXPECT_EQ(one.plan.spec.gemm().shape.m_min, kernel.size_min);
    EXPECT_EQ(one.plan.spec.gemm().shape.m_max, kernel.size_max);
    kernels.push_back(kernel);
  }
  return kernels;
}

TEST(Candidates, TheFirstIsThePlannersOwnTheOthersAscend) {
  const Plan plan = plan_of(small_spec(), "h200");
  for (const std::int64_t m : {1, 16, 30, 300}) {
    const std::vector<CandidatePlan> plans = candidate_plans(plan, m);
    EXPECT_TRUE(is_same_kernel(plans.front().plan.kernels.front(), kernel_at(plan, m)));
    EXPECT_TRUE(
        std::is_sorted(plans.begin() + 1, plans.end(),
                       [](const CandidatePlan& a, const CandidatePlan& b) { return a.us < b.us; }));
    for (const CandidatePlan& one : plans) EXPECT_GT(one.us, 0);
  }
}

TEST(Candidates, NoTwoHaveTheSameKernel) {
  for (const std::int64_t m : {1, 16, 64, 300}) {
    const std::vector<PlannedKernel> kernels = candidate_kernels(small_spec(), "h200", m);
    EXPECT_GT(kernels.size(), 10U) << m;
    EXPECT_LT(kernels.size(), 1000U) << m;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        EXPECT_FALSE(is_same_kernel(kernels[i], kernels[j])) << m << ": " << i << ", " << j;
      }
    }
  }
}

TEST(Candidates, ANameAndARangeMakeNoOtherKernel) {
  const PlannedKernel one = candidate_kernels(small_spec(), "a100", 16).front();
  PlannedKernel other = one;
  other.name = "of another name";
  other.size_min = 2;
  other.size_max = 7;
  EXPECT_TRUE(is_same_kernel(one, other));
  for (int PlannedKernel::*field :
       {&PlannedKernel::threads, &PlannedKernel::shared_bytes, &PlannedKernel::blocks_per_sm}) {
    other = one;
    ++(other.*field);
    EXPECT_FALSE(is_same_kernel(one, other));
  }
}

TEST(Candidates, EachCanBeRendered) {
  for (const std::int64_t m : {4, 64}) {
    for (const CandidatePlan& one : candidate_plans(plan_of(small_spec(), "h200"), m)) {
      EXPECT_NE(render(one.plan, 0).text.find(one.plan.kernels.front().name), std::string::npos);
    }
  }
}

TEST(Candidates, WhatTheSpecSetsStays) {
  GemmSpec spec = older_spec(4096, 4096);
  spec.shape.m_max = 512;
  spec.tile.n = 64;
  spec.tile.split_k = 2;
  const std::vector<PlannedKernel> kernels = candidate_kernels(spec, "h200", 32);
  EXPECT_GT(kernels.size(), 3U);
  for (const PlannedKernel& kernel : kernels) {
    EXPECT_EQ(path_of(kernel), Path::kAmpere);
    const auto& v = config_of<device::TilesConfig>(kernel);
    EXPECT_EQ(v.tile_n, 64);
    EXPECT_EQ(v.split_k, 2);
  }
}

bool has(const std::vector<PlannedKernel>& kernels, bool (*kind)(const PlannedKernel&)) {
  return std::any_of(kernels.begin(), kernels.end(), kind);
}

TEST(Candidates, EveryKernelThatServesTheTokensIsTried) {
  const std::vector<PlannedKernel> few = candidate_kernels(small_spec(), "h200", 4);
  EXPECT_TRUE(has(few, is_stream) && has(few, is_bulk));
  EXPECT_FALSE(has(few, is_wgmma));
  const std::vector<PlannedKernel> some = candidate_kernels(small_spec(), "h200", 16);
  EXPECT_TRUE(has(some, is_stream) && has(some, is_bulk) && has(some, is_wgmma));
  const std::vector<PlannedKernel> many = candidate_kernels(small_spec(), "h200", 4096);
  EXPECT_TRUE(has(many, is_wgmma));
  EXPECT_FALSE(has(many, is_stream));
  EXPECT_TRUE(has(candidate_kernels(small_spec(), "b200", 4), is_stream));
  EXPECT_TRUE(has(candidate_kernels(small_spec(), "b200", 4), is_tiles));
  EXPECT_FALSE(has(candidate_kernels(small_spec(), "b200", 64), is_wgmma));
}

TEST(Candidates, OlderTargetsHaveTheirOwnPathAlone) {
  for (const auto& [target, path] : {std::pair{"a100", Path::kAmpere}, {"t4", Path::kTuring}}) {
    for (const PlannedKernel& one : candidate_kernels(small_spec(), target, 1)) {
      EXPECT_EQ(path_of(one), path);
    }
  }
}

}  // namespace
}  // namespace heddle
