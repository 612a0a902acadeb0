#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "generator/decode/decode_plan.h"
#include "generator/decode/requests.h"

namespace heddle {
namespace {

TEST(DecodePage, ShowsWhatIsDerived) {
  std::ifstream page(HEDDLE_DECODE_PAGE);
  std::stringstream text;
  text << page.rdbuf();
  const std::string table = decode_cost_table();
  EXPECT_NE(text.str().find(table), std::string::npos)
      << "the table of docs/decode-plans.md must read:\n"
      << table;
}

}  // namespace
}  // namespace heddle
