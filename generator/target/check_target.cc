#include "generator/target/check_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

#include "generator/target/facts.h"

namespace heddle {
namespace {

constexpr std::size_t kLongestName = 256;

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

// Not a number is outside of every range.
template <class Number>
bool is_within(Number value, const FactRange& range) {
  return value >= static_cast<Number>(range.min) && value <= static_cast<Number>(range.max);
}

// Rates are 0, which is not known, or at least one of their unit: predicted times divide by them.
template <class Number>
bool is_rate(Number value) {
  return !std::is_floating_point_v<Number> || value == 0 || value >= 1;
}

void check_measured(const char* name, double value, std::vector<Problem>* problems) {
  constexpr FactRange kRange{0, 10'000'000};
  if (is_within(value, kRange)) return;
  problems->push_back({std::string("/") + name, "no GPU has this", fmt::format("{}", value),
                       fmt::format("0 to {}; 0: not known", kRange.max), ""});
}

}  // namespace

std::vector<Problem> target_problems(const Target& target) {
  std::vector<Problem> problems;
  if (target.name.size() > kLongestName ||
      std::any_of(target.name.begin(), target.name.end(), is_control)) {
    problems.push_back({"/name", "the target's name is too long or has control characters", "",
                        fmt::format("at most {} characters, in one line", kLongestName), ""});
  }
  for_each_fact(target, [&](const char* name, const auto& value, const FactRange& range) {
    if (is_within(value, range) && is_rate(value)) return;
    const char* const unknown = is_rate(value) ? "" : ", 0 or from 1 on";
    problems.push_back({std::string("/") + name, "no GPU has this", fmt::format("{}", value),
                        fmt::format("{} to {}{}", range.min, range.max, unknown), ""});
  });
  if (problems.empty() && target.shared_per_block > target.shared_per_sm) {
    problems.push_back({"/shared_per_block", "a block has more shared memory than its SM",
                        fmt::format("{}", target.shared_per_block),
                        fmt::format("at most {}, shared_per_sm", target.shared_per_sm), ""});
  }
  check_measured("tensor_tflops", target.tensor_tflops, &problems);
  check_measured("launch_us", target.launch_us, &problems);
  return problems;
}

void check_target(const Target& target) {
  std::vector<Problem> problems = target_problems(target);
  if (problems.empty()) return;
  for (Problem& problem : problems) problem.pointer = "target: " + problem.pointer;
  throw Error(ErrorCategory::kUsage, "target.invalid", std::move(problems));
}

void check_arch(int arch) {
  constexpr int kLargest = 999;
  std::string allowed;
  int newest = 0;
  for (const ArchitectureFacts& facts : architecture_facts()) {
    if (facts.arch == arch) return;
    newest = std::max(newest, facts.arch);
    allowed += fmt::format(", {}", facts.arch);
  }
  if (arch == 0 || (arch > newest && arch <= kLargest)) return;
  throw Error(ErrorCategory::kUsage, "target.arch",
              fmt::format("arch = {} is that of no target; allowed: 0 (any){}", arch, allowed));
}

}  // namespace heddle
