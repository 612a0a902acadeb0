// heddle targets: the names that --target takes, the GPU of this machine and the compiler at hand.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "heddle/error.h"
#include "heddle/runtime.h"
#include "heddle/target.h"
#include "runtime/compile/nvrtc.h"
#include "tools/heddle/cache/wheel_nvrtc.h"
#include "tools/heddle/shared/commands.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/machine_report.h"
#include "tools/heddle/shared/options.h"
#include "tools/heddle/shared/output.h"
#include "tools/heddle/shared/table.h"

namespace heddle {
namespace {

struct TargetsOptions {
  bool device = false;
  bool compiler = false;
  bool json = false;
};

std::string to_text(const std::vector<Target>& targets) {
  Table table({{"TARGET"},
               {"ARCH"},
               {"SMS", Align::kRight},
               {"SHARED/BLOCK", Align::kRight},
               {"L2", Align::kRight},
               {"MEMORY", Align::kRight}});
  for (const Target& target : targets) {
    table.add_row({target.name, compiler_arch(target), fmt::format("{}", target.sm_count),
                   fmt::format("{} KiB", target.shared_per_block / 1024),
                   fmt::format("{} MiB", target.l2_bytes >> 20),
                   fmt::format("{:.0f} GB/s", target.memory_gb_per_s)});
  }
  return table.text();
}

int run_device(const TargetsOptions& options) {
  Runtime runtime;
  std::string why_not;
  if (!runtime.has_device(&why_not)) {
    throw Error(ErrorCategory::kDriver, "tool.no_device", "no GPU here: " + why_not);
  }
  const Target device = runtime.device_target();
  if (options.json) {
    print_json({{"device", target_json(device)}});
  } else {
    print(fmt::format("{} ({}, {} SMs)\n", device.name, compiler_arch(device), device.sm_count));
  }
  return kExitDone;
}

int run_compiler(const TargetsOptions& options) {
  Nvrtc nvrtc(nvrtc_of_wheel());
  if (options.json) {
    print_json({{"compiler", compiler_json(&nvrtc)}});
  } else {
    print(compiler_text(&nvrtc) + "\n");
  }
  return kExitDone;
}

int run(const TargetsOptions& options) {
  if (options.device) return run_device(options);
  if (options.compiler) return run_compiler(options);
  const std::vector<Target> targets = known_targets();
  if (options.json) {
    auto list = nlohmann::ordered_json::array();
    for (const Target& target : targets) list.push_back(target_json(target));
    print_json({{"targets", list}});
  } else {
    print(to_text(targets));
  }
  return kExitDone;
}

}  // namespace

void add_targets_command(CLI::App& app, Action* action) {
  auto options = std::make_shared<TargetsOptions>();
  CLI::App* command = app.add_subcommand("targets", "List the GPUs and architectures by name");
  CLI::Option* device = command->add_flag(
      "--device", options->device, "only the GPU of this machine; exit code 1 if it has none");
  command
      ->add_flag(
          "--compiler", options->compiler,
          "only the NVRTC that compiles here: its version, its file and the architectures that "
          "it knows; exit code 1 if there is none")
      ->excludes(device);
  add_json_option(*command, &options->json);
  command->footer(
      "Example:\n"
      "  heddle targets\n"
      "  heddle targets --compiler");
  command->callback([=] { *action = [options] { return run(*options); }; });
}

}  // namespace heddle
