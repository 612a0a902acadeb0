#include "tools/heddle/shared/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>
#include <system_error>

#include "cache/cache_roots.h"
#include "cache/usable_roots.h"
#include "generator/operations/operation.h"
#include "heddle/error.h"
#include "runtime/log_threshold.h"
#include "tools/heddle/cache/wheel_nvrtc.h"
#include "tools/heddle/shared/errors.h"

namespace heddle {
namespace {

// CLI11's own check of positive numbers takes fractions and lets what no integer holds pass.
std::string count_problem(const std::string& text) {
  std::int64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error == std::errc{} && end == last && value > 0) return "";
  return fmt::format("takes whole numbers from 1 to {}, not \"{}\"",
                     std::numeric_limits<std::int64_t>::max(), text);
}

// The name of a check that lets all pass and marks the option.
constexpr const char* kMayBeEmpty = "may be empty";

bool may_be_empty(CLI::Option& option) {
  try {
    return option.get_validator(kMayBeEmpty) != nullptr;
  } catch (const CLI::OptionNotFound&) {
    return false;
  }
}

}  // namespace

void allow_empty_values(CLI::Option* option) {
  option->check(CLI::Validator([](std::string&) { return std::string(); }, "", kMayBeEmpty));
}

void refuse_empty_values(CLI::App& command) {
  const auto problem = [](const std::string& text) { return text.empty() ? "is empty" : ""; };
  for (CLI::Option* option : command.get_options()) {
    if (option->get_items_expected_max() > 0 && !may_be_empty(*option)) option->check(problem);
  }
  const auto all = [](const CLI::App* /*subcommand*/) { return true; };
  for (CLI::App* subcommand : command.get_subcommands(all)) refuse_empty_values(*subcommand);
}

void add_json_option(CLI::App& command, bool* json) {
  command.add_flag("--json", *json, "print one JSON document instead of text");
}

void add_target_option(CLI::App& command, std::string* target) {
  command
      .add_option("--target", *target,
                  "GPU or architecture to make kernels for, such as h200 or sm_80; without it, the "
                  "GPU of this machine (heddle targets lists the names)")
      ->type_name("NAME");
}

void add_device_target_option(CLI::App& command, std::string* target) {
  command
      .add_option("--target", *target,
                  "stop unless the GPU of this machine is of this target's architecture")
      ->type_name("NAME");
}

void add_baseline_option(CLI::App& command, std::string* baseline) {
  command.add_option("--baseline", *baseline, "also the 16-bit GEMM of this library")
      ->type_name("NAME")
      ->check(CLI::IsMember({"cublas"}));
}

void add_tuned_option(CLI::App& command, CompileOptions* options) {
  command
      .add_option("--tuned", options->tuned,
                  "files of tuned tables to plan with, as in first.json:second.json, or none; "
                  "default $HEDDLE_TUNED")
      ->type_name("LIST");
}

void add_cache_option(CLI::App& command, std::string* cache_dir) {
  command
      .add_option("--cache", *cache_dir,
                  "folder of compiled kernels, or layers as in rw:DIR:ro:DIR:ro:model.hdl; default "
                  "$HEDDLE_CACHE, $XDG_CACHE_HOME/heddle or ~/.cache/heddle")
      ->type_name("DIR");
}

void add_compile_options(CLI::App& command, CompileOptions* options) {
  add_cache_option(command, &options->cache_dir);
  command
      .add_option("--jobs", options->jobs,
                  "compilations at a time; default one per core, 8 at most")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  command.add_flag("--strict", options->strict,
                   "compile nothing; a kernel that the cache lacks is a failure");
}

CLI::Option* add_m_option(CLI::App& command, std::int64_t* m, const std::string& help) {
  return command.add_option("--m", *m, help)->type_name("M")->check(count_problem);
}

CLI::Option* add_m_list_option(CLI::App& command, std::vector<std::int64_t>* m,
                               const std::string& help) {
  return command.add_option("--m", *m, help)
      ->type_name("M,M...")
      ->delimiter(',')
      ->check(count_problem);
}

RuntimeOptions runtime_options(const CompileOptions& options) {
  if (!options.cache_dir.empty()) {
    expect_usable_roots(parse_cache_roots(options.cache_dir), !options.strict);
  }
  RuntimeOptions runtime;
  runtime.cache_dir = options.cache_dir;
  runtime.jobs = options.jobs;
  runtime.strict = options.strict;
  runtime.tuned_tables = options.tuned;
  runtime.nvrtc_dir = nvrtc_of_wheel();
  runtime.log = [threshold = log_threshold(LogThreshold::kWarning)](LogLevel level,
                                                                    std::string_view text) {
    if (is_told(level, threshold)) print_problem(one_line(text));
  };
  return runtime;
}

Target choose_target(const std::string& name, Runtime& runtime) {
  if (!name.empty()) return target_from_name(name);
  std::string why_not;
  if (!runtime.has_device(&why_not)) {
    throw Error(ErrorCategory::kDriver, "tool.no_device",
                fmt::format("no GPU to make kernels for ({}); name one with --target, for example "
                            "--target h200 or --target sm_80 (heddle targets lists them)",
                            why_not));
  }
  return runtime.device_target();
}

int arch_of_target(const std::string& name, Runtime& runtime) {
  return name.empty() && !runtime.has_device() ? 0 : choose_target(name, runtime).arch();
}

void check_m_option(const MRange& range, std::int64_t m) {
  if (m >= range.min && m <= range.max) return;
  throw Error(
      ErrorCategory::kUsage, "tool.m_out_of_range",
      fmt::format("--m {} is outside of what the spec serves, {} to {}", m, range.min, range.max));
}

void refuse_gemm_option(const char* name, const Spec& spec) {
  if (is_gemm(spec)) return;
  throw Error(ErrorCategory::kUsage, "tool.gemm_option",
              fmt::format("{} is of gemms, not of {}", name, to_string(spec.op())));
}

void refuse_m(const Spec& spec) {
  const bool has_loads = operation_of(spec).size_kind() == SizeKind::kSequenceTokens;
  throw Error(ErrorCategory::kUsage, "tool.m_unexpected",
              fmt::format("--m is of operations on M rows, the spec's operation is {}; {}",
                          to_string(spec.op()),
                          has_loads ? "its sizes are sequences and their tokens, which bench and "
                                      "explain take as --loads 64x8192"
                                    : "one kernel serves all its sizes"));
}

void check_m_list(const Spec& spec, const std::vector<std::int64_t>& m_list) {
  if (m_list.empty()) return;
  if (!spec.has_m()) refuse_m(spec);
  for (const std::int64_t m : m_list) check_m_option(spec.m_range(), m);
}

std::size_t kernel_of(const Plan& plan, std::int64_t m) {
  if (!plan.spec.has_m()) {
    if (m != 0) refuse_m(plan.spec);
    return 0;
  }
  const MRange range = plan.spec.m_range();
  if (m == 0) return plan.kernel_for(range.min);
  check_m_option(range, m);
  return plan.kernel_for(m);
}

}  // namespace heddle
