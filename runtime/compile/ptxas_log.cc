#include "runtime/compile/ptxas_log.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "heddle/error.h"

namespace heddle {
namespace {

// The number before `words`, as in "Used 32 registers": number_before(line, " registers") is 32.
std::optional<int> number_before(std::string_view line, std::string_view words) {
  const std::size_t at = line.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int value = 0;
  const auto [end, error] = std::from_chars(line.data() + begin, line.data() + at, value);
  return error == std::errc{} ? std::optional<int>(value) : std::nullopt;
}

// Advice has a number, as in "ptxas info    : (C7510) Potential Performance Loss: ...".
bool is_report(std::string_view line) {
  const bool is_info = line.rfind("ptxas info", 0) == 0 && line.find(": (C") == line.npos;
  return is_info || line.find("bytes stack frame") != line.npos ||
         line.find_first_not_of(" \t\r") == line.npos;
}

}  // namespace

PtxasReport parse_ptxas_log(std::string_view log) {
  std::optional<int> registers;
  std::optional<int> spill_stores;
  PtxasReport report;
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    if (const auto used = number_before(line, " registers")) {
      registers = used;
      report.shared_bytes = number_before(line, " bytes smem").value_or(0);
    }
    if (const auto stores = number_before(line, " bytes spill stores")) {
      spill_stores = stores;
      report.stack_bytes = number_before(line, " bytes stack frame").value_or(0);
      report.spill_load_bytes = number_before(line, " bytes spill loads").value_or(0);
    }
    if (!is_report(line)) report.other_lines.append(line).append("\n");
  }
  if (!registers || !spill_stores) {
    throw Error(ErrorCategory::kInternal, "nvrtc.log",
                "NVRTC's log does not tell the kernel's registers and spills");
  }
  report.registers = *registers;
  report.spill_store_bytes = *spill_stores;
  return report;
}

}  // namespace heddle
