// Any bytes as a tuned table: an error that says what is wrong, or a table whose text means itself.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "generator/tuned/families.h"
#include "heddle/error.h"
#include "heddle/tuned.h"

namespace heddle {

// Of the library's own only the names matter here, and they would bring all families with them.
std::vector<std::string_view> tuned_family_names() { return {"tiles", "stream", "warpgroup"}; }
CostSlots tuned_cost_slots(std::string_view /*family*/) {
  return {1, {{"start", {1e-6, 1e9}}, {"overlap", {1, 12}}}};
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
