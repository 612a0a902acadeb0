// The choice of experts by logits, run on the CPU, against FP64.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <set>

#include "tests/emulator/case_names.h"
#include "tests/emulator/choose_cases.h"
#include "tests/emulator/choose_kernels.h"
#include "tests/emulator/interleavings.h"
#include "tests/emulator/machine.h"
#include "tools/gpu_harness/operations/moe/choice.h"

namespace heddle {
namespace {

using emulator::Access;

struct Chosen {
  std::vector<std::int32_t> ids;
  std::vector<float> weights;
};

class EmulatedChoice : public testing::TestWithParam<std::size_t> {
 protected:
  EmulatedChoice()
      : spec_(choose_cases()[GetParam()].spec), vectors_(random_router_vectors(spec_, 5)) {}

  Chosen choose(const std::vector<std::uint8_t>& logits, const RouterVectors& vectors,
                unsigned seed) const {
    const auto row = static_cast<std::size_t>(bytes_of(spec_.router.logits) * spec_.shape.experts);
    const std::size_t tokens = logits.size() / row;
    const std::size_t choices = tokens * static_cast<std::size_t>(spec_.shape.top_k);
    emulator::GlobalMemory memory;
    const auto copy = [&](const auto& values) {
      return values.empty()
                 ? nullptr
                 : memory.allocate(values.data(), values.size() * sizeof values[0], Access::kRead);
    };
    MoeParameters parameters{};
    parameters.tokens = static_cast<int>(tokens);
    parameters.logits = copy(logits);
    parameters.correction_bias = reinterpret_cast<const float*>(copy(vectors.correction_bias));
    parameters.expert_scales = reinterpret_cast<const float*>(copy(vectors.expert_scales));
    parameters.chosen_ids = reinterpret_cast<int*>(memory.allocate(4 * choices, Access::kWrite));
    parameters.chosen_weights =
        reinterpret_cast<float*>(memory.allocate(4 * choices, Access::kWrite));
    emulator::Launch launch;
    launch.blocks = launch.grid_x = 3;
    launch.threads = kChooseThreads;
    launch.seed = seed;
    emulator::run(launch, memory, [&] { choose_kernels[GetParam()](parameters); });
    EXPECT_TRUE(memory.guards_intact());
    Chosen chosen{std::vector<std::int32_t>(choices), std::vector<float>(choices)};
    std::memcpy(chosen.ids.data(), parameters.chosen_ids, 4 * choices);
    std::memcpy(chosen.weights.data(), parameters.chosen_weights, 4 * choices);
    return chosen;
  }
  // Of one token.
  Chosen choose(const std::vector<double>& logits, const RouterVectors& vectors) const {
    return choose(stored_logits(spec_.router.logits, logits), vectors, 1);
  }

  std::size_t experts() const { return static_cast<std::size_t>(spec_.shape.experts); }

  // Different experts of the model, and numbers.
  void expect_possible(const Chosen& chosen) const {
    const std::set<std::int32_t> different(chosen.ids.begin(), chosen.ids.end());
    EXPECT_EQ(different.size(), static_cast<std::size_t>(spec_.shape.top_k));
    EXPECT_GE(*different.begin(), 0);
    EXPECT_LT(*different.rbegin(), spec_.shape.experts);
    EXPECT_TRUE(std::all_of(chosen.weights.begin(), chosen.weights.end(),
                            [](float weight) { return std::isfinite(weight); }));
  }

