#include "tools/heddle/shared/model_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "checkpoint/checkpoint_model.h"
#include "checkpoint/files/checkpoint.h"
#include "checkpoint/files/safetensors.h"
#include "checkpoint/files/unread_file.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/output/packed_checkpoint.h"
#include "checkpoint/output/packed_file.h"
#include "heddle/error.h"
#include "heddle/spec.h"
#include "tools/heddle/plan/weight_sizes.h"
#include "tools/heddle/shared/config_files.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/input.h"
#include "tools/heddle/shared/kv_option.h"
#include "tools/heddle/shared/spec_list.h"

namespace heddle {
namespace {

using nlohmann::json;

// Whether the text is a JSON object with a member that only a spec has. A text that is no JSON at
// all is left to the config reader, which says what is wrong with it.
bool is_spec(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  return document.is_object() && (document.contains("heddle") || document.contains("op"));
}

// A hint names places in the document that holds the block as its member "kv"; others than those
// inside of it are none of the block's.
std::string hint_in_block(const std::string& hint) {
  constexpr std::string_view kBelongs = "it belongs at ";
  constexpr std::string_view kBlock = "/kv";
  constexpr std::string_view kOr = " or ";
  const std::size_t at = hint.find(kBelongs);
  if (at == std::string::npos) return hint;
  std::string places;
  std::string_view rest = std::string_view(hint).substr(at + kBelongs.size());
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(kOr), rest.size());
    const std::string_view place = rest.substr(0, end);
    rest.remove_prefix(std::min(end + kOr.size(), rest.size()));
    if (!place.starts_with("/kv/")) continue;
    places += (places.empty() ? std::string(kBelongs) : std::string(kOr));
    places += place.substr(kBlock.size());
  }
  std::string inside = hint.substr(0, at) + places;
  while (inside.ends_with(' ')) inside.pop_back();
  return inside;
}

// What is wrong with K and V alike is said once, of the block.
std::vector<Problem> joined_tensors(std::vector<Problem> problems) {
  constexpr std::string_view kK = "/kv/k/";
  constexpr std::string_view kV = "/kv/v/";
  for (std::size_t i = 0; i < problems.size(); ++i) {
    Problem& of_k = problems[i];
    if (!of_k.pointer.starts_with(kK)) continue;
    const std::string field = of_k.pointer.substr(kK.size());
    const auto of_v = std::find_if(problems.begin(), problems.end(), [&](const Problem& other) {
      return other.pointer == std::string(kV) + field && other.message == of_k.message &&
             other.value == of_k.value && other.allowed == of_k.allowed;
    });
    if (of_v == problems.end()) continue;
    of_k.pointer = "/kv/" + field;
    problems.erase(of_v);  // behind K's
  }
  return problems;
}

// The block stands in the config as its member "kv".
Error of_option_or_config(const std::string& place, const Error& error) {
  std::vector<Problem> problems;
  for (Problem problem : joined_tensors(error.problems())) {
    constexpr std::string_view kBlock = "/kv";
    const bool of_option = problem.pointer.rfind(kBlock, 0) == 0;
    const std::string where = of_option ? problem.pointer.substr(kBlock.size()) : problem.pointer;
    if (of_option) problem.hint = hint_in_block(problem.hint);
    problem.pointer =
        fmt::format("{}{}{}", of_option ? "--kv" : place, where.empty() ? "" : ": ", where);
    problems.push_back(std::move(problem));
  }
  return {error.category(), error.code(), std::move(problems), error.log()};
}

ModelConfigTexts texts_of(const ConfigFiles& files, const PackCommandOptions& options) {
  ModelConfigTexts texts = files.texts();
  options.request.apply(&texts);
  texts.gated = options.pack.gated;
  texts.dense = options.pack.dense;
  texts.lm_head_bits = options.pack.lm_head_bits;
  return texts;
}

// Where there are no tensors.
void refuse_pack_options(const PackCommandOptions& options) {
  const TensorChoice& choice = options.pack.choice;
  if (options.pack.parallel.size > 1 || options.pack.expert_parallel.size > 1 ||
      !options.pack.fuse || !choice.keep.empty() || !choice.skip.empty()) {
    throw Error(
        ErrorCategory::kUsage, "tool.needs_tensors",
        "--tp, --ep, --no-fuse, --keep and --skip are for a folder with the model's tensors");
  }
}

Model model_of_config(const ConfigFiles& files, const PackCommandOptions& options, bool plain_too) {
  refuse_pack_options(options);
  ModelConfigTexts texts = texts_of(files, options);
  texts.plain_too = plain_too;
  try {
    return model_from_config(texts);
  } catch (const Error& error) {
    throw at_place(files, error);
  }
}

// Those that are not there yet: the model and its cache say some things alike.
void add_new(std::vector<std::string> texts, std::vector<std::string>* all) {
  for (std::string& text : texts) {
    if (std::find(all->begin(), all->end(), text) == all->end()) all->push_back(std::move(text));
  }
}

