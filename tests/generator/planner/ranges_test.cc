// Which kernel serves which steps, of times that are given.
#include "generator/planner/ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace heddle {
namespace {

// A kernel of each step by its times: at its own step, at the one before it, and so on.
using Times = std::vector<double>;

class GivenTimes final : public StepTimes {
 public:
  // The first `few` steps are of few tokens.
  GivenTimes(std::vector<std::vector<Times>> kernels, std::size_t few)
      : kernels_(std::move(kernels)), few_(few) {}

  std::size_t steps() const override { return kernels_.size(); }
  std::int64_t size(std::size_t step) const override {
    return step < few_ ? kFewTokens : kFewTokens + 1;
  }
  std::size_t kernels(std::size_t step) const override { return kernels_[step].size(); }
  double best_us(std::size_t step) const override {
    double best = kernels_[step].front().front();
    for (const Times& times : kernels_[step]) best = std::min(best, times.front());
    return best;
  }
  std::optional<double> us(std::size_t own, std::size_t kernel, std::size_t step) const override {
    const Times& times = kernels_[own][kernel];
    if (own - step >= times.size()) return std::nullopt;
    return times[own - step];
  }

 private:
  std::vector<std::vector<Times>> kernels_;
  std::size_t few_;
};

using Ranges = std::vector<std::tuple<std::size_t, std::size_t, std::size_t>>;

constexpr std::size_t kAll = SIZE_MAX;

Ranges ranges_of(std::vector<std::vector<Times>> kernels, std::size_t few = kAll) {
  Ranges ranges;
  for (const StepRange& one : best_ranges(GivenTimes(std::move(kernels), few), kMostKernels)) {
    ranges.emplace_back(one.first, one.last, one.kernel);
  }
  return ranges;
}

TEST(Ranges, OfEachStepTheFastest) {
  EXPECT_EQ(ranges_of({{{10}, {9}}, {{20}, {21}}}), (Ranges{{0, 0, 1}, {1, 1, 0}}));
}

TEST(Ranges, OneKernelThatIsNearlyAsFastServesItsNeighbours) {
  EXPECT_EQ(ranges_of({{{10}}, {{20, 10.1}}}), (Ranges{{0, 1, 0}}));
  EXPECT_EQ(ranges_of({{{10}}, {{20, 10.4}}}), (Ranges{{0, 0, 0}, {1, 1, 0}}));
  // The second kernel is slower at its own step, but saves one.
  EXPECT_EQ(ranges_of({{{10}}, {{20, 11}, {20.3, 10}}}), (Ranges{{0, 1, 1}}));
}

// Each of these loses less than kSameTime at its steps, all together more than a kernel is worth.
TEST(Ranges, AKernelMoreWhereThatSavesWhatItIsWorth) {
  const double one = std::pow(kKernelIsWorth, 0.4), two = std::pow(kKernelIsWorth, 0.6);
  EXPECT_EQ(ranges_of({{{10}}, {{10}, {20, 10}}, {{20, 10 * one, 10 * one}}}), (Ranges{{0, 2, 0}}));
  EXPECT_EQ(ranges_of({{{10}}, {{10, 10}}, {{20, 10 * two, 10 * two}}}),
            (Ranges{{0, 1, 0}, {2, 2, 0}}));
}

TEST(Ranges, AKernelWithoutATimeDoesNotServe) {
  EXPECT_EQ(ranges_of({{{10}}, {{20}}, {{30, 20}}}), (Ranges{{0, 0, 0}, {1, 2, 0}}));
}

TEST(Ranges, OfAsManyKernelsTheFasterOnes) {
  EXPECT_EQ(ranges_of({{{10}}, {{20, 10.1}, {20.05, 10}}}), (Ranges{{0, 1, 1}}));
}

TEST(Ranges, NoMoreKernelsThanAPlanMayHave) {
  std::vector<std::vector<Times>> kernels;
  for (std::size_t i = 0; i < kMostKernels + 1; ++i) kernels.push_back({{10, 12}});
  const Ranges ranges = ranges_of(kernels, 0);
  EXPECT_EQ(ranges.size(), kMostKernels);
}

TEST(Ranges, MoreTokensShareKernelsFirst) {
  // One kernel less loses least at the second step; it is of few tokens.
  std::vector<std::vector<Times>> kernels(kMostKernels + 1, {{10, 12}});
  kernels[1] = {{10, 11}};
  const Ranges ranges = ranges_of(kernels, 2);
  EXPECT_EQ(ranges.size(), kMostKernels);
  EXPECT_EQ(ranges[0], (Ranges::value_type{0, 0, 0}));
  EXPECT_EQ(ranges[1], (Ranges::value_type{1, 1, 0}));
}

TEST(Ranges, StepsOfMoreTokensCountLess) {
  const double loss = std::pow(kKernelIsWorth, 1.2);  // more than a kernel is worth
  const std::vector<std::vector<Times>> kernels = {{{10}}, {{10, 10 * loss}}};
  EXPECT_EQ(ranges_of(kernels, 2), (Ranges{{0, 0, 0}, {1, 1, 0}}));
  EXPECT_EQ(ranges_of(kernels, 0), (Ranges{{0, 1, 0}}));
}

TEST(Ranges, WhereKernelsCannotBeFewerTheyAreAsTheyMustBe) {
  // None serves another step, or only steps of few tokens, and these too slowly.
  for (const Times& times : {Times{10}, Times{10, 10.5}}) {
    const Ranges ranges = ranges_of({kMostKernels + 2, {times, {10.1}}});
    EXPECT_EQ(ranges.size(), kMostKernels + 2);
    for (const auto& [first, last, kernel] : ranges) {
      EXPECT_EQ(first, last);
      EXPECT_EQ(kernel, 0U);
    }
  }
}

TEST(Ranges, OfNoStepsThereIsNone) { EXPECT_TRUE(ranges_of({}).empty()); }

}  // namespace
}  // namespace heddle
