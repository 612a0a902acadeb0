#include "tools/gpu_harness/harness.h"

#include <fmt/format.h>

#include <utility>

#include "generator/families/family.h"
#include "generator/spec/operation_list.h"
#include "heddle/error.h"
#include "heddle/inspect/plan.h"

namespace heddle {

// Each operation's folder defines its own.
#define HEDDLE_HARNESS(name) const Harness& name##_harness();
#define HEDDLE_NO_FAMILY(name)
HEDDLE_OPERATIONS(HEDDLE_HARNESS, HEDDLE_NO_FAMILY, HEDDLE_NO_FAMILY)
#undef HEDDLE_HARNESS

const Harness& harness_of(const Spec& spec) {
#define HEDDLE_HARNESS(name) &name##_harness(),
  static const Harness* const all[] = {
      HEDDLE_OPERATIONS(HEDDLE_HARNESS, HEDDLE_NO_FAMILY, HEDDLE_NO_FAMILY)};
#undef HEDDLE_HARNESS
#undef HEDDLE_NO_FAMILY
  return *all[static_cast<std::size_t>(spec.op())];
}

PlanTimes Harness::time_plans(Runtime& /*runtime*/, const std::vector<Plan>& /*plans*/,
                              const LaunchSize& /*size*/, const BenchOptions& /*options*/) const {
  throw Error(ErrorCategory::kInternal, "harness.candidates", "no kernel is chosen from several");
}

Cell word(std::string key, std::string heading, std::string text) {
  nlohmann::ordered_json value = text;
  return {std::move(key), std::move(heading), std::move(value), std::move(text), true};
}

Cell number(std::string key, std::string heading, nlohmann::ordered_json value, std::string text) {
  return {std::move(key), std::move(heading), std::move(value), std::move(text)};
}

Cell number(std::string key, std::string heading, double value, int digits) {
  return number(std::move(key), std::move(heading), value, fmt::format("{:.{}f}", value, digits));
}

Cell fact(std::string key, nlohmann::ordered_json value) {
  return {std::move(key), {}, std::move(value), {}};
}

void require_m(const MRange& range, const std::vector<std::int64_t>& m_list) {
  for (const std::int64_t m : m_list) {
    if (m >= range.min && m <= range.max) continue;
    throw Error(
        ErrorCategory::kUsage, "harness.m",
        fmt::format("M = {} is outside the spec's range [{}, {}]", m, range.min, range.max));
  }
  if (m_list.empty()) throw Error(ErrorCategory::kUsage, "harness.m", "no M is given");
}

std::vector<std::int64_t> m_list_of(const Plan& plan, const CheckOptions& options) {
  std::vector<std::int64_t> m_list = options.m;
  if (m_list.empty()) {
    for (const PlannedKernel& kernel : plan.kernels) m_list.push_back(kernel.size_min);
  }
  require_m(plan.spec.m_range(), m_list);
  return m_list;
}

Cells kernel_cells(const Check& check, const Plan& plan) {
  const PlannedKernel& kernel = plan.kernels[check.kernel];
  return {number("m", "M", check.m, fmt::format("{}", check.m)), fact("kernel", kernel.name),
          word("", "KERNEL FOR M", fmt::format("{}..{}", kernel.size_min, kernel.size_max)),
          word("", "TILE", kernel.family->tile_text(kernel))};
}

Cells byte_cells(const Check& check, const Plan& plan) {
  Cells cells = {
      word("kernel", "KERNEL", plan.kernels.front().name),
      number("bytes", "BYTES", check.compared, fmt::format("{}", check.compared)),
      number("mismatches", "MISMATCHES", check.mismatches, fmt::format("{}", check.mismatches))};
  if (check.mismatches != 0) cells.push_back(fact("first_mismatch", check.first_mismatch));
  return cells;
}

std::string mb_text(std::size_t bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes) * 1e-6);
}

Cells stream_cells(const Timing& timing) {
  return {
      number("us", "us", timing.us, 2),
      number("gb_per_s", "GB/s", timing.gb_per_s(), 0),
      number("read_bytes", "MB READ", timing.read_bytes, mb_text(timing.read_bytes)),
      number("written_bytes", "MB WRITTEN", timing.written_bytes, mb_text(timing.written_bytes)),
      number("stream_us", "STREAM us", timing.stream.us, 2),
      number("stream_ratio", "OF STREAM", timing.stream_ratio(),
             fmt::format("{:.1f} %", 100 * timing.stream_ratio()))};
}

std::string stream_legend(const Target& device) {
  return fmt::format("{}: STREAM is a plain copy of as many bytes in this run\n", device.name);
}

}  // namespace heddle