// A head without weights of its own is a layer of the model, too, although no tensor shows it.
void add_tied_head(const Model& facts, Model* model) {
  if (!facts.tied_embeddings) return;
  const auto is_head = [&](const ModelLayer& layer) {
    return layer.layers.empty() && layer.n == facts.vocabulary && layer.k == facts.hidden;
  };
  const auto head = std::find_if(facts.layers.begin(), facts.layers.end(), is_head);
  if (head == facts.layers.end()) return;
  // A rank has a part of its rows.
  const bool known =
      std::any_of(model->layers.begin(), model->layers.end(), [&](const ModelLayer& layer) {
        return is_head(layer) || (layer.layers.empty() && layer.name == head->name);
      });
  if (known) return;
  ModelLayer layer = *head;
  if (layer.kernel >= 0) layer.reason = "its weights are those of the embeddings, left unpacked";
  layer.kernel = -1;
  layer.stored_bytes = 0;
  model->layers.push_back(std::move(layer));
}

// What the config says of the whole decoder. Tensors are served without it.
void add_facts(ModelConfigTexts texts, Model* model) {
  texts.plain_too = true;
  try {
    Model facts = model_from_config(texts);
    add_tied_head(facts, model);
    static_cast<ModelFacts&>(*model) = std::move(facts);
  } catch (const Error& error) {
    model->notes.push_back("the config does not describe the whole decoder: " +
                           problem_line(error));
  }
}

// What heddle repack wrote says itself what its layers are; a config beside it tells the facts of
// the model. What has to be rotated is no matter of specs.
Model model_of_packed_file(const Checkpoint& checkpoint, const ConfigFiles& files,
                           const PackCommandOptions& options) {
  PackedCheckpoint packed =
      read_packed_checkpoint(checkpoint, options.pack, options.request, PackedUse::kSpecs);
  if (files.config.empty()) return model_of_packed(checkpoint, {}, std::move(packed));
  PackCommandOptions with_rotations = options;
  with_rotations.request.engine_rotates = true;
  const CheckpointConfig config = read_checkpoint_config(files, with_rotations.request);
  Model model = model_of_packed(checkpoint, config, std::move(packed));
  if (config.is_known) add_facts(texts_of(files, with_rotations), &model);
  return model;
}

Model model_of_tensors(const std::string& path, const ConfigFiles& files,
                       const PackCommandOptions& options) {
  const Checkpoint checkpoint(path);
  if (is_packed(checkpoint)) return model_of_packed_file(checkpoint, files, options);
  const CheckpointConfig config = read_checkpoint_config(files, options.request);
  Model model = model_of_checkpoint(checkpoint, config, options.pack);
  if (config.is_known) add_facts(texts_of(files, options), &model);
  return model;
}

bool is_tensor_file(const std::string& path) {
  constexpr std::string_view kEnds[] = {".safetensors", ".safetensors.index.json"};
  return std::any_of(std::begin(kEnds), std::end(kEnds),
                     [&](std::string_view end) { return path.ends_with(end); }) ||
         has_safetensors_header(path);
}

// A model's config and, where they are at hand, its tensors.
struct ModelPlace {
  std::string config;
  std::string tensors;                 // empty: none
  std::optional<UnreadFile> unread{};  // what a folder has instead
};

ModelPlace place_of(const std::string& argument) {
  std::error_code none;
  if (std::filesystem::is_directory(argument, none)) {
    const std::string config = std::filesystem::path(argument) / "config.json";
    if (Checkpoint::is_in(argument)) return {config, argument};
    std::optional<UnreadFile> unread = unread_file_in(argument);
    if (!std::filesystem::exists(config, none)) {
      if (unread) refuse_unread(*unread);
      throw Error(ErrorCategory::kFile, "tool.no_model",
                  fmt::format("the directory {} has neither config.json nor safetensors files, and "
                              "Heddle reads no others",
                              argument));
    }
    return {config, "", std::move(unread)};
  }
  if (unread_file_at(argument)) static_cast<void>(Checkpoint(argument));  // says what it is
  if (!is_tensor_file(argument)) return {argument, ""};
  return {std::filesystem::path(argument).parent_path() / "config.json", argument};
}

// The argument itself may be a pipe or standard input; a config that was found beside it may not. A
// file that heddle repack wrote needs none.
ConfigFiles config_of(const ModelPlace& place, const std::string& argument) {
  std::error_code none;
  if (!place.tensors.empty() && !std::filesystem::exists(place.config, none)) {
    if (is_packed(Checkpoint(place.tensors))) return {place.config, {}, {}, {}};
    require_config_beside(place.tensors);
  }
  return place.config == argument ? read_config_input(argument) : read_config_beside(place.config);
}

