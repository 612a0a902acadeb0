// heddle sample-model: a small checkpoint with random weights, to try everything else on.
#include "tools/sample_model/sample_model.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "checkpoint/files/file.h"
#include "generator/spec/near_miss.h"
#include "heddle/error.h"
#include "tools/heddle/shared/commands.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/options.h"
#include "tools/heddle/shared/output.h"
#include "tools/heddle/shared/printable.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

struct SampleModelOptions {
  std::string folder;
  std::string format;  // empty: the type's usual one
  std::string type = "llama";
  std::size_t layers = SampleSizes().layers;
  unsigned seed = 1;
  bool json = false;
};

struct SampleFormat {
  std::string_view name;
  SampleMethod method;
  EightBits eight_bits = EightBits::kInt8;
};
constexpr std::array kSampleFormats = {
    SampleFormat{"awq", SampleMethod::kAwq},
    SampleFormat{"gptq", SampleMethod::kGptq},
    SampleFormat{"gptq-act-order", SampleMethod::kGptqActOrder},
    SampleFormat{"w8a8", SampleMethod::kEightBits, EightBits::kInt8},
    SampleFormat{"fp8", SampleMethod::kEightBits, EightBits::kFp8},
    SampleFormat{"fp8-blocks", SampleMethod::kEightBits, EightBits::kFp8Blocks},
    SampleFormat{"mxfp4", SampleMethod::kMxfp4},
};
struct SampleType {
  std::string_view name;
  SampleFamily family;
  std::size_t experts = 0;
};
constexpr std::array kSampleTypes = {
    SampleType{"llama", SampleFamily::kLlama},
    SampleType{"qwen3", SampleFamily::kQwen3},
    SampleType{"mixtral", SampleFamily::kLlama, 8},
    SampleType{"qwen3-moe", SampleFamily::kQwen3, 8},
    SampleType{"gpt-oss", SampleFamily::kGptOss, 8},
};

std::vector<std::string_view> sample_types() {
  std::vector<std::string_view> names;
  names.reserve(kSampleTypes.size());
  for (const SampleType& type : kSampleTypes) names.push_back(type.name);
  return names;
}

std::vector<std::string_view> sample_formats() {
  std::vector<std::string_view> names;
  names.reserve(kSampleFormats.size());
  for (const SampleFormat& format : kSampleFormats) names.push_back(format.name);
  return names;
}

// What is wrong with a word that must be one of `names`; else nothing.
std::string word_problem(const std::string& word, const std::vector<std::string_view>& names) {
  if (std::find(names.begin(), names.end(), word) != names.end()) return "";
  const std::string meant = did_you_mean(word, names);
  return fmt::format("{} is none of {}{}", word, fmt::join(names, ", "),
                     meant.empty() ? "" : " (" + meant + ")");
}

SampleOptions sample_options(const SampleModelOptions& options) {
  SampleOptions sample;
  for (const SampleFormat& format : kSampleFormats) {
    if (format.name != options.format) continue;
    sample.method = format.method;
    sample.eight_bits = format.eight_bits;
  }
  for (const SampleType& type : kSampleTypes) {
    if (type.name != options.type) continue;
    sample.family = type.family;
    sample.experts = type.experts;
  }
  // As their quantisers write them, and as a config alone is taken to mean.
  sample.scales_bf16 = sample.method == SampleMethod::kEightBits;
  sample.bf16 = sample.scales_bf16 || sample.method == SampleMethod::kMxfp4;
  if (options.type == "qwen3") sample.head = SampleHead::kTied;
  sample.sizes.layers = options.layers;
  sample.seed = options.seed;
  return sample;
}

// A folder that holds anything may be somebody's model.
void make_empty_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_empty(folder, error)) {
    throw Error(
        ErrorCategory::kFile, "tool.sample_folder",
        fmt::format("{} is there and is not an empty folder; name a new one", folder.string()));
  }
  fs::create_directories(folder, error);
  if (!error) return;
  throw Error(ErrorCategory::kFile, "tool.cannot_write",
              fmt::format("cannot write {}: {}", folder.string(), error.message()));
}

void write_text(const std::string& path, const std::string& text) {
  OutputFile file(path);
  file.write(0, text.data(), text.size());
  file.commit();
}

// gpt-oss has one format, and no other type has it.
std::string format_of(const SampleModelOptions& options) {
  constexpr std::string_view kOwn = "mxfp4";
  const bool own = options.type == "gpt-oss";
  if (options.format.empty()) return std::string(own ? kOwn : "awq");
  if ((options.format == kOwn) == own) return options.format;
  throw Error(ErrorCategory::kUsage, "tool.sample_format",
              fmt::format("--format {} is not of --type {}: the experts of gpt-oss are in mxfp4, "
                          "which no other type has",
                          options.format, options.type));
}

int run(SampleModelOptions options) {
  options.format = format_of(options);
  const fs::path folder = options.folder;
  const SampleOptions sample = sample_options(options);
  make_empty_folder(folder);
  const std::string tensors = folder / "model.safetensors";
  const SampleWeights weights = sample_weights(sample);
  write_tensors(tensors, weights.tensors, {{"format", "pt"}});
  write_text(folder / "config.json", sample_config(sample).dump(2) + "\n");
  const std::uintmax_t bytes = fs::file_size(tensors);
  if (options.json) {
    print_json({{"folder", options.folder},
                {"model_type", options.type},
                {"format", options.format},
                {"layers", options.layers},
                {"seed", options.seed},
                {"tensors", weights.tensors.size()},
                {"bytes", bytes}});
  } else {
    print(fmt::format("{}: {} with random weights, {}, {} layers, {:.1f} MB\n",
                      printable(options.folder), options.type, options.format, options.layers,
                      static_cast<double>(bytes) / 1e6));
  }
  return kExitDone;
}

}  // namespace

void add_sample_model_command(CLI::App& app, Action* action) {
  auto options = std::make_shared<SampleModelOptions>();
  CLI::App* command =
      app.add_subcommand("sample-model", "Write a small checkpoint with random weights");
  command
      ->add_option("FOLDER", options->folder,
                   "the new folder, for config.json and model.safetensors")
      ->required()
      ->check([](const std::string& text) { return text.empty() ? "is empty" : ""; });
  command
      ->add_option("--format", options->format,
                   fmt::format("how weights are quantised: {}; default awq, of gpt-oss mxfp4",
                               fmt::join(sample_formats(), ", ")))
      ->type_name("FORMAT")
      ->check([](const std::string& word) { return word_problem(word, sample_formats()); });
  command
      ->add_option("--type", options->type,
                   fmt::format("model type: {}; default llama", fmt::join(sample_types(), ", ")))
      ->type_name("TYPE")
      ->check([](const std::string& word) { return word_problem(word, sample_types()); });
  command->add_option("--layers", options->layers, "decoder layers; default 2")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  command->add_option("--seed", options->seed, "of the weights; default 1")->type_name("N");
  add_json_option(*command, &options->json);
  command->footer(
      "Tensors have the names, shapes and types of a real checkpoint, and there is no tokenizer:\n"
      "build, repack, dequantize and the example engine, heddle_decoder, run on it. The same\n"
      "options make the same files. A folder that holds anything is refused.\n"
      "Example:\n"
      "  heddle sample-model build/sample --format gptq\n"
      "  heddle build build/sample --target h200 --list");
  command->callback([=] { *action = [options] { return run(*options); }; });
}

}  // namespace heddle
