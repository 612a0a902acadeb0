// heddle render: the CUDA source of a spec's kernels, byte for byte what NVRTC gets.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "heddle/runtime.h"
#include "tools/heddle/build/build_report.h"
#include "tools/heddle/cache/unused_entries.h"
#include "tools/heddle/shared/commands.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/input.h"
#include "tools/heddle/shared/options.h"
#include "tools/heddle/shared/output.h"

namespace heddle {
namespace {

struct RenderOptions {
  std::string spec;
  std::string target;
  CompileOptions compile;  // --tuned alone
  std::int64_t m = 0;
  bool all = false;
  bool json = false;
};

nlohmann::ordered_json to_json(const Source& source, const Plan& plan, std::size_t kernel) {
  return {{"kernel", source.kernel_name}, {"file", source.file_name},
          {"arch", source.arch},          {"m", m_json(plan, kernel)},
          {"threads", source.threads},    {"dynamic_shared_bytes", source.dynamic_shared_bytes},
          {"text", source.text}};
}

int run(const RenderOptions& options) {
  Runtime runtime(runtime_options(options.compile));
  const Spec spec = read_spec(options.spec);
  const Plan plan = resolve(spec, choose_target(options.target, runtime), runtime.tuned_tables());
  std::vector<std::size_t> kernels;
  if (options.all) {
    for (std::size_t i = 0; i < plan.kernel_count(); ++i) kernels.push_back(i);
  } else {
    kernels.push_back(kernel_of(plan, options.m));
  }
  auto sources = nlohmann::ordered_json::array();
  for (const std::size_t kernel : kernels) {
    const Source source = render(plan, kernel);
    if (options.json) {
      sources.push_back(to_json(source, plan, kernel));
    } else {
      print_exact(source.text);
    }
  }
  if (options.json) print_json({{"sources", sources}});
  flush_output();
  print_unused(unused_entries(plan, runtime.tuned_tables()));
  return kExitDone;
}

}  // namespace

void add_render_command(CLI::App& app, Action* action) {
  auto options = std::make_shared<RenderOptions>();
  CLI::App* command = app.add_subcommand("render", "Print a kernel's CUDA source");
  command->add_option("SPEC", options->spec, kSpecHelp)->required();
  add_target_option(*command, &options->target);
  add_tuned_option(*command, &options->compile);
  CLI::Option* m = add_m_option(*command, &options->m,
                                "the kernel that serves this M; default the smallest of the spec");
  command->add_flag("--all", options->all, "every kernel of the spec, one after the other")
      ->excludes(m);
  add_json_option(*command, &options->json);
  command->footer(
      "What is printed for one kernel is byte for byte what the compiler gets.\n"
      "Example:\n"
      "  heddle render examples/specs/symmetric-g128.json --target h200 --m 64");
  command->callback([=] { *action = [options] { return run(*options); }; });
}

}  // namespace heddle
