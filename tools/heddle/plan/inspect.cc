// heddle inspect: what the compiler made of a spec: PTX, and counts of what matters in it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "generator/operations/kernel_argument.h"
#include "heddle/error.h"
#include "heddle/inspect/binary.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "heddle/runtime.h"
#include "runtime/compile/ptx_summary.h"
#include "tools/heddle/build/build_report.h"
#include "tools/heddle/build/record_plans.h"
#include "tools/heddle/cache/unused_entries.h"
#include "tools/heddle/shared/commands.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/input.h"
#include "tools/heddle/shared/options.h"
#include "tools/heddle/shared/output.h"
#include "tools/heddle/shared/printable.h"

namespace heddle {
namespace {

struct InspectOptions {
  std::string spec;
  std::string target;
  CompileOptions compile;
  std::int64_t m = 0;
  bool ptx = false;
  bool json = false;
};

struct Inspected {
  const Plan& plan;
  std::size_t index;  // of the kernel in the plan
  const BuildResult& result;
  PtxSummary summary;
};

bool serves_any_shape(const Inspected& kernel) {
  return kernel.plan.kernel(kernel.index).takes(KernelArgument::kShape);
}

// The M of a kernel that takes every N, K and M are those that this spec launches it with.
std::string m_of_kernel(const Inspected& kernel) {
  const std::string m = "M " + m_text(kernel.plan, kernel.index);
  return serves_any_shape(kernel) ? "any N, K and M, here for " + m : m;
}

nlohmann::ordered_json to_json(const Inspected& kernel, bool with_ptx) {
  const Binary& binary = *kernel.result.binary;
  nlohmann::ordered_json json = {{"kernel", binary.kernel_name},
                                 {"key", kernel.result.key},
                                 {"arch", binary.arch},
                                 {"compiler", binary.compiler},
                                 {"m", m_json(kernel.plan, kernel.index)},
                                 {"any_shape", serves_any_shape(kernel)},
                                 {"threads", binary.threads},
                                 {"registers", binary.registers},
                                 {"spill_bytes", binary.spill_bytes},
                                 {"local_bytes", binary.local_bytes},
                                 {"static_shared_bytes", binary.static_shared_bytes},
                                 {"dynamic_shared_bytes", binary.dynamic_shared_bytes},
                                 {"cubin_bytes", binary.cubin.size()},
                                 {"compile_ms", binary.compile_ms},
                                 {"instructions", kernel.summary.instructions},
                                 {"counts", kernel.summary.counts},
                                 {"memory", kernel.summary.memory}};
  if (with_ptx) json["ptx"] = binary.ptx.str();
  return json;
}

void add_counts(const char* title, const std::map<std::string, int>& counts,
                std::vector<std::string>* lines) {
  lines->push_back(title);
  for (const auto& [name, count] : counts)
    lines->push_back(fmt::format("  {:<16}{:>6}", name, count));
}

std::vector<std::string> to_lines(const Inspected& kernel) {
  const Binary& binary = *kernel.result.binary;
  std::vector<std::string> lines = {
      binary.kernel_name,
      fmt::format("{}, {}, tile {}", binary.arch, m_of_kernel(kernel),
                  tile_text(kernel.plan, kernel.index)),
      fmt::format("threads per block {:>6}", binary.threads),
      fmt::format("registers         {:>6}", binary.registers),
      fmt::format("spilled bytes     {:>6}", binary.spill_bytes),
      fmt::format("stack bytes       {:>6}", binary.local_bytes),
      fmt::format("shared memory     {:>6} static, {} dynamic", binary.static_shared_bytes,
                  binary.dynamic_shared_bytes),
      fmt::format("cubin bytes       {:>6}", binary.cubin.size()),
      fmt::format("PTX instructions  {:>6}", kernel.summary.instructions)};
  add_counts("instructions by kind", kernel.summary.counts, &lines);
  add_counts("memory by width in bits", kernel.summary.memory, &lines);
  return lines;
}

// With the PTX, the summary stands in comments, so that all of the output is still PTX.
void print_text(const Inspected& kernel, bool with_ptx) {
  for (const std::string& line : to_lines(kernel)) {
    print(fmt::format("{}{}\n", with_ptx ? "// " : "", printable(line)));
  }
  print_exact(with_ptx ? "\n" + kernel.result.binary->ptx.str() + "\n" : "\n");
}

std::vector<std::size_t> wanted_kernels(const Plan& plan, std::int64_t m) {
  if (m != 0) return {kernel_of(plan, m)};
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < plan.kernel_count(); ++i) all.push_back(i);
  return all;
}

// All counts come from the PTX, which a bundle may leave out.
void check_ptx(const std::vector<BuildResult>& results) {
  std::vector<Problem> problems;
  for (const BuildResult& result : results) {
    if (!result.binary->ptx.empty()) continue;
    problems.push_back({"",
                        fmt::format("{} was found in the cache without its PTX: a bundle made with "
                                    "--no-source brought it there; to compile it, name another "
                                    "--cache",
                                    result.kernel_name),
                        "", "", ""});
  }
  if (problems.empty()) return;
  throw Error(ErrorCategory::kMissing, "tool.no_ptx", std::move(problems));
}

int run(const InspectOptions& options) {
  Runtime runtime(runtime_options(options.compile));
  const Spec spec = read_spec(options.spec);
  const Plan plan = resolve(spec, choose_target(options.target, runtime), runtime.tuned_tables());
  const std::vector<std::size_t> wanted = wanted_kernels(plan, options.m);
  std::vector<Source> sources;
  sources.reserve(wanted.size());
  for (const std::size_t kernel : wanted) sources.push_back(render(plan, kernel));
  record_plans({&plan}, options.compile);
  const std::vector<BuildResult> results = runtime.build(sources);

  check_ptx(results);

  auto kernels = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Inspected kernel{plan, wanted[i], results[i], summarize_ptx(results[i].binary->ptx)};
    if (options.json) {
      kernels.push_back(to_json(kernel, options.ptx));
    } else {
      print_text(kernel, options.ptx);
    }
  }
  if (options.json) print_json({{"kernels", kernels}});
  flush_output();
  print_unused(unused_entries(plan, runtime.tuned_tables()));
  return kExitDone;
}

}  // namespace

void add_inspect_command(CLI::App& app, Action* action) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command =
      app.add_subcommand("inspect", "Show what the compiler made: registers, PTX, instructions");
  command->add_option("SPEC", options->spec, kSpecHelp)->required();
  add_target_option(*command, &options->target);
  add_tuned_option(*command, &options->compile);
  add_compile_options(*command, &options->compile);
  add_m_option(*command, &options->m, "only the kernel that serves this M; default all");
  command->add_flag("--ptx", options->ptx, "print the PTX too, with the summary in comments");
  add_json_option(*command, &options->json);
  command->footer(
      "Example:\n"
      "  heddle inspect examples/specs/symmetric-g128.json --target h200 --m 1 --ptx");
  command->callback([=] { *action = [options] { return run(*options); }; });
}

}  // namespace heddle
