// decode_attention, run on the CPU, against FP64.
#include <algorithm>

#include "tests/emulator/attention_cases.h"
#include "tests/emulator/attention_fixture.h"
#include "tests/emulator/case_names.h"

namespace heddle {
namespace {

// 0 blocks: as many as the runtime launches.
TEST_P(EmulatedAttention, OfRaggedSequences) {
  launch({0, 1, page() + 1, 31, 0, 290, 32}, {{0, 1}, {1, 1}, {4, 2}});
}

TEST_P(EmulatedAttention, OfSequencesThatBlocksShare) {
  ASSERT_NO_FATAL_FAILURE(
      launch({attention_cases()[GetParam()].shared, 3}, {{most_blocks(), 1}, {3, 1}}));
  EXPECT_TRUE(merged());
}

// Clusters add what they have of a sequence, and leave what others need for the whole.
TEST_P(EmulatedAttention, OfSequencesThatClustersShare) { launch({300, 3, 90}, {{8, 8}, {4, 2}}); }

// Lengths that the kernel ahead leaves as they are, but not the pages; equal ones, of which blocks
// take whole sequences or equal parts.
TEST_P(EmulatedAttention, OfLengthsThatStay) {
  ASSERT_NO_FATAL_FAILURE(launch({page() + 1, 31, 0, 290}, {{0, 1}, {4, 2}}, true));
  launch({300, 289, 320}, {{std::min(7, most_blocks()), 1}}, true);
}

TEST_P(EmulatedAttention, OfLessThanThereAreBlocksFor) {
  launch({0, 5}, {{most_blocks(), 1}, {6, 2}});
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedAttention, numbers_of<attention_cases>(),
                         name_of<attention_cases>);

}  // namespace
}  // namespace heddle