  const MoeSpec& spec_;
  const RouterVectors vectors_;
};

TEST_P(EmulatedChoice, IsWhatFp64Says) {
  for (const std::int64_t tokens : {1, 7, 64}) {
    SCOPED_TRACE(fmt::format("{} tokens", tokens));
    const RoutedTokens routed =
        routed_tokens(spec_, vectors_, tokens, std::vector<double>(experts()), false, 1);
    const Chosen chosen = choose(routed.logits, vectors_, 1);
    ASSERT_EQ(chosen.ids, routed.ids);
    for (std::size_t i = 0; i < chosen.weights.size(); ++i) {
      // Written so that a NaN fails.
      ASSERT_TRUE(std::abs(chosen.weights[i] - routed.weights[i]) <= 1e-5F * routed.weights[i])
          << chosen.weights[i] << ", not " << routed.weights[i];
    }
    for (unsigned seed = 1; seed < interleavings(); ++seed) {
      const Chosen other = choose(routed.logits, vectors_, 17 * seed);
      ASSERT_EQ(other.ids, chosen.ids);
      ASSERT_EQ(other.weights, chosen.weights);
    }
  }
}

// Far from 0 scores lose their differences, or are 0; logits do not.
TEST_P(EmulatedChoice, IsThatOfLogitsHoweverLarge) {
  if (spec_.router.correction_bias || spec_.router.group_score == GroupScore::kTopTwo) return;
  for (const double size : {-200.0, 200.0}) {
    std::vector<double> logits(experts());
    for (std::size_t i = 0; i < logits.size(); ++i) {
      logits[i] = size - static_cast<double>(i * 7 % logits.size()) / 4;
    }
    logits = logit_values(spec_.router.logits, stored_logits(spec_.router.logits, logits));
    const Chosen chosen = choose(logits, vectors_);
    expect_possible(chosen);
    EXPECT_EQ(chosen.ids, router_choice(spec_, vectors_, logits.data()).ids);
  }
}

// Of experts that are alike the first ones are chosen, and of groups.
TEST_P(EmulatedChoice, TakesTheLowerIdWhereTwoAreAlike) {
  RouterVectors vectors = vectors_;
  std::fill(vectors.correction_bias.begin(), vectors.correction_bias.end(), 0.25F);
  for (const double logit : {0.0, -0.0, 3.0, -50.0}) {
    const Chosen chosen = choose(std::vector<double>(experts(), logit), vectors);
    std::vector<std::int32_t> first(static_cast<std::size_t>(spec_.shape.top_k));
    std::iota(first.begin(), first.end(), 0);
    EXPECT_EQ(chosen.ids, first) << logit;
    expect_possible(chosen);
  }
  // Zeros are alike, whatever their sign.
  std::vector<double> zeros(experts(), -0.0);
  zeros.back() = 0.0;
  EXPECT_EQ(choose(zeros, vectors).ids[0], 0);
  // Two values, so that a token has all experts of the larger one and the first of the others.
  std::vector<double> two(experts());
  for (std::size_t i = 0; i < two.size(); ++i) two[i] = i % 3 == 1 ? 1 : 0;
  const Chosen chosen = choose(two, vectors);
  EXPECT_EQ(chosen.ids, router_choice(spec_, vectors, two.data()).ids);
}

// What is no number is no expert that is not there, nor one twice.
TEST_P(EmulatedChoice, IsPossibleWhateverLogitsAre) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& values : {std::vector<double>{kNan},
                                            {kNan, 1.0},
                                            {-kNan, -3.0, 2.0},
                                            {kInfinity},
                                            {-kInfinity},
                                            {kInfinity, -kInfinity},
                                            {-kInfinity, kNan},
                                            {kInfinity, 0.0, kNan}}) {
    std::vector<double> logits(experts());
    for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = values[i % values.size()];
    RouterVectors vectors = vectors_;
    std::fill(vectors.correction_bias.begin(), vectors.correction_bias.end(), 0.0F);
    const Chosen chosen = choose(logits, vectors);
    expect_possible(chosen);
    const RouterChoice expected = router_choice(spec_, vectors, logits.data());
    EXPECT_EQ(chosen.ids, expected.ids);
    RouterVectors no_numbers = vectors_;
    for (float& bias : no_numbers.correction_bias) bias = std::numeric_limits<float>::quiet_NaN();
    expect_possible(choose(logits, no_numbers));
  }
}

// An expert whose bias is no number comes behind all others.
TEST_P(EmulatedChoice, LeavesOutWhatHasNoBias) {
  if (!spec_.router.correction_bias || spec_.shape.top_k == spec_.shape.experts) return;
  RouterVectors vectors = vectors_;
  for (const float sign : {1.0F, -1.0F}) {
    vectors.correction_bias[0] = std::copysign(std::numeric_limits<float>::quiet_NaN(), sign);
    const Chosen chosen = choose(std::vector<double>(experts(), 1.0), vectors);
    expect_possible(chosen);
    EXPECT_EQ(std::count(chosen.ids.begin(), chosen.ids.end(), 0), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedChoice, numbers_of<choose_cases>(), name_of<choose_cases>);

}  // namespace
}  // namespace heddle
