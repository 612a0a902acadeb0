#include "tools/heddle/faults.h"

#include <fmt/format.h>

namespace heddle {

std::string fault_of(const GemmCheck& check) {
  if (check.passed()) return {};
  if (!check.guards_intact) return "writes outside of its output";
  if (!(check.error < check.limit)) {
    return fmt::format("wrong results, relative error {:.2e}, limit {:.1e}", check.error,
                       check.limit);
  }
  return "not the same bits from run to run";
}

std::string fault_of(const DequantizeCheck& check) {
  if (check.passed()) return {};
  if (!check.guards_intact) return "writes outside of its output";
  return fmt::format("{} of {} weights are wrong: {}", check.mismatches, check.weights,
                     check.first_mismatch);
}

}  // namespace heddle
