// Medians, their errors, and who stays in a race.
#include "tools/tune/race.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tools/tune/median_time.h"

namespace heddle {
namespace {

TEST(MedianTime, OfAnEvenNumberIsInTheMiddle) {
  EXPECT_DOUBLE_EQ(median_time({3, 1, 2}).us, 2);
  EXPECT_DOUBLE_EQ(median_time({4, 1, 2, 3}).us, 2.5);
  EXPECT_DOUBLE_EQ(median_time({7}).us, 7);
}

TEST(MedianTime, OfTwoTimesNoErrorIsKnown) {
  EXPECT_TRUE(std::isinf(median_time({1, 1}).error));
  EXPECT_EQ(median_time({1, 1, 1}).error, 0);
}

TEST(MedianTime, TheErrorIsTheNotchOfABoxPlot) {
  // Quartiles 2 and 4.
  EXPECT_NEAR(median_time({1, 2, 3, 4, 5}).error, 1.57 * 2 / std::sqrt(5.0), 1e-12);
  // One outlier moves neither.
  EXPECT_NEAR(median_time({1, 2, 3, 4, 500}).error, 1.57 * 2 / std::sqrt(5.0), 1e-12);
}

using Order = std::vector<std::size_t>;

// Runs to the end; each runner's time is the given one with some noise.
Race run(const std::vector<double>& us, double noise, unsigned seed, std::size_t* timed = nullptr) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(1, noise);
  Race race(us.size());
  for (Order round = race.next_round(); !round.empty(); round = race.next_round()) {
    for (const std::size_t one : round) {
      race.record(one, us[one] * normal(random));
      if (timed != nullptr) ++*timed;
    }
    race.end_round();
  }
  return race;
}

TEST(Race, EveryRoundHasAllThatAreInIt) {
  Race race(3);
  EXPECT_EQ(race.next_round(), (Order{0, 1, 2}));
  EXPECT_FALSE(race.has_result());
  for (int round = 0; round < 3; ++round) {
    race.record(0, 10);
    race.record(1, 20);
    race.record(2, 10.1);
    race.end_round();
  }
  EXPECT_TRUE(race.has_result());
  // Clearly slower; the other one may still save a kernel.
  EXPECT_EQ(race.next_round(), (Order{0, 2}));
  EXPECT_EQ(race.ranking(), (Order{0, 2}));
  EXPECT_EQ(race.time(1).us, 20);
}

TEST(Race, WithoutNoiseItEndsAsSoonAsItMay) {
  EXPECT_EQ(run({10, 10.1, 9.9}, 0, 1).rounds(), Race::kFewestRounds);
  EXPECT_EQ(run({10, 10.1, 9.9}, 0.05, 1).rounds(), Race::kMostRounds);
}

TEST(Race, TheFastestWinsAlsoWhereTimesAreNoisy) {
  int won = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    const Race race = run({12, 10.8, 10, 11, 10.5, 13, 10.6, 14}, 0.02, seed);
    if (race.ranking().front() == 2) ++won;
  }
  EXPECT_GE(won, 95);
}

TEST(Race, TheFieldIsHalvedButWhoIsAsFastStays) {
  std::size_t timed = 0;
  std::vector<double> us;
  for (int i = 0; i < 12; ++i) us.push_back(10 + i);
  run(us, 0.3, 1, &timed);
  EXPECT_LE(timed, 2 * 12 + 2 * 12 + (Race::kMostRounds - 4) * 6U);
  timed = 0;
  const Race same = run(std::vector<double>(12, 10.0), 0, 1, &timed);
  EXPECT_EQ(same.ranking().size(), 12U);
}

TEST(Race, OfNobodyIsOver) {
  EXPECT_TRUE(Race(0).next_round().empty());
  EXPECT_FALSE(Race(0).has_result());
}

}  // namespace
}  // namespace heddle
