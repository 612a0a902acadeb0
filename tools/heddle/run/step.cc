#include "tools/heddle/run/step.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "heddle/error.h"
#include "heddle/runtime.h"
#include "tools/gpu_harness/step/step_bench.h"
#include "tools/heddle/run/device_check.h"
#include "tools/heddle/run/step_report.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/kv_option.h"
#include "tools/heddle/shared/model_input.h"
#include "tools/heddle/shared/output.h"
#include "tools/heddle/shared/progress.h"

namespace heddle {

CLI::Option* add_step_options(CLI::App& command, StepOptions* options) {
  CLI::Option* step = command.add_flag(
      "--step", options->step,
      "of a model's config: a whole decode step, one new token of each sequence from the first "
      "norm to the logits, in one CUDA graph, with random weights of all layers");
  command
      .add_option("--batch", options->batches, "of a step: numbers of sequences; default 1,8,64")
      ->type_name("B,B...")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->needs(step);
  command
      .add_option("--context", options->context,
                  "of a step: tokens of each sequence, the new one among them; default 1024")
      ->type_name("TOKENS")
      ->check(CLI::Range(1, 1 << 20))
      ->needs(step);
  command
      .add_option("--kv", options->kv,
                  "of a step: the key-value cache, as for heddle build; default int8:head")
      ->type_name("KV")
      ->check([](const std::string& text) { return text.empty() ? "is empty" : ""; })
      ->needs(step);
  command
      .add_flag("--gated", options->gated,
                "of a step: kernels of gate_up_proj also do activation(gate) * up")
      ->needs(step);
  command
      .add_option("--layers", options->layers,
                  "of a step: only so many of the first decoder layers, for a quick look")
      ->type_name("N")
      ->check(CLI::Range(1, 100000))
      ->needs(step);
  return step;
}

namespace {

// With kernels for every dense layer, and for the cache.
Model read_step_model(const StepOptions& options, const std::string& input) {
  const auto refused = [](const char* what) {
    return Error(ErrorCategory::kUsage, "tool.step_needs_config",
                 std::string("--step is of a model's config.json alone, whose weights it makes up: "
                             "it takes neither specs nor tensors, ") +
                     what);
  };
  if (has_tensors(input)) throw refused("which this place has; give it the config.json there");
  PackCommandOptions pack;
  pack.pack.dense = true;
  pack.pack.gated = options.gated;
  pack.request.activation_bits = 16;  // a step has no launches that make 8 bits
  try {
    return read_model(input, options.kv, pack);
  } catch (const Error& error) {
    if (error.code() != "tool.kv_needs_config") throw;
    throw refused("and this is no config");
  }
}

}  // namespace

int bench_step(const StepOptions& options, const StepRun& run) {
  const Model model = read_step_model(options, run.input);
  DecodeStep step = decode_step(model, options.layers);
  step.notes.insert(step.notes.end(), model.notes.begin(), model.notes.end());
  for (const std::string& what : model.assumptions) step.notes.push_back("assumed: " + what);
  step.notes.push_back("the key-value cache is " + options.kv);
  std::vector<StepLoad> loads;
  for (const int batch : options.batches) loads.push_back({batch, options.context});
  Runtime runtime(runtime_options(run.compile));
  require_device(&runtime, run.target);
  StepBenchReport report;
  {
    Progress progress(true);
    StepBenchOptions bench;
    bench.budget = run.budget;
    bench.on_build = [&](const BuildResult& built, std::size_t done, std::size_t total) {
      progress.show(fmt::format("[{}/{}] {}", done, total, built.kernel_name), true);
      return true;
    };
    bench.on_kernel = [&](std::size_t load, std::size_t kernel) {
      progress.show(
          fmt::format("batch {}: timing {}", loads[load].sequences, step.kernels[kernel].name()),
          true);
    };
    report = bench_step(runtime, step, loads, bench);
  }
  if (run.json) {
    print_json(step_json(report, step));
  } else {
    print(step_text(report, step));
  }
  return kExitDone;
}

}  // namespace heddle
