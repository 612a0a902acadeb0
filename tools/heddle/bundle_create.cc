// heddle bundle create: the kernels of a model for several architectures in one file, made without
// a GPU.
#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cache/entry.h"
#include "generator/render/source_list.h"
#include "heddle/error.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "heddle/runtime.h"
#include "runtime/builder.h"
#include "runtime/bundled_tables.h"
#include "runtime/recorder.h"
#include "tools/heddle/bundle_parts.h"
#include "tools/heddle/commands.h"
#include "tools/heddle/errors.h"
#include "tools/heddle/input.h"
#include "tools/heddle/kv_option.h"
#include "tools/heddle/model_input.h"
#include "tools/heddle/model_remarks.h"
#include "tools/heddle/model_report.h"
#include "tools/heddle/progress.h"
#include "tools/heddle/unused_entries.h"

namespace heddle {
namespace {

// The kernels of one --specs that is no record. What is assumed of a model is told.
std::vector<ModelKernel> read_kernels(const std::string& argument, const std::string& kv,
                                      const PackCommandOptions& pack) {
  Model model = kv.empty() ? read_model(argument, pack) : read_model(argument, kv, pack);
  take_rows(&model);
  print_remarks(model);
  if (!model.unserved.empty()) {
    throw Error(
        ErrorCategory::kUnsupported, "tool.unserved",
        fmt::format("{}: the model needs kernels that cannot be made, so the bundle would not "
                    "be complete",
                    argument));
  }
  const ServedCount count = served_count(model);
  if (count.served < count.total) {
    print_problem(
        fmt::format("note: {} of {} layers of the model are served; heddle build --list "
                    "names the others",
                    count.served, count.total));
  }
  return std::move(model.kernels);
}

// What one --specs says, for the targets of the command line or else of a record.
std::vector<RecordedSpec> read_pairs(const std::string& argument, const std::string& kv,
                                     const PackCommandOptions& pack,
                                     const std::vector<Target>& targets) {
  // Standard input can be read only once.
  std::error_code none;
  if (argument != "-" && !argument.ends_with(".safetensors") &&
      !std::filesystem::is_directory(argument, none)) {
    const Input input = read_input(argument);
    if (is_record(input.text)) {
      if (!kv.empty()) {
        throw Error(ErrorCategory::kUsage, "tool.kv_needs_config",
                    fmt::format("--kv asks for the cache of a model: it takes a config.json, and "
                                "{} is a record",
                                argument));
      }
      std::vector<RecordedSpec> recorded;
      try {
        recorded = parse_record(input.text);
      } catch (const Error& error) {
        throw at_place(input.place, error);
      }
      if (targets.empty()) return recorded;
      std::vector<RecordedSpec> pairs;
      for (const RecordedSpec& each : recorded) {
        for (const Target& target : targets) pairs.push_back({each.spec, target});
      }
      return pairs;
    }
  }
  if (targets.empty()) {
    throw Error(ErrorCategory::kUsage, "tool.no_targets",
                fmt::format("{} is no record, which would name its targets; name them with "
                            "--targets, for example --targets h200,a100",
                            argument));
  }
  std::vector<RecordedSpec> pairs;
  for (const ModelKernel& kernel : read_kernels(argument, kv, pack)) {
    for (const Target& target : targets) pairs.push_back({kernel.spec, target});
  }
  return pairs;
}

// Sources, and for each the GPUs of the targets that it is rendered for.
struct PlannedSources {
  std::vector<Source> sources;
  std::vector<GpuNames> gpus;
};

// The sources of all pairs, each once. Throws Error(kUnsupported) with every pair that cannot be
// served: a bundle that lacks kernels is not written. `unused`: see unused_entries.h.
PlannedSources render_pairs(const std::vector<RecordedSpec>& pairs, const TunedTables& tables,
                            std::vector<std::string>* unused) {
  SourceList list;
  std::vector<GpuNames> gpus;
  std::vector<Problem> problems;
  for (const auto& [spec, target] : pairs) {
    try {
      const Plan plan = resolve(spec, target, tables);
      add_unused(plan, tables, pairs.size() == 1 ? "" : spec.name(), unused);
      for (Source& source : render_all(plan)) {
        const std::size_t place = list.add(std::move(source));
        gpus.resize(list.size());
        gpus[place].push_back(tuned_gpu(target));
      }
    } catch (const Error& error) {
      if (error.category() != ErrorCategory::kUnsupported) throw;
      const Error placed = at_place(target.name, error);
      problems.insert(problems.end(), placed.problems().begin(), placed.problems().end());
    }
  }
  if (!problems.empty()) {
    throw Error(ErrorCategory::kUnsupported, "tool.bundle_lacks_kernels", std::move(problems));
  }
  return {list.take(), std::move(gpus)};
}

BundleEntry entry_of(const Source& source, GpuNames gpus, Binary binary) {
  binary.compile_ms = 0;  // so that the bundle's bytes do not depend on the machine
  SerialKey key = serialize(cache_key(source, binary.compiler));
  return {std::move(key), std::move(binary), std::move(gpus)};
}

// A kernel of a bundle that was made without texts has none to give on, also where it was extracted
// to a folder.
void check_texts(const std::vector<BundleEntry>& entries) {
  std::vector<Problem> problems;
  for (const BundleEntry& entry : entries) {
    if (!entry.binary.ptx.empty()) continue;
    problems.push_back({"",
                        fmt::format("{} was found in the cache without its PTX: a bundle made with "
                                    "--no-source brought it there; write this one with "
                                    "--no-source, too, or compile with another --cache",
                                    entry.binary.kernel_name),
                        "", "", ""});
  }
  if (!problems.empty()) {
    throw Error(ErrorCategory::kMissing, "tool.no_ptx", std::move(problems));
  }
}

std::vector<BundleEntry> build_entries(Runtime* runtime, PlannedSources planned,
                                       bool show_progress) {
  Progress progress(show_progress);
  const auto built = runtime->build(
      planned.sources, [&](const BuildResult& result, std::size_t done, std::size_t total) {
        progress.show(fmt::format("[{}/{}] {}: {} in {:.0f} ms", done, total, result.kernel_name,
                                  result.hit ? "found" : "compiled", result.ms),
                      result.hit);
      });
  std::vector<BundleEntry> entries;
  for (std::size_t i = 0; i < built.size(); ++i) {
    entries.push_back(entry_of(planned.sources[i], std::move(planned.gpus[i]), *built[i].binary));
  }
  return entries;
}

}  // namespace

int create_bundle(const BundleCreateOptions& options) {
  check_bundle_name(options.output);
  std::vector<Target> targets;
  for (const std::string& name : options.targets) targets.push_back(target_from_name(name));
  std::vector<RecordedSpec> pairs;
  for (const std::string& argument : options.specs) {
    for (RecordedSpec& pair : read_pairs(argument, options.kv, options.pack, targets)) {
      pairs.push_back(std::move(pair));
    }
  }
  RuntimeOptions with_tables = runtime_options(options.compile);
  with_tables.tuned_tables = options.tuned;
  Runtime runtime(std::move(with_tables));
  std::vector<std::string> unused;
  PlannedSources sources = render_pairs(pairs, runtime.tuned_tables(), &unused);
  std::set<std::string> gpus;
  for (const auto& [spec, target] : pairs) gpus.insert(tuned_gpu(target));
  const TunedTables tables = tables_to_bundle(runtime.tuned_tables(), gpus);
  std::vector<BundleEntry> entries = build_entries(&runtime, std::move(sources), !options.json);
  if (!options.no_source) check_texts(entries);
  write_bundle(options.output, std::move(entries), tables,
               options.no_source ? BundleTexts::kWithout : BundleTexts::kWith, &unused,
               options.json);
  print_unused(unused);
  return kExitDone;
}

}  // namespace heddle
