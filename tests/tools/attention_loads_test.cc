#include "tools/heddle/run/attention_loads.h"

#include <gtest/gtest.h>

#include "heddle/error.h"

namespace heddle {
namespace {

TEST(AttentionLoads, AreSequencesTimesTokens) {
  const std::vector<AttentionLoad> loads = parse_attention_loads({"64x8192", "1x1", "3x1-16384"});
  ASSERT_EQ(loads.size(), 3U);
  EXPECT_EQ(loads[0].sequences, 64);
  EXPECT_EQ(loads[0].length, 8192);
  EXPECT_EQ(loads[0].shortest, 0);
  EXPECT_EQ(loads[1].sequences, 1);
  EXPECT_EQ(loads[2].length, 16384);
  EXPECT_EQ(loads[2].shortest, 1);
}

TEST(AttentionLoads, RefuseWhatIsNone) {
  for (const char* text : {"", "64", "x", "64x", "x64", "0x64", "64x0", "64x-1", "64x1-", "64x9-8",
                           "64x8192 ", "1025x8", "64x99999999999", "64x1-2-3", "-1x8"}) {
    try {
      parse_attention_load(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::kUsage) << text;
      EXPECT_EQ(error.code(), "tool.load") << text;
    }
  }
}

}  // namespace
}  // namespace heddle
