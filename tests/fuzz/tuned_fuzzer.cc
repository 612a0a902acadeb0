// Any bytes as a tuned table: an error that says what is wrong, or a table whose text means itself.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "generator/tuned/families.h"
#include "heddle/error.h"
#include "heddle/tuned.h"

namespace heddle {

// Families that stand for the library's own, which would bring all of their code with them.
std::vector<std::string_view> tuned_family_names() { return {"tiles", "stream", "warpgroup"}; }
TunedFamilyCosts tuned_family_costs(std::string_view /*family*/) {
  static constexpr CostParameter kParameters[] = {{"start", "us", "before the first stage", 1.0},
                                                  {"overlap", "exponent", "of two times", 4.0}};
  return {1, kParameters};
}

}  // namespace heddle

namespace {

void must(bool condition) {
  if (!condition) std::abort();
}

// Outside of any handler: an error here is a finding.
void check(const heddle::TunedTable& table) {
  const std::string text = table.to_json();
  must(heddle::TunedTable::parse(text).to_json() == text);
  heddle::TunedTable merged = table;
  merged.merge(table);
  must(merged.to_json() == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  heddle::TunedTable table;
  try {
    table = heddle::TunedTable::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const heddle::Error& error) {
    must(error.category() == heddle::ErrorCategory::kSpec);
    must(!error.problems().empty());
    return 0;
  }
  check(table);
  return 0;
}
