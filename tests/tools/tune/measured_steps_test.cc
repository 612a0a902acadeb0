// Which kernels serve which steps, and which times are worth measuring for that.
#include "tools/tune/measured_steps.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace heddle {
namespace {

MeasuredKernel named(const std::string& label) { return {0, "tiles", 1, label}; }

MeasuredSteps four_steps() { return MeasuredSteps({{1, 1}, {2, 2}, {3, 4}, {5, 8}}); }

std::vector<std::string> text_of(const MeasuredSteps& steps) {
  std::vector<std::string> text;
  for (const MeasuredRange& one : steps.ranges()) {
    text.push_back(std::to_string(one.m.min) + "-" + std::to_string(one.m.max) + " " +
                   one.kernel.label);
  }
  return text;
}

using Places = std::vector<KernelPlace>;
using StepTexts = std::vector<std::string>;

TEST(MeasuredSteps, OfEachStepTheFastest) {
  MeasuredSteps steps = four_steps();
  for (std::size_t i = 0; i < 4; ++i) {
    steps.add(i, named("slow"), 20);
    steps.add(i, named("fast"), 10);
    EXPECT_EQ(steps.best_at(i), (KernelPlace{i, 1}));
  }
  EXPECT_EQ(text_of(steps), (StepTexts{"1-1 fast", "2-2 fast", "3-4 fast", "5-8 fast"}));
}

TEST(MeasuredSteps, OnlyWhoIsAsFastIsAskedForSmallerSteps) {
  MeasuredSteps steps = four_steps();
  for (std::size_t i = 0; i < 4; ++i) steps.add(i, named("own"), 10);
  steps.add(3, named("slower"), 10.4);
  steps.add(3, named("alike"), 10.2);
  EXPECT_TRUE(steps.may_serve(3).empty());
  EXPECT_EQ(steps.may_serve(2), (Places{{3, 0}, {3, 2}}));
  steps.set_time({3, 0}, 2, 10.5);
  steps.set_time({3, 2}, 2, 10.1);
  // What was answered is not asked again; the first has lost, and those of this step come in.
  EXPECT_TRUE(steps.may_serve(2).empty());
  EXPECT_EQ(steps.may_serve(1), (Places{{3, 2}, {2, 0}}));
}

TEST(MeasuredSteps, WhoServesSmallerStepsAsFastSavesKernels) {
  MeasuredSteps steps = four_steps();
  for (std::size_t i = 0; i < 4; ++i) steps.add(i, named("own"), 10);
  steps.add(3, named("alike"), 10.1);
  steps.set_time({3, 1}, 2, 10.05);
  steps.set_time({3, 1}, 1, 10.1);
  EXPECT_EQ(text_of(steps), (StepTexts{"1-1 own", "2-8 alike"}));
  // The time is that with the last M of the range.
  EXPECT_EQ(steps.ranges().back().us, 10.1);
}

TEST(MeasuredSteps, RangesEndWhereAStepWasNotMeasured) {
  MeasuredSteps steps = four_steps();
  steps.add(0, named("a"), 10);
  steps.add(2, named("b"), 10);
  steps.add(3, named("c"), 10);
  steps.set_time({3, 0}, 2, 10);
  EXPECT_TRUE(steps.may_serve(1).empty());
  EXPECT_EQ(text_of(steps), (StepTexts{"1-1 a", "3-8 c"}));
  EXPECT_TRUE(four_steps().ranges().empty());
}

TEST(MeasuredSteps, NoMoreAreAskedThanAreWorthTheTime) {
  MeasuredSteps steps = four_steps();
  for (std::size_t i = 0; i < 4; ++i) {
    for (int kernel = 0; kernel < 12; ++kernel) steps.add(i, named("same"), 10);
  }
  const Places places = steps.may_serve(2);
  EXPECT_EQ(places.size(), MeasuredSteps::kMostAsked);
  for (const KernelPlace& place : places) EXPECT_EQ(place.own, 3U);
}

}  // namespace
}  // namespace heddle
