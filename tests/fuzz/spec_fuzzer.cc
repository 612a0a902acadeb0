// Any bytes as a spec: an error that says what is wrong, or a spec whose canonical text means
// itself.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "heddle/error.h"
#include "heddle/spec.h"

namespace {

void must(bool condition) {
  if (!condition) std::abort();
}

// Outside of any handler: an error here is a finding.
std::string canonical_of(const std::string& json) {
  return heddle::Spec::parse(json).canonical_json();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string canonical;
  try {
    canonical = heddle::Spec::parse(std::string_view(reinterpret_cast<const char*>(data), size))
                    .canonical_json();
  } catch (const heddle::Error& error) {
    must(error.category() == heddle::ErrorCategory::kSpec);
    must(!error.problems().empty());
    return 0;
  }
  must(canonical_of(canonical) == canonical);
  return 0;
}