Model model_at(const ModelPlace& place, const ConfigFiles& files, const PackCommandOptions& options,
               bool plain_too = false) {
  if (!place.tensors.empty()) return model_of_tensors(place.tensors, files, options);
  try {
    Model model = model_of_config(files, options, plain_too);
    if (place.unread) {
      model.notes.push_back(
          fmt::format("this is of the config alone: the tensors in {} are of {}, "
                      "which is not read",
                      place.unread->path, place.unread->format->name));
    }
    return model;
  } catch (const Error& error) {
    // The config of a model that another format has quantised may not say so.
    if (place.unread && error.code() == "model.not_quantized") refuse_unread(*place.unread);
    throw;
  }
}

}  // namespace

std::vector<ModelWeightSize> sizes_of_tensors(const std::string& argument,
                                              const PackCommandOptions& options) {
  const ModelPlace place = place_of(argument);
  const ConfigFiles files = config_of(place, argument);
  const Checkpoint checkpoint(place.tensors);
  if (is_packed(checkpoint)) {
    return weight_sizes(
        read_packed_checkpoint(checkpoint, options.pack, options.request, PackedUse::kSpecs));
  }
  const CheckpointConfig config = read_checkpoint_config(files, options.request);
  return weight_sizes(packed_checkpoint(checkpoint, config, options.pack));
}

bool has_tensors(const std::string& argument) { return !place_of(argument).tensors.empty(); }

Model read_model(const std::string& argument, const std::string& kv,
                 const PackCommandOptions& options) {
  const ModelPlace place = place_of(argument);
  const ConfigFiles files = config_of(place, argument);
  std::error_code none;
  if (files.config.empty() && !std::filesystem::exists(place.config, none)) {
    throw Error(ErrorCategory::kUsage, "tool.kv_needs_config",
                fmt::format("--kv asks for the cache of a model, which its config.json describes, "
                            "and there is no {}",
                            files.place));
  }
  if (json::parse(files.config, nullptr, false).is_array() || is_spec(files.config)) {
    throw Error(ErrorCategory::kUsage, "tool.kv_needs_config",
                "--kv asks for the cache of a model: it takes a config.json, not specs");
  }
  if (options.pack.parallel.size > 1) {
    throw Error(
        ErrorCategory::kUsage, "tool.kv_of_rank",
        "--kv makes the kernels of a whole model's cache, --tp those of one rank: ask for them one "
        "at a time");
  }
  Model model;
  try {
    model = model_at(place, files, options, true);
  } catch (const Error& error) {
    if (error.code() != "checkpoint.not_quantised") throw;
  }
  if (model.quant_method.empty() && model.kernels.empty()) {
    model.notes.emplace_back("the model is not quantised: its matrices need no kernels of Heddle");
  }
  const std::string block = kv_block(kv);
  try {
    Model cache = cache_model_from_config(files.config, block);
    const int first = static_cast<int>(model.kernels.size());
    for (ModelKernel& kernel : cache.kernels) model.kernels.push_back(std::move(kernel));
    for (ModelLayer& layer : cache.layers) {
      if (layer.kernel >= 0) layer.kernel += first;
      model.layers.push_back(std::move(layer));
    }
    for (ModelUnserved& unserved : cache.unserved) model.unserved.push_back(std::move(unserved));
    add_new(std::move(cache.notes), &model.notes);
    add_new(std::move(cache.assumptions), &model.assumptions);
  } catch (const Error& error) {
    throw of_option_or_config(files.place, error);
  }
  return model;
}

Model read_model(const std::string& argument, const PackCommandOptions& options) {
  const ModelPlace place = place_of(argument);
  const ConfigFiles files = config_of(place, argument);
  const std::string& text = files.config;
  const bool is_list = is_spec_list(text);
  if (!is_list && !is_spec(text)) return model_at(place, files, options);
  refuse_pack_options(options);
  if (options.request.engine_rotates) {
    throw Error(ErrorCategory::kUsage, "tool.needs_config",
                "--engine-rotates is for a model: specs have no rotations");
  }
  if (options.pack.gated) {
    throw Error(ErrorCategory::kUsage, "tool.needs_config",
                "--gated is for a model: a spec says it itself, in epilogue.gated");
  }
  if (options.pack.dense) {
    throw Error(ErrorCategory::kUsage, "tool.needs_config",
                "--dense is for a model: specs say themselves what their weights are");
  }
  if (options.pack.lm_head_bits != 0) {
    throw Error(ErrorCategory::kUsage, "tool.needs_config",
                "--lm-head is for a model: specs say themselves what their weights are");
  }
  if (options.request.activation_bits != 0) {
    throw Error(ErrorCategory::kUsage, "tool.needs_config",
                "--activations is for a model: specs say themselves what their activations are");
  }
  if (is_list) return model_of_list(files.place, text);
  Model model;
  model.kernels.push_back({parse_at(files.place, text), 0, {}});
  return model;
}

}  // namespace heddle
