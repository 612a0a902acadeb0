// Which cases the tests on a GPU choose of the products of their properties' values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/gpu/kernel_rotation.h"
#include "tests/gpu/pairwise.h"

namespace heddle {
namespace {

GemmSpec selection_spec(int bits, int group, DType dtype) {
  GemmSpec spec;
  spec.shape = {264, 1280, 1, 512};
  spec.activation = dtype;
  spec.weight.scale_dtype = dtype;
  spec.weight.bits = bits;
  spec.weight.group_size = group;
  return spec;
}

std::vector<Spec> every_combination() {
  std::vector<Spec> specs;
  for (const int bits : {1, 2, 3, 4, 8}) {
    for (const int group : {16, 32, 64, 128}) {
      for (const DType dtype : {DType::kFp16, DType::kBf16}) {
        specs.push_back(Spec::from_gemm(selection_spec(bits, group, dtype)));
      }
    }
  }
  return specs;
}

std::set<std::pair<std::string, std::string>> pairs_of(const std::vector<Spec>& specs) {
  std::set<std::pair<std::string, std::string>> pairs;
  for (const Spec& spec : specs) {
    const nlohmann::json values = nlohmann::json::parse(spec.canonical_json()).flatten();
    for (const auto& [key, value] : values.items()) {
      for (const auto& [other, of_other] : values.items()) {
        if (key < other) pairs.emplace(key + value.dump(), other + of_other.dump());
      }
    }
  }
  return pairs;
}

TEST(Pairwise, KeepsEveryPairOfValuesInFewerSpecs) {
  if (every_kernel()) GTEST_SKIP() << "every kernel is asked for";
  const std::vector<Spec> all = every_combination();
  const std::vector<Spec> chosen = pairwise(all);
  EXPECT_EQ(pairs_of(chosen), pairs_of(all));
  EXPECT_LT(chosen.size(), all.size());
}

TEST(Pairwise, KeepsAPropertyThatOneSpecAloneHas) {
  std::vector<Spec> all = every_combination();
  GemmSpec last = selection_spec(4, 128, DType::kFp16);
  last.epilogue.bias = true;
  all.push_back(Spec::from_gemm(last));
  const std::vector<Spec> chosen = pairwise(all);
  EXPECT_TRUE(std::any_of(chosen.begin(), chosen.end(),
                          [](const Spec& spec) { return spec.gemm().epilogue.bias; }));
}

TEST(KernelRotation, EveryValueMeetsEveryFamilyAndSize) {
  if (every_kernel()) GTEST_SKIP() << "every kernel is asked for";
  const std::vector<std::int64_t> sizes{1, 7, 20, 50, 100, 300};
  KernelRotation rotation;
  std::set<std::pair<std::string, std::string>> possible, met;
  const auto add = [&](const Plan& plan, std::set<std::pair<std::string, std::string>>& to) {
    const GemmSpec& spec = plan.spec.gemm();
    for (const std::string& value : {"bits " + std::to_string(spec.weight.bits),
                                     "group " + std::to_string(spec.weight.group_size),
                                     std::string(to_string(spec.activation))}) {
      for (const PlannedKernel& kernel : plan.kernels) {
        to.emplace(value, kernel.family->name());
      }
      for (const std::int64_t size : served_by(plan, sizes))
        to.emplace(value, std::to_string(size));
    }
  };
  for (const Spec& spec : every_combination()) {
    Plan plan = resolve(spec, target_from_name("h200"));
    std::erase_if(plan.kernels, [&](const PlannedKernel& kernel) {
      return std::none_of(sizes.begin(), sizes.end(), [&](std::int64_t m) {
        return kernel.size_min <= m && m <= kernel.size_max;
      });
    });
    add(plan, possible);
    const std::vector<Plan> chosen = rotation.plans_of_one(plan, sizes);
    ASSERT_EQ(chosen.size(), 1U);
    ASSERT_EQ(chosen[0].kernels.size(), 1U);
    add(chosen[0], met);
  }
  EXPECT_EQ(met, possible);
}

}  // namespace
}  // namespace heddle
