#include "tools/heddle/checkpoint/convert_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "checkpoint/output/packed_file.h"
#include "generator/spec/document.h"
#include "heddle/error.h"
#include "tools/heddle/shared/config_files.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/options.h"
#include "tools/heddle/shared/output.h"
#include "tools/heddle/shared/progress.h"

namespace heddle {
namespace {

// Beside the tensors, where model hubs put it.
ConfigFiles config_of(const ConvertCommandOptions& options) {
  return options.config.empty() ? read_config_beside(require_config_beside(options.checkpoint))
                                : read_config_input(options.config);
}

std::string config_path(const ConvertCommandOptions& options) {
  return options.config.empty() ? config_beside(options.checkpoint) : options.config;
}

nlohmann::ordered_json unserved_json(const ConvertReport& report) {
  auto list = nlohmann::ordered_json::array();
  for (const UnservedLayer& layer : report.unserved) {
    list.push_back({{"layer", layer.name}, {"reason", layer.reason}});
  }
  return list;
}

std::string report_text(const ConvertReport& report, const std::string& output, const char* verb,
                        double seconds) {
  const std::string skipped =
      report.skipped == 0 ? std::string() : fmt::format(", {} left out", report.skipped);
  return fmt::format("{} layers {}, {} tensors copied{}: {:.1f} MB to {:.1f} MB in {:.1f} s, {}\n",
                     report.layers, verb, report.copied, skipped,
                     static_cast<double>(report.input_bytes) / 1e6,
                     static_cast<double>(report.output_bytes) / 1e6, seconds, output);
}

}  // namespace

void add_convert_options(CLI::App& command, ConvertCommandOptions* options) {
  command
      .add_option("CHECKPOINT", options->checkpoint,
                  "a .safetensors file, a model.safetensors.index.json, or a folder with one")
      ->required();
  command
      .add_option("--config", options->config,
                  "the model's config.json; default the one beside the tensors")
      ->type_name("FILE");
  command.add_option("-o,--output", options->output, "file to write")
      ->type_name("OUT.safetensors")
      ->required();
  command
      .add_option("--jobs", options->convert.jobs,
                  "layers at a time; default one per core, 8 at most")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  add_choice_options(command, &options->pack);
  add_json_option(command, &options->json);
}

int run_convert(const ConvertCommandOptions& options, Convert convert, const char* verb) {
  const auto start = std::chrono::steady_clock::now();
  const Checkpoint checkpoint(options.checkpoint);
  if (is_packed(checkpoint)) {
    throw Error(ErrorCategory::kUnsupported, "checkpoint.packed_already",
                fmt::format("{} is packed already, as heddle build and engines read it: give the "
                            "checkpoint that it was packed from",
                            excerpt(options.checkpoint)));
  }
  const ConfigFiles files = config_of(options);
  const CheckpointConfig config = read_checkpoint_config(files, options.pack.request);
  for (const std::string& input :
       {config_path(options), files.hf_quant_config_place, files.quantize_config_place}) {
    std::error_code none;  // a path that is not there is no other file
    if (!std::filesystem::equivalent(input, options.output, none)) continue;
    throw Error(ErrorCategory::kUsage, "checkpoint.output",
                options.output + " is the model's config; name another file for the output");
  }
  ConvertReport report;
  {
    Progress progress(!options.json);
    ConvertOptions with_progress = options.convert;
    with_progress.pack = options.pack.pack;
    with_progress.progress = [&](const std::string& tensor, std::size_t done, std::size_t total) {
      progress.show(fmt::format("[{}/{}] {}", done, total, tensor), done != total);
    };
    report = convert(checkpoint, config, options.output, with_progress);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (options.json) {
    print_json({{"output", options.output},
                {"layers", report.layers},
                {"copied", report.copied},
                {"skipped", report.skipped},
                {"unserved", unserved_json(report)},
                {"notes", report.notes},
                {"input_bytes", report.input_bytes},
                {"output_bytes", report.output_bytes},
                {"seconds", seconds}});
  } else {
    print(report_text(report, options.output, verb, seconds));
    flush_output();
    for (const std::string& note : report.notes) print_problem("note: " + note);
  }
  for (const UnservedLayer& layer : report.unserved) {
    print_problem(fmt::format("layer \"{}\" is copied as it is, since no kernel takes it: {}",
                              excerpt(layer.name), layer.reason));
  }
  return report.unserved.empty() ? kExitDone : kExitFailed;
}

}  // namespace heddle
