#include "runtime/compile/numbered_lines.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

TEST(NumberedLinesTest, CountsFromOne) {
  EXPECT_EQ(numbered_lines("int a;\n\nint b;\n"), "   1 | int a;\n   2 | \n   3 | int b;\n");
  EXPECT_EQ(numbered_lines("no end"), "   1 | no end\n");
  EXPECT_EQ(numbered_lines(""), "");
}

}  // namespace
}  // namespace heddle
