// heddle bundle create: the kernels of a model for several architectures in one file, made without
// a GPU.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "generator/model/byte_activations.h"
#include "generator/model/layer_json.h"
#include "heddle/bundle.h"
#include "heddle/error.h"
#include "heddle/inspect/plan.h"
#include "heddle/runtime.h"
#include "runtime/recorder.h"
#include "runtime/tables/bundle_file.h"
#include "tools/heddle/build/model_report.h"
#include "tools/heddle/cache/bundle_parts.h"
#include "tools/heddle/cache/unused_entries.h"
#include "tools/heddle/shared/commands.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/input.h"
#include "tools/heddle/shared/kv_option.h"
#include "tools/heddle/shared/model_input.h"
#include "tools/heddle/shared/model_remarks.h"
#include "tools/heddle/shared/progress.h"

namespace heddle {
namespace {

// The kernels of one --specs that is no record, on one architecture. What is assumed of a model is
// told.
Model read_kernels(const std::string& argument, const std::string& kv, PackCommandOptions pack,
                   const Target& target) {
  pack.request.arch = target.arch();
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
  return model;
}

// Whether the target has kernels of all its gemms with activations of 8 bits.
bool takes_bytes_of(const Model& model, const Target& target) {
  return std::all_of(model.kernels.begin(), model.kernels.end(), [&](const ModelKernel& kernel) {
    const auto* gemm = kernel.spec.get_if<GemmSpec>();
    return gemm == nullptr || !gemm->has_byte_activations() || takes_bytes(target, *gemm);
  });
}

void add_pairs(const Model& model, const std::vector<Target>& targets,
               std::vector<BundleRequest>* pairs) {
  for (const ModelKernel& kernel : model.kernels) {
    for (const Target& target : targets) pairs->push_back({kernel.spec, target});
  }
}

// The model as the target with the most kernels of 8-bit activations takes it; targets that lack
// some of these then get it as they take it.
std::vector<BundleRequest> pairs_of_model(const std::string& argument, const std::string& kv,
                                          const PackCommandOptions& pack,
                                          const std::vector<Target>& targets) {
  const auto has_fewer = [](const Target& a, const Target& b) {
    return rank_by_bytes(a) < rank_by_bytes(b);
  };
  const Target& first = *std::max_element(targets.begin(), targets.end(), has_fewer);
  const Model model = read_kernels(argument, kv, pack, first);
  const auto takes_model = [&](const Target& target) {
    return model.layers.empty() || rank_by_bytes(target) == rank_by_bytes(first) ||
           takes_bytes_of(model, target);
  };
  std::vector<Target> with;
  std::map<int, std::vector<Target>> without;  // by rank
  for (const Target& target : targets) {
    (takes_model(target) ? with : without[rank_by_bytes(target)]).push_back(target);
  }
  std::vector<BundleRequest> pairs;
  add_pairs(model, with, &pairs);
  for (const auto& [rank, others] : without) {
    if (argument == "-") {
      throw Error(ErrorCategory::kUsage, "tool.targets_differ",
                  fmt::format("{} has no kernels of some 8-bit activations and {} has: the model "
                              "is read for each, which standard input cannot be; give a file, or "
                              "--activations 16",
                              others.front().name, first.name));
    }
    add_pairs(read_kernels(argument, kv, pack, others.front()), others, &pairs);
  }
  return pairs;
}

// What one --specs says, for the targets of the command line or else of a record.
std::vector<BundleRequest> read_pairs(const std::string& argument, const std::string& kv,
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
      std::vector<BundleRequest> pairs;
      for (const RecordedSpec& each : recorded) {
        if (targets.empty()) pairs.push_back({each.spec, each.target});
        for (const Target& target : targets) pairs.push_back({each.spec, target});
      }
      return pairs;
    }
  }
  if (targets.empty()) {
    if (argument != "-") read_model(argument, pack);  // what is no input at all is told first
    throw Error(ErrorCategory::kUsage, "tool.no_targets",
                fmt::format("{} is no record, which would name its targets; name them with "
                            "--targets, for example --targets h200,a100",
                            argument));
  }
  return pairs_of_model(argument, kv, pack, targets);
}

// What the tuned tables have for the pairs and these cannot use. What cannot be served at all is
// left to write_bundle(), which names all of it.
std::vector<std::string> unused_of(const std::vector<BundleRequest>& pairs,
                                   const TunedTables& tables) {
  std::vector<std::string> unused;
  for (const auto& [spec, target] : pairs) {
    try {
      add_unused(resolve(spec, target, tables), tables, pairs.size() == 1 ? "" : spec.name(),
                 &unused);
    } catch (const Error& error) {
      if (error.category() != ErrorCategory::kUnsupported) throw;
    }
  }
  return unused;
}

}  // namespace

int create_bundle(const BundleCreateOptions& options) {
  check_bundle_name(options.output);
  std::vector<Target> targets;
  for (const std::string& name : options.targets) targets.push_back(target_from_name(name));
  std::vector<BundleRequest> pairs;
  for (const std::string& argument : options.specs) {
    for (BundleRequest& pair : read_pairs(argument, options.kv, options.pack, targets)) {
      pairs.push_back(std::move(pair));
    }
  }
  Runtime runtime(runtime_options(options.compile));
  const std::vector<std::string> unused = unused_of(pairs, runtime.tuned_tables());
  Progress progress(!options.json);
  const BundleReport report = write_bundle(
      runtime, options.output, pairs, !options.no_source,
      [&](const BuildResult& result, std::size_t done, std::size_t total) {
        progress.show(fmt::format("[{}/{}] {}: {} in {:.0f} ms", done, total, result.kernel_name,
                                  result.hit ? "found" : "compiled", result.ms),
                      result.hit);
        return true;
      });
  print_written(options.output, report, &unused, options.json);
  print_unused(unused);
  return kExitDone;
}

}  // namespace heddle
