// heddle size: the device memory that a model takes, from its config.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint_model.h"
#include "generator/kv/sequence_limits.h"
#include "heddle/error.h"
#include "heddle/model_size.h"
#include "heddle/runtime.h"
#include "tools/heddle/shared/commands.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/kv_option.h"
#include "tools/heddle/shared/model_input.h"
#include "tools/heddle/shared/options.h"
#include "tools/heddle/shared/output.h"
#include "tools/heddle/shared/pack_options.h"
#include "tools/heddle/shared/printable.h"
#include "tools/heddle/shared/table.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

constexpr const char* kUsualCache = "int8:head";

struct SizeOptions {
  std::string config;
  std::string kv;
  std::string target;
  ModelLoad load = {1, 8192};
  PackCommandOptions pack;
  bool json = false;
};

std::string gib(std::size_t bytes) {
  return fmt::format("{:.3f} GiB", static_cast<double>(bytes) / (std::size_t{1} << 30));
}

std::string number_text(std::int64_t number) { return fmt::format("{}", number); }
std::string bytes_text(std::size_t bytes) { return fmt::format("{}", bytes); }

std::string weights_table(const ModelSize& size) {
  Table table({{"WEIGHTS OF"},
               {"STORED AS"},
               {"LAYERS", Align::kRight},
               {"BYTES OF ONE", Align::kRight},
               {"BYTES", Align::kRight}});
  for (const ModelWeightSize& weights : size.weights) {
    table.add_row({weights.name, weights.weights + (weights.packed ? ", packed" : ""),
                   number_text(weights.count), bytes_text(weights.each),
                   bytes_text(weights.bytes)});
  }
  return table.text();
}

std::string caches_table(const ModelSize& size) {
  if (size.caches.empty()) return {};
  Table table({{"CACHE OF"},
               {"PAGES"},
               {"LAYERS", Align::kRight},
               {"BYTES OF ONE", Align::kRight},
               {"BYTES", Align::kRight}});
  for (const ModelCacheSize& cache : size.caches) {
    std::string name = cache.name;
    if (cache.window != 0) {
      name += fmt::format(", window of {} tokens", cache.window);
      // A contiguous cache gives nothing up.
      const bool gives_up = cache.each_in_window != cache.each;
      if (gives_up) name += fmt::format(" ({} bytes of one)", cache.each_in_window);
    }
    table.add_row({std::move(name), fmt::format("{} of {} tokens", cache.pages, cache.page_tokens),
                   number_text(cache.count), bytes_text(cache.each), bytes_text(cache.bytes)});
  }
  return "\n" + table.text();
}

std::string workspaces_table(const ModelSize& size) {
  if (size.workspaces.empty()) return {};
  Table table({{"WORKSPACE OF"}, {"BYTES", Align::kRight}});
  for (const ModelWorkspaceSize& workspace : size.workspaces) {
    table.add_row({workspace.name, bytes_text(workspace.bytes)});
  }
  return "\n" + table.text();
}

std::string size_text(const ModelSize& size) {
  std::string text = weights_table(size) + caches_table(size) + workspaces_table(size) + "\n";
  for (const std::string& what : size.assumptions) {
    text += fmt::format("assumed: {}\n", printable(what));
  }
  for (const ModelUncounted& one : size.uncounted) {
    text += fmt::format("not counted: {}: {}\n", printable(one.name), printable(one.reason));
  }
  return text + fmt::format("weights {}, cache {}, workspace {} (the largest): {} bytes, {}\n",
                            gib(size.weight_bytes), gib(size.cache_bytes),
                            gib(size.workspace_bytes), size.bytes, gib(size.bytes));
}

ordered_json size_json(const ModelSize& size, const SizeOptions& options, const Target& target) {
  auto weights = ordered_json::array();
  for (const ModelWeightSize& one : size.weights) {
    weights.push_back({{"name", one.name},
                       {"weights", one.weights},
                       {"packed", one.packed},
                       {"count", one.count},
                       {"each", one.each},
                       {"bytes", one.bytes}});
  }
  auto caches = ordered_json::array();
  for (const ModelCacheSize& one : size.caches) {
    caches.push_back({{"name", one.name},
                      {"count", one.count},
                      {"pages", one.pages},
                      {"page_tokens", one.page_tokens},
                      {"each", one.each},
                      {"bytes", one.bytes},
                      {"window", one.window},
                      {"each_in_window", one.each_in_window}});
  }
  auto workspaces = ordered_json::array();
  for (const ModelWorkspaceSize& one : size.workspaces) {
    workspaces.push_back({{"name", one.name}, {"bytes", one.bytes}});
  }
  auto uncounted = ordered_json::array();
  for (const ModelUncounted& one : size.uncounted) {
    uncounted.push_back({{"name", one.name}, {"reason", one.reason}});
  }
  return {{"target", target.name},
          {"batch", options.load.sequences},
          {"context", options.load.context},
          {"weights", std::move(weights)},
          {"caches", std::move(caches)},
          {"workspaces", std::move(workspaces)},
          {"uncounted", std::move(uncounted)},
          {"assumptions", size.assumptions},
          {"weight_bytes", size.weight_bytes},
          {"cache_bytes", size.cache_bytes},
          {"workspace_bytes", size.workspace_bytes},
          {"bytes", size.bytes}};
}

