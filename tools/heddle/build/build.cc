// heddle build: every kernel that a model needs, compiled or found in the cache, in a table.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "generator/model/layer_json.h"
#include "generator/model/model_json.h"
#include "generator/render/source_list.h"
#include "generator/spec/error_place.h"
#include "heddle/error.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "heddle/model.h"
#include "heddle/runtime.h"
#include "tools/heddle/build/build_first.h"
#include "tools/heddle/build/build_report.h"
#include "tools/heddle/build/model_report.h"
#include "tools/heddle/build/record_plans.h"
#include "tools/heddle/cache/unused_entries.h"
#include "tools/heddle/run/device_check.h"
#include "tools/heddle/shared/commands.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/kv_option.h"
#include "tools/heddle/shared/model_input.h"
#include "tools/heddle/shared/model_remarks.h"
#include "tools/heddle/shared/options.h"
#include "tools/heddle/shared/output.h"
#include "tools/heddle/shared/pack_options.h"
#include "tools/heddle/shared/printable.h"
#include "tools/heddle/shared/progress.h"

namespace heddle {
namespace {

struct BuildOptions {
  std::string config;
  std::string kv;
  std::string target;
  std::optional<std::string> first;
  CompileOptions compile;
  PackCommandOptions pack;
  bool print_specs = false;
  bool list = false;
  bool all = false;
  bool json = false;
};

// The names that the table shows: the spec's own, else its operation, with a number among several.
std::string operation_name(const Model& model, std::size_t index) {
  const Spec& spec = model.kernels[index].spec;
  if (!spec.name().empty()) return spec.name();
  const std::string op(to_string(spec.op()));
  return model.kernels.size() == 1 ? op : fmt::format("{}[{}]", op, index);
}

// A list that `heddle build` takes as its input, one spec to a line.
void print_specs(const Model& model) {
  std::string text = "[";
  for (std::size_t i = 0; i < model.kernels.size(); ++i) {
    text += fmt::format("{}\n  {}", i == 0 ? "" : ",", spec_line(model.kernels[i].spec));
  }
  print(text + "\n]\n");
}

// The layers of the kernel have none on this target.
void take_kernel(std::size_t kernel, const std::vector<std::string>& reasons, Model* model) {
  std::string reason;
  for (const std::string& one : reasons) reason += (reason.empty() ? "" : "; ") + one;
  for (ModelLayer& layer : model->layers) {
    if (layer.kernel != static_cast<int>(kernel)) continue;
    layer.kernel = -1;
    layer.reason = reason;
  }
}

void resolve_operations(const TunedTables& tables, Build* build) {
  const Model& model = build->model;
  for (const ModelUnserved& unserved : model.unserved) {
    build->unserved.push_back({unserved_name(unserved), {unserved.reason}});
  }
  for (std::size_t i = 0; i < model.kernels.size(); ++i) {
    std::string name = operation_name(model, i);
    try {
      Plan plan = resolve(model.kernels[i].spec, build->target, tables);
      add_unused(plan, tables, model.kernels.size() == 1 ? "" : name, &build->unused);
      build->operations.push_back({std::move(name), std::move(plan), {}, {}});
    } catch (const Error& error) {
      if (error.category() != ErrorCategory::kUnsupported) throw at_place(name, error);
      build->unserved.push_back({name, problem_lines(error, name)});
      take_kernel(i, build->unserved.back().reasons, &build->model);
    }
  }
}

void record_specs(const Build& build, const CompileOptions& options) {
  std::vector<const Plan*> plans;
  plans.reserve(build.operations.size());
  for (const BuiltOperation& operation : build.operations) plans.push_back(&operation.plan);
  record_plans(plans, options);
}

std::vector<Source> render_operations(Build* build) {
  SourceList list;
  for (BuiltOperation& operation : build->operations) {
    for (Source& source : render_all(operation.plan)) {
      operation.results.push_back(list.add(std::move(source)));
    }
  }
  return list.take();
}

std::vector<BuildResult> make(const std::vector<Source>& sources, Runtime* runtime,
                              Progress* progress) {
  progress->show(count_text(sources.size(), "kernel") + " to make or find", true);
  return runtime->build(
      sources, [&](const BuildResult& result, std::size_t done, std::size_t total) {
        progress->show(fmt::format("[{}/{}] {}: {} in {:.0f} ms", done, total, result.kernel_name,
                                   result.hit ? "found" : "compiled", result.ms),
                       result.hit);
      });
}

// Makes the urgent kernels. Returns what it compiled, by key: what comes later finds these in the
// cache, but the report shows them as compiled.
std::map<std::string, BuildResult> make_first(const MRange& urgent, const Stopwatch& since,
                                              Runtime* runtime, Progress* progress, Build* build) {
  const FirstSources first = first_sources(build->operations, urgent, runtime);
  std::map<std::string, BuildResult> compiled;
  for (BuildResult& result : make(first.sources, runtime, progress)) {
    if (!result.hit) compiled.emplace(result.key, std::move(result));
  }
  build->first = FirstBuild{urgent,          first.sources.size(), first.general,
                            compiled.size(), since.wall_ms(),      since.processor_ms()};
  progress->keep(first_text(*build->first));
  return compiled;
}

void compile(const BuildOptions& options, const Stopwatch& since, Runtime* runtime, Build* build) {
  const std::vector<Source> sources = render_operations(build);
  Progress progress(!options.json);
  std::map<std::string, BuildResult> compiled;
  // In strict mode nothing is made, and all that is missing is told at once.
  if (options.first && !options.compile.strict && !options.list) {
    compiled = make_first(parse_first(*options.first), since, runtime, &progress, build);
  }
  build->results = make(sources, runtime, &progress);
  for (BuildResult& result : build->results) {
    const auto found = compiled.find(result.key);
    if (found != compiled.end()) result = found->second;
  }
}

// Names each reason of each operation that has no kernel, up to a number that a person reads.
void report_unserved(const std::vector<UnservedOperation>& unserved) {
  constexpr std::size_t kMostLines = 50;
  std::size_t lines = 0;
  for (const UnservedOperation& operation : unserved) {
    for (const std::string& reason : operation.reasons) {
      if (lines++ >= kMostLines) continue;
      print_problem(fmt::format("no kernel for {}: {}", operation.name, reason));
    }
  }
  if (lines > kMostLines) print_problem(fmt::format("and {} more problems", lines - kMostLines));
}

// The command is there to fill a cache: kernels that are in memory alone are lost with it.
int report_unstored(const std::vector<BuildResult>& results) {
  const auto lost = std::count_if(results.begin(), results.end(),
                                  [](const BuildResult& result) { return !result.stored; });
  if (lost == 0) return kExitDone;
  print_problem(fmt::format("{} of {} kernels were compiled but not stored in a cache", lost,
                            results.size()));
  return kExitFailed;
}

// What a list of specs names must all be made. Of a model everything that has no kernel is listed,
// and is a failure on request alone.
bool is_enough(const BuildOptions& options, const Model& model, bool all_served) {
  if (model.layers.empty()) return all_served;
  const ServedCount count = served_count(model);
  return !options.all || count.served == count.total;
}

// Prints what could not be served, was not stored or came out wrong; returns the exit code.
int report_failures(const BuildOptions& options, const Build& build) {
  const bool enough = is_enough(options, build.model, build.unserved.empty());
  int code = enough ? kExitDone : kExitFailed;
  report_unserved(build.unserved);
  if (report_unstored(build.results) != kExitDone) code = kExitFailed;
  for (const BuiltOperation& operation : build.operations) {
    for (const KernelCheck& check : operation.checks) {
      if (check.fault.empty()) continue;
      code = kExitFailed;
      const std::string where = check.m == 0 ? "" : fmt::format(", M = {}", check.m);
      print_problem(fmt::format("{}{}: {}", operation.name, where, check.fault));
    }
  }
  return code;
}

Model read_input_model(const BuildOptions& options, int arch) {
  PackCommandOptions pack = options.pack;
  pack.request.arch = arch;
  Model model = options.kv.empty() ? read_model(options.config, pack)
                                   : read_model(options.config, options.kv, pack);
  take_rows(&model);
  return model;
}

int build_model(const BuildOptions& options, Runtime& runtime, Model model) {
  const Stopwatch since;
  Build build;
  build.target = choose_target(options.target, runtime);
  build.model = std::move(model);
  resolve_operations(runtime.tuned_tables(), &build);
  if (options.first) check_first(build.operations, parse_first(*options.first));
  build.listed = options.list;
  if (options.list) build.operations.clear();
  const bool on_device = options.target.empty() && !options.list;
  if (!on_device) record_specs(build, options.compile);  // else the runtime does
  compile(options, since, &runtime, &build);
  build.total_ms = since.wall_ms();
  build.processor_ms = since.processor_ms();
  if (on_device) check_on_device(&runtime, !options.json, &build);

  if (options.json) {
    print_json(build_json(build));
  } else {
    print(build_text(build));
  }
  flush_output();
  print_unused(build.unused);
  return report_failures(options, build);
}

int run(const BuildOptions& options) {
  if (options.print_specs) {
    const int arch = options.target.empty() ? 0 : target_from_name(options.target).arch();
    const Model model = read_input_model(options, arch);
    print_specs(model);
    flush_output();
    print_remarks(model);
    return is_enough(options, model, model.unserved.empty()) ? kExitDone : kExitFailed;
  }
  if (options.first) parse_first(*options.first);  // refused before anything is made
  Runtime runtime(runtime_options(options.compile));
  Model model = read_input_model(options, arch_of_target(options.target, runtime));
  if (options.list && model.layers.empty()) {
    throw Error(
        ErrorCategory::kUsage, "tool.list_needs_model",
        "--list lists the layers of a model: it takes a config.json or a folder, not specs");
  }
  try {
    return build_model(options, runtime,
                       model);  // a copy: the error below tells of the whole model
  } catch (const Error&) {
    print_remarks(model);  // what was assumed may be what is wrong
    throw;
  }
}

}  // namespace

void add_build_command(CLI::App& app, Action* action) {
  auto options = std::make_shared<BuildOptions>();
  CLI::App* command = app.add_subcommand("build", "Compile every kernel that a model needs");
  command->add_option("MODEL", options->config, kModelHelp)->required();
  add_kv_option(*command, &options->kv);
  add_choice_options(*command, &options->pack);
  add_layer_options(*command, &options->pack);
  add_target_option(*command, &options->target);
  add_first_option(*command, &options->first);
  add_tuned_option(*command, &options->compile);
  add_compile_options(*command, &options->compile);
  command->add_flag("--print-specs", options->print_specs,
                    "only print the specs of the model's kernels, as a list that build takes");
  command->add_flag("--list", options->list,
                    "only list the model's layers and what serves each; nothing is compiled");
  command->add_flag("--all", options->all, "exit code 1 if a layer of the model has no kernel");
  add_json_option(*command, &options->json);
  command->footer(
      "A folder with tensors gives exactly the specs that heddle repack writes for it, and what "
      "makes\n"
      "activations of 8 bits where layers take them; of a config alone, what it cannot tell is\n"
      "assumed, and said.\n"
      "Every layer of a model is listed, with what serves it or why nothing does; --all makes the\n"
      "exit code 1 if a layer has no kernel. Of a list of specs it is 1 if one cannot be served.\n"
      "TILE is tokens x rows x depth, then stages (s) and split-K (k).\n"
      "The exit code is 1, too, where a compiled kernel could not be stored in the cache, and 2 "
      "where\n"
      "--cache names one that cannot be used.\n"
      "Without --target each kernel is also run on the GPU and checked.\n"
      "--first 1-16 makes what a runtime that prepares these M first waits for before all else; "
      "an\n"
      "engine may start when the command says that it is there.\n"
      "Example:\n"
      "  heddle build examples/models/llama-3-8b-awq/config.json --target h200\n"
      "  heddle build config.json --kv int8:head");
  command->callback([=] { *action = [options] { return run(*options); }; });
}

}  // namespace heddle
