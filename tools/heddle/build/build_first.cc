#include "tools/heddle/build/build_first.h"

#include <fmt/format.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/operations/operation.h"
#include "generator/planner/stand_in.h"
#include "generator/render/source_list.h"
#include "heddle/error.h"

namespace heddle {
namespace {

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number ? std::optional(value) : std::nullopt;
}

double milliseconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

}  // namespace

void add_first_option(CLI::App& command, std::optional<std::string>* range) {
  command.add_option("--first", *range,
                     "make the kernels for these numbers of tokens first, and general ones for "
                     "others, and say when they are there: 1-16, say");
}

MRange parse_first(const std::string& text) {
  const std::size_t dash = text.find('-');
  const std::string_view all(text);
  const auto first = number_of(all.substr(0, dash));
  const auto last = dash == std::string::npos ? first : number_of(all.substr(dash + 1));
  if (first && last && *first >= 1 && *first <= *last) return {*first, *last};
  throw Error(ErrorCategory::kUsage, "tool.first",
              fmt::format("--first {}: allowed: a number of tokens, or two with a dash, from 1 on "
                          "and ascending, such as 1-16",
                          text));
}

void check_first(const std::vector<BuiltOperation>& operations, const MRange& urgent) {
  if (operations.empty()) return;
  std::map<std::string_view, MRange> served;  // by the field that names it
  for (const BuiltOperation& operation : operations) {
    // Kernels of an operation without M are all made first.
    if (!operation.plan.spec.has_m()) return;
    const MRange m = operation.plan.spec.m_range();
    if (m.min <= urgent.max && urgent.min <= m.max) return;
    MRange& all = served.emplace(operation_of(operation.plan.spec).size_pointer(), m).first->second;
    all = {std::min(all.min, m.min), std::max(all.max, m.max)};
  }
  std::vector<Problem> problems;
  problems.reserve(served.size());
  for (const auto& [pointer, all] : served) {
    problems.push_back({std::string(pointer), "--first has no number of tokens of any spec",
                        fmt::format("{} to {}", urgent.min, urgent.max),
                        fmt::format("from {} to {}", all.min, all.max), ""});
  }
  throw Error(ErrorCategory::kUsage, "tool.first", std::move(problems));
}

FirstSources first_sources(const std::vector<BuiltOperation>& operations, const MRange& urgent,
                           Runtime* runtime) {
  SourceList list;
  FirstSources first;
  for (const BuiltOperation& operation : operations) {
    const std::vector<Source> sources = render_all(operation.plan);
    std::vector<bool> is_first = kernels_for(operation.plan, urgent);
    const std::vector<BuildResult> found = runtime->find(sources);
    for (std::size_t i = 0; i < found.size(); ++i) is_first[i] = is_first[i] || found[i].hit;
    const std::optional<StandIn> made = add_stand_in(operation.plan, &is_first);
    if (made && made->general) {
      const std::size_t before = list.size();
      list.add(render(*made->general, 0));
      first.general += list.size() - before;
    }
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (is_first[i]) list.add(sources[i]);
    }
  }
  first.sources = list.take();
  return first;
}

Stopwatch::Stopwatch()
    : wall_begin_(milliseconds_of(CLOCK_MONOTONIC)),
      processor_begin_(milliseconds_of(CLOCK_PROCESS_CPUTIME_ID)) {}

double Stopwatch::wall_ms() const { return milliseconds_of(CLOCK_MONOTONIC) - wall_begin_; }

double Stopwatch::processor_ms() const {
  return milliseconds_of(CLOCK_PROCESS_CPUTIME_ID) - processor_begin_;
}

}  // namespace heddle