// With the operations on the cache.
Model read_whole_model(const SizeOptions& options, const PackCommandOptions& pack) {
  try {
    return read_model(options.config, options.kv.empty() ? kUsualCache : options.kv, pack);
  } catch (const Error& error) {
    if (error.code() != "tool.kv_needs_config") throw;
    throw Error(ErrorCategory::kUsage, "tool.size_needs_config",
                "heddle size is of a model: it takes a config.json, or a folder with one, which "
                "describes the cache");
  }
}

// The weights are those that the tensors show. What the config says of them is no part of the sums
// but for layers that have no tensor.
ModelSize size_of_tensors(Model model, const SizeOptions& options, const PackCommandOptions& pack,
                          const Target& target, const TunedTables& tables) {
  std::vector<ModelUncounted> missing;
  std::vector<ModelLayer> caches;
  for (ModelLayer& layer : model.layers) {
    if (layer.kind == ModelLayer::Kind::kAttention) {
      caches.push_back(std::move(layer));
    } else if (layer.weights == kMissingWeights) {
      missing.push_back({layer.name, layer.reason});
    }
  }
  model.layers = std::move(caches);
  model.hidden = 0;  // embeddings and norms are among the tensors
  ModelSize size = model_size(model, {}, target, options.load, tables);
  size.weights = sizes_of_tensors(options.config, pack);
  for (const ModelWeightSize& weights : size.weights) size.weight_bytes += weights.bytes;
  size.bytes += size.weight_bytes;
  size.uncounted.insert(size.uncounted.begin(), missing.begin(), missing.end());
  return size;
}

int run_size(const SizeOptions& options) {
  Runtime runtime(runtime_options({}));
  const Target target = choose_target(options.target, runtime);
  PackCommandOptions pack = options.pack;
  pack.request.arch = target.arch();
  // One rank's matrices do not tell which heads of the cache it has.
  const bool whole = pack.pack.parallel.size == 1 || !options.kv.empty();
  Model model = whole ? read_whole_model(options, pack) : read_model(options.config, pack);
  const TunedTables& tables = runtime.tuned_tables();
  ModelSize size = has_tensors(options.config)
                       ? size_of_tensors(std::move(model), options, pack, target, tables)
                       : model_size(model, {}, target, options.load, tables);
  if (!whole) {
    size.uncounted.push_back(
        {"the key-value cache",
         "which heads a rank has is the engine's choice; without --tp it is the whole model's"});
  }
  if (options.json) {
    print_json(size_json(size, options, target));
  } else {
    print(size_text(size));
  }
  return kExitDone;
}

}  // namespace

void add_size_command(CLI::App& app, Action* action) {
  auto options = std::make_shared<SizeOptions>();
  CLI::App* command =
      app.add_subcommand("size", "Tell how much device memory a model takes, from its config");
  command
      ->add_option("MODEL", options->config,
                   "a model's config.json, or its folder; - is a config on standard input")
      ->required();
  command->add_option("--batch", options->load.sequences, "sequences; default 1")
      ->type_name("B")
      ->check(CLI::Range(1, kMostSequences));
  command->add_option("--context", options->load.context, "tokens of each; default 8192")
      ->type_name("TOKENS")
      ->check(CLI::Range(std::int64_t{1}, kMostSequenceTokens));
  command
      ->add_option("--kv", options->kv,
                   "the key-value cache, as for heddle build; default int8:head")
      ->type_name("KV")
      ->check([](const std::string& text) { return text.empty() ? "is empty" : ""; });
  add_choice_options(*command, &options->pack);
  add_layer_options(*command, &options->pack);
  add_target_option(*command, &options->target);
  add_json_option(*command, &options->json);
  command->footer(
      "Weights are those of heddle repack with the same options, and all other tensors as the\n"
      "checkpoint has them; the cache has whole pages for every sequence; the workspace is the\n"
      "largest of any kernel, for steps of B tokens. Activations, the driver and the engine need\n"
      "memory beside.\n"
      "Of a config alone, what it cannot tell is assumed, and said; a folder with tensors tells.\n"
      "Example:\n"
      "  heddle size examples/models/llama-3-8b-awq/config.json --batch 8 --context 8192 \\\n"
      "      --kv int8:head --target h200");
  command->callback([=] { *action = [options] { return run_size(*options); }; });
}

}  // namespace heddle
