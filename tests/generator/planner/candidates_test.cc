// The kernels that a sweep measures the planner's choice against.
#include "generator/planner/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "generator/families/gemm_variant.h"
#include "generator/planner/same_kernel.h"
#include "heddle/source.h"
#include "tests/generator/gemm_plans.h"

namespace heddle {
namespace {

std::vector<GemmVariant> kernels_of(const GemmSpec& spec, const char* target, std::int64_t m) {
  std::vector<GemmVariant> kernels;
  for (const CandidatePlan& one : candidate_plans(plan_of(spec, target), m)) {
    EXPECT_EQ(one.plan.kernels.size(), 1U);
    const GemmVariant& v = variant_of(one.plan.kernels.front());
    EXPECT_LE(v.m_min, m);
    EXPECT_GE(v.m_max, m);
    EXPECT_EQ(one.plan.spec.gemm().shape.m_min, v.m_min);
    EXPECT_EQ(one.plan.spec.gemm().shape.m_max, v.m_max);
    kernels.push_back(v);
  }
  return kernels;
}

TEST(Candidates, TheFirstIsThePlannersOwnTheOthersAscend) {
  const Plan plan = plan_of(small_spec(), "h200");
  for (const std::int64_t m : {1, 16, 30, 300}) {
    const std::vector<CandidatePlan> plans = candidate_plans(plan, m);
    EXPECT_TRUE(
        is_same_kernel(variant_of(plans.front().plan.kernels.front()), variant_at(plan, m)));
    EXPECT_TRUE(
        std::is_sorted(plans.begin() + 1, plans.end(),
                       [](const CandidatePlan& a, const CandidatePlan& b) { return a.us < b.us; }));
    for (const CandidatePlan& one : plans) EXPECT_GT(one.us, 0);
  }
}

TEST(Candidates, NoTwoHaveTheSameKernel) {
  for (const std::int64_t m : {1, 16, 64, 300}) {
    const std::vector<GemmVariant> kernels = kernels_of(small_spec(), "h200", m);
    EXPECT_GT(kernels.size(), 10U) << m;
    EXPECT_LT(kernels.size(), 1000U) << m;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        EXPECT_FALSE(is_same_kernel(kernels[i], kernels[j])) << m << ": " << i << ", " << j;
      }
    }
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
  const std::vector<GemmVariant> kernels = kernels_of(spec, "h200", 32);
  EXPECT_GT(kernels.size(), 3U);
  for (const GemmVariant& v : kernels) {
    EXPECT_EQ(v.path, Path::kAmpere);
    EXPECT_EQ(v.tile_n, 64);
    EXPECT_EQ(v.split_k, 2);
  }
}

bool has(const std::vector<GemmVariant>& kernels, GemmKernel kernel) {
  return std::any_of(kernels.begin(), kernels.end(),
                     [&](const GemmVariant& v) { return v.kernel == kernel; });
}

TEST(Candidates, EveryKernelThatServesTheTokensIsTried) {
  const std::vector<GemmVariant> few = kernels_of(small_spec(), "h200", 4);
  EXPECT_TRUE(has(few, GemmKernel::kStream) && has(few, GemmKernel::kBulk));
  EXPECT_FALSE(has(few, GemmKernel::kWgmma));
  const std::vector<GemmVariant> some = kernels_of(small_spec(), "h200", 16);
  EXPECT_TRUE(has(some, GemmKernel::kStream) && has(some, GemmKernel::kBulk) &&
              has(some, GemmKernel::kWgmma));
  const std::vector<GemmVariant> many = kernels_of(small_spec(), "h200", 4096);
  EXPECT_TRUE(has(many, GemmKernel::kWgmma));
  EXPECT_FALSE(has(many, GemmKernel::kStream));
  EXPECT_TRUE(has(kernels_of(small_spec(), "b200", 4), GemmKernel::kStream));
  EXPECT_TRUE(has(kernels_of(small_spec(), "b200", 4), GemmKernel::kTiles));
  EXPECT_FALSE(has(kernels_of(small_spec(), "b200", 64), GemmKernel::kWgmma));
}

TEST(Candidates, OlderTargetsHaveTheirOwnPathAlone) {
  for (const auto& [target, path] : {std::pair{"a100", Path::kAmpere}, {"t4", Path::kTuring}}) {
    for (const GemmVariant& v : kernels_of(small_spec(), target, 1)) EXPECT_EQ(v.path, path);
  }
}

}  // namespace
}  // namespace heddle
