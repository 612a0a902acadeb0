// The main of every gtest program. Its exit code is 77, which ctest takes for "skipped", where
// every test that it ran was skipped, as on a machine without a GPU.
#include <gtest/gtest.h>

namespace {

constexpr int kSkipped = 77;

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  const bool all_skipped =
      all.skipped_test_count() > 0 && all.skipped_test_count() == all.test_to_run_count();
  return result == 0 && all_skipped ? kSkipped : result;
}
