#include "runtime/compile/compiler_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "heddle/target.h"

namespace heddle {
namespace {

constexpr int kOf126[] = {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90};

TEST(CompilerFactsTest, NamesVersionArchitectureAndTheFirstThatHasIt) {
  const auto why = why_not_compilable("sm_120a", {12, 6}, kOf126);
  ASSERT_TRUE(why);
  EXPECT_EQ(*why,
            "NVRTC 12.6 cannot compile for sm_120a; NVRTC 12.8 is the first that can: install it "
            "or a newer one and set HEDDLE_NVRTC to its folder");
}

TEST(CompilerFactsTest, ListsWhatThereIsWhereNoVersionIsKnown) {
  constexpr int kHas[] = {80, 90};
  const auto why = why_not_compilable("sm_1", {13, 0}, kHas);
  ASSERT_TRUE(why);
  EXPECT_EQ(*why, "NVRTC 13.0 cannot compile for sm_1; it can for sm_80, sm_90");
}

TEST(CompilerFactsTest, SaysNothingOfWhatTheCompilerHasAndOfOtherNames) {
  for (const char* arch : {"sm_75", "sm_90", "sm_90a", "compute_120", "sm_", "sm_1x", "", "tesla"})
    EXPECT_FALSE(why_not_compilable(arch, {12, 6}, kOf126)) << arch;
}

TEST(CompilerFactsTest, KnowsEveryArchitectureThatHasATarget) {
  for (const Target& target : known_targets()) {
    EXPECT_TRUE(first_compiler_of(target.arch())) << target.name;
  }
}

}  // namespace
}  // namespace heddle
