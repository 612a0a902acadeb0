// Layers of experts, run on the CPU, against FP64: their launches, one after the other.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "generator/decode/float16.h"
#include "tests/emulator/case_names.h"
#include "tests/emulator/interleavings.h"
#include "tests/emulator/moe_cases.h"
#include "tests/emulator/moe_kernels.h"
#include "tests/emulator/moe_problem.h"
#include "tests/emulator/moe_run.h"

namespace heddle {
namespace {

// Choices of every kind, of as many tokens as the case has.
std::vector<EmulatedChoices> choices_of(const MoeCase& one) {
  if (!one.expert_tokens.empty()) return {uneven_choices(one.expert_tokens, 5)};
  std::vector<EmulatedChoices> all;
  unsigned seed = 0;
  for (const auto routing : {EmulatedRouting::kUniform, EmulatedRouting::kOne,
                             EmulatedRouting::kEveryOther, EmulatedRouting::kNoExperts}) {
    all.push_back(emulated_choices(one.spec, one.spec.shape.tokens_max, routing, ++seed));
  }
  if (!one.spec.router.chooses() && one.spec.shape.top_k > 1) {
    // Every other token names the expert of its first choice again.
    EmulatedChoices again = all.front();
    const auto top_k = static_cast<std::size_t>(one.spec.shape.top_k);
    for (std::size_t i = 0; i + 1 < again.ids.size(); i += 2 * top_k)
      again.ids[i + 1] = again.ids[i];
    all.push_back(std::move(again));
  }
  return all;
}

class EmulatedMoeLayer : public testing::TestWithParam<std::size_t> {
 protected:
  EmulatedMoeLayer()
      : plan_(all_moe_cases()[GetParam()].plan()),
        spec_(plan_.spec.moe()),
        problem_(spec_),
        run_(plan_, problem_, thread(GetParam())) {}

  std::vector<std::uint16_t> run(const EmulatedChoices& choices, unsigned seed,
                                 std::int64_t first = 0, YIs y_is = YIs::kItself) const {
    return run_.run(choices, seed, first, y_is);
  }

  void expect_close(const std::vector<std::uint16_t>& y,
                    const std::vector<double>& expected) const {
    ASSERT_EQ(y.size(), expected.size());
    const Float16Format format = float16_format(spec_.activation);
    double wrong = 0;
    double size = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double difference = float16_to_double(format, y[i]) - expected[i];
      wrong += difference * difference;
      size += expected[i] * expected[i];
    }
    // Two roundings, and that of scaled weights in each product.
    const double limit = spec_.activation == DType::kBf16 ? 6e-3 : 8e-4;
    // Written so that a NaN fails.
    ASSERT_TRUE(std::sqrt(wrong) <= limit * std::sqrt(size))
        << std::sqrt(wrong) << " of " << std::sqrt(size);
  }

  Plan plan_;
  const MoeSpec& spec_;
  const EmulatedMoe problem_;

 private:
  // Of a number of all_moe_cases().
  MoeThread thread(std::size_t number) const {
    const std::size_t few = moe_kernels.size() + moe_wgmma_kernels.size();
    const std::size_t stream = few + moe_few_kernels.size();
    if (number >= stream) return thread_of(moe_stream_kernels[number - stream]);
    if (number >= few) return thread_of(moe_few_kernels[number - few]);
    if (number < moe_kernels.size()) return thread_of(moe_kernels[number]);
    return thread_of(plan_, moe_wgmma_kernels[number - moe_kernels.size()]);
  }

  const MoeRun run_;
};

TEST_P(EmulatedMoeLayer, IsWhatFp64Says) {
  for (const EmulatedChoices& choices : choices_of(all_moe_cases()[GetParam()])) {
    SCOPED_TRACE(fmt::format("first choice {}", choices.ids.front()));
    const std::vector<std::uint16_t> y = run(choices, 1);
    ASSERT_NO_FATAL_FAILURE(expect_close(y, problem_.expected(choices)));
    // In whatever order its threads run.
    for (unsigned seed = 1; seed < interleavings(); ++seed) {
      ASSERT_EQ(run(choices, 17 * seed), y) << "seed " << seed;
    }
  }
}

// Nothing is added by experts of other devices. A router chooses none but the model's.
TEST_P(EmulatedMoeLayer, WithoutItsExpertsIsTheResidual) {
  if (spec_.router.chooses() && spec_.local_experts() == spec_.shape.experts) return;
  if (spec_.shape.shared_experts > 0) return;  // which every token has
  const EmulatedChoices choices = emulated_choices(spec_, 1, EmulatedRouting::kElsewhere, 1);
  std::vector<std::uint16_t> expected(static_cast<std::size_t>(spec_.shape.hidden));
  if (!problem_.residual.empty()) {
    std::copy_n(problem_.residual.begin(), expected.size(), expected.begin());
  }
  EXPECT_EQ(run(choices, 1), expected);
}

// A token has the same bits whatever is launched with it.
TEST_P(EmulatedMoeLayer, IsTheSameForATokenAlone) {
  const std::int64_t tokens = std::min<std::int64_t>(spec_.shape.tokens_max, 9);
  const EmulatedChoices choices = emulated_choices(spec_, tokens, EmulatedRouting::kUniform, 3);
  const std::vector<std::uint16_t> y = run(choices, 1);
  for (const std::int64_t token : {std::int64_t{0}, tokens - 1}) {
    const EmulatedChoices own = choices.of_token(token, spec_);
    const auto begin = y.begin() + token * spec_.shape.hidden;
    EXPECT_EQ(run(own, 1, token), std::vector<std::uint16_t>(begin, begin + spec_.shape.hidden));
  }
}

TEST_P(EmulatedMoeLayer, MayReplaceXOrTheResidual) {
  const std::int64_t tokens = std::min<std::int64_t>(spec_.shape.tokens_max, 3);
  const EmulatedChoices choices = emulated_choices(spec_, tokens, EmulatedRouting::kUniform, 4);
  const std::vector<std::uint16_t> y = run(choices, 1);
  EXPECT_EQ(run(choices, 1, 0, YIs::kX), y);
  if (spec_.epilogue.residual) {
    EXPECT_EQ(run(choices, 1, 0, YIs::kResidual), y);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedMoeLayer, numbers_of<all_moe_cases>(),
                         name_of<all_moe_cases>);

}  // namespace
}  // namespace heddle
