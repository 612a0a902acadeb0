#include "runtime/prepare/urgent_ranges.h"

#include <fmt/format.h>

#include <utility>

#include "generator/operations/operation.h"
#include "heddle/error.h"

namespace heddle {
namespace {

// A range has M of its spec, or, if it is for all of them, of one spec at least: what is urgent of
// decoding's specs may be outside of those of prefill.
void check_served(const std::vector<Spec>& specs, const std::vector<MRange>& urgent) {
  std::vector<Problem> problems;
  bool serves_any = false;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const MRange& range = urgent_of(urgent, i);
    if (!specs[i].has_m() || overlap(specs[i].m_range(), range)) {
      serves_any = true;
      continue;
    }
    const MRange m = specs[i].m_range();
    problems.push_back({fmt::format("specs[{}]: {}", i, operation_of(specs[i]).size_pointer()),
                        fmt::format("the urgent range {} to {} has no number of tokens of the spec",
                                    range.min, range.max),
                        "", fmt::format("a range that has one from {} to {}", m.min, m.max), ""});
  }
  if (problems.empty() || (urgent.size() == 1 && serves_any)) return;
  throw Error(ErrorCategory::kUsage, "runtime.urgent", std::move(problems));
}

}  // namespace

void check_urgent(const std::vector<Spec>& specs, const std::vector<MRange>& urgent) {
  if (urgent.size() != 1 && urgent.size() != specs.size()) {
    throw Error(ErrorCategory::kUsage, "runtime.urgent",
                fmt::format("there are {} urgent ranges for {} specs; allowed: 1, or one for each",
                            urgent.size(), specs.size()));
  }
  for (const MRange& range : urgent) {
    if (range.min >= 1 && range.min <= range.max) continue;
    throw Error(ErrorCategory::kUsage, "runtime.urgent",
                fmt::format("{} to {} is no urgent range of M; allowed: from 1 on, and not empty",
                            range.min, range.max));
  }
  check_served(specs, urgent);
}

}  // namespace heddle
