#include "generator/planner/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "generator/families/gemm_variant.h"
#include "generator/planner/same_kernel.h"
#include "heddle/error.h"

namespace heddle {
namespace {

GemmSpec some_spec() {
  GemmSpec spec;
  spec.shape.n = 4096;
  spec.shape.k = 4096;
  return spec;
}

std::vector<GemmVariant> kernels_of(const GemmSpec& gemm, const char* target, std::int64_t m) {
  std::vector<GemmVariant> kernels;
  for (const Spec& spec : tile_candidates(Spec::from_gemm(gemm), target_from_name(target), m)) {
    const Plan plan = resolve(spec, target_from_name(target));
    EXPECT_LE(spec.gemm().shape.m_min, m);
    EXPECT_GE(spec.gemm().shape.m_max, m);
    kernels.push_back(variant_of(plan.kernels[plan.kernel_for(m)]));
  }
  return kernels;
}

TEST(Candidates, TheFirstIsThePlannersOwn) {
  const Spec spec = Spec::from_gemm(some_spec());
  const std::vector<Spec> candidates = tile_candidates(spec, target_from_name("h200"), 16);
  EXPECT_EQ(candidates.front().canonical_json(), spec.canonical_json());
}

TEST(Candidates, NoTwoHaveTheSameKernel) {
  for (const std::int64_t m : {1, 16, 64, 300}) {
    const std::vector<GemmVariant> kernels = kernels_of(some_spec(), "h200", m);
    EXPECT_GT(kernels.size(), 50U) << m;
    EXPECT_LT(kernels.size(), 1000U) << m;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        EXPECT_FALSE(is_same_kernel(kernels[i], kernels[j])) << m << ": " << i << ", " << j;
      }
    }
  }
}

TEST(Candidates, ANameAndARangeMakeNoOtherKernel) {
  const GemmVariant one = kernels_of(some_spec(), "h200", 16).front();
  GemmVariant other = one;
  other.name = "of another name";
  other.m_max = one.m_max + 1;
  EXPECT_TRUE(is_same_kernel(one, other));
}

TEST(Candidates, AnyOtherFieldMakesAnotherKernel) {
  const GemmVariant one = kernels_of(some_spec(), "h200", 8).front();
  for (int GemmVariant::*field :
       {&GemmVariant::split_k, &GemmVariant::stages, &GemmVariant::stage_chunks,
        &GemmVariant::cluster, &GemmVariant::step_tiles, &GemmVariant::decoded_sets,
        &GemmVariant::shared_bytes}) {
    GemmVariant other = one;
    ++(other.*field);
    EXPECT_FALSE(is_same_kernel(one, other));
  }
  GemmVariant other = one;
  other.kernel = GemmKernel::kTiles;
  EXPECT_FALSE(is_same_kernel(one, other));
  other = one;
  other.shares_tiles = !one.shares_tiles;
  EXPECT_FALSE(is_same_kernel(one, other));
  other = one;
  other.by_warps = !one.by_warps;
  EXPECT_FALSE(is_same_kernel(one, other));
}

TEST(Candidates, WhatTheSpecSetsStays) {
  GemmSpec spec = some_spec();
  spec.path = Path::kAmpere;
  spec.shape.m_max = 512;
  spec.tile.n = 64;
  spec.tile.split_k = 2;
  const std::vector<GemmVariant> kernels = kernels_of(spec, "h200", 32);
  EXPECT_GT(kernels.size(), 5U);
  for (const GemmVariant& v : kernels) {
    EXPECT_EQ(v.path, Path::kAmpere);
    EXPECT_EQ(v.tile_n, 64);
    EXPECT_EQ(v.split_k, 2);
  }
}

std::size_t count(const std::vector<GemmVariant>& kernels, GemmKernel kernel) {
  return static_cast<std::size_t>(std::count_if(
      kernels.begin(), kernels.end(), [&](const GemmVariant& v) { return v.kernel == kernel; }));
}

TEST(Candidates, EveryKernelThatServesTheTokensIsTried) {
  const std::vector<GemmVariant> few = kernels_of(some_spec(), "h200", 4);
  EXPECT_GT(count(few, GemmKernel::kStream), 10U);
  EXPECT_GT(count(few, GemmKernel::kTiles), 10U);
  EXPECT_EQ(count(few, GemmKernel::kWgmma), 0U);
  const std::vector<GemmVariant> some = kernels_of(some_spec(), "h200", 16);
  EXPECT_GT(count(some, GemmKernel::kStream), 10U);
  EXPECT_GT(count(some, GemmKernel::kBulk), 10U);
  EXPECT_GT(count(some, GemmKernel::kWgmma), 10U);
  for (const std::int64_t m : {17, 64, 4096}) {
    const std::vector<GemmVariant> many = kernels_of(some_spec(), "h200", m);
    EXPECT_GT(count(many, GemmKernel::kWgmma), 10U) << m;
    EXPECT_GT(count(many, GemmKernel::kTiles), 10U) << m;
    EXPECT_EQ(count(many, GemmKernel::kStream), 0U) << m;
  }
  EXPECT_GT(count(kernels_of(some_spec(), "b200", 4), GemmKernel::kStream), 10U);
  EXPECT_EQ(count(kernels_of(some_spec(), "b200", 64), GemmKernel::kWgmma), 0U);
}

TEST(Candidates, EveryPathOfTheTargetIsTried) {
  const auto has = [](const std::vector<GemmVariant>& kernels, Path path) {
    return std::any_of(kernels.begin(), kernels.end(),
                       [&](const GemmVariant& v) { return v.path == path; });
  };
  const std::vector<GemmVariant> h200 = kernels_of(some_spec(), "h200", 1);
  EXPECT_TRUE(has(h200, Path::kHopper) && has(h200, Path::kAmpere));
  const std::vector<GemmVariant> a100 = kernels_of(some_spec(), "a100", 1);
  EXPECT_TRUE(has(a100, Path::kAmpere) && !has(a100, Path::kHopper));
  const std::vector<GemmVariant> t4 = kernels_of(some_spec(), "t4", 1);
  EXPECT_TRUE(has(t4, Path::kTuring) && !has(t4, Path::kAmpere));
}

TEST(Candidates, AnUnservedSpecIsRefused) {
  GemmSpec spec = some_spec();
  spec.activation = spec.weight.scale_dtype = DType::kBf16;
  EXPECT_THROW(tile_candidates(Spec::from_gemm(spec), target_from_name("t4"), 1), Error);
}

}  // namespace
}  // namespace heddle
