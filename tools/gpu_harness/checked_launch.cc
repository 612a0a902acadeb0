#include "tools/gpu_harness/checked_launch.h"

#include <fmt/format.h>

#include <utility>

namespace heddle {

std::string Check::fault() const {
  if (!guards_intact) return "writes outside of its output";
  if (!(error < limit)) {
    return fmt::format("wrong results, relative error {:.2e}, limit {:.1e}", error, limit);
  }
  if (!wrong.empty()) return wrong;
  return repeatable ? "" : "not the same bits from run to run";
}

void check_launch(CheckedLaunch& launch, const OwnedStream& stream, Check* check) {
  const std::vector<unsigned char> poisons = launch.poisons();
  const std::vector<CheckedLaunch::Output> outputs = launch.outputs();
  CheckedLaunch::Written first;
  for (std::size_t i = 0; i < poisons.size(); ++i) {
    for (const CheckedLaunch::Output& output : outputs) output.buffer->fill(poisons[i], stream);
    launch.restore(stream);
    launch.launch(stream);
    CheckedLaunch::Written written;
    for (const auto& [buffer, bytes] : outputs) {
      written.push_back(buffer->read(bytes, stream));
      check->guards_intact =
          check->guards_intact && buffer->guards_intact(poisons[i], bytes, stream);
    }
    if (i > 0 && poisons[i] == poisons[0]) {
      check->repeatable = check->repeatable && written == first;
      continue;
    }
    launch.compare(written, poisons[i], stream, check);
    if (i == 0) first = std::move(written);
  }
}

void count_mismatches(const std::vector<std::uint8_t>& got,
                      const std::vector<std::uint8_t>& expected, std::size_t base, Check* check) {
  check->compared += expected.size();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (got[i] == expected[i]) continue;
    if (check->mismatches++ == 0) check->first_mismatch = base + i;
  }
}

std::string mismatch_text(const Check& check) {
  if (check.mismatches == 0) return {};
  return fmt::format("{} of {} bytes differ, the first at {}", check.mismatches, check.compared,
                     check.first_mismatch);
}

}  // namespace heddle
