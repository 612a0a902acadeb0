#include "checkpoint/modules/config_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/files/file.h"
#include "generator/spec/document.h"
#include "heddle/error.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

// More than any model config; less than what would hurt the machine.
constexpr std::uint64_t kMostConfigBytes = std::uint64_t{64} << 20;

std::string content_of(const std::string& path) {
  const InputFile file(path);
  if (file.size() > kMostConfigBytes) {
    throw Error(ErrorCategory::kFile, "checkpoint.config",
                fmt::format("{} is larger than {} MiB", excerpt(path), kMostConfigBytes >> 20));
  }
  std::string text(file.size(), '\0');
  file.read(0, text.data(), text.size());
  // JSON parsers take a NUL byte for the end of the text and pass over what follows.
  if (const std::size_t nul = text.find('\0'); nul != std::string::npos) {
    throw Error(ErrorCategory::kSpec, "checkpoint.not_text",
                fmt::format("{}: not JSON: byte {} is a NUL", excerpt(path), nul + 1));
  }
  return text;
}

// Only a name that is not in the folder is no file: a link that leads nowhere says that there
// should be one.
std::string text_beside(const fs::path& config, const char* name, std::string* place) {
  std::error_code none;
  const fs::path path = config.parent_path() / name;
  if (fs::symlink_status(path, none).type() == fs::file_type::not_found) return {};
  *place = path.string();
  std::string text = content_of(*place);
  if (text.empty()) {
    throw Error(ErrorCategory::kSpec, "checkpoint.not_text",
                fmt::format("{}: not JSON: the file is empty", excerpt(*place)));
  }
  return text;
}

// Such texts are called by these names where their files are not known.
constexpr std::string_view kHfQuantConfig = "hf_quant_config.json";
constexpr std::string_view kQuantizeConfig = "quantize_config.json";

// What begins with the name is of that file and begins with its path, or its own name, then.
bool replace_name(std::string_view name, const std::string& by, std::string* text) {
  if (by.empty() || !text->starts_with(name)) return false;
  text->replace(0, name.size(), by);
  return true;
}

// The pointer with the path of a file beside config.json; false where it is of config.json.
bool place_beside(const ConfigFiles& files, std::string* pointer) {
  const std::pair<std::string_view, const std::string*> places[] = {
      {kHfQuantConfig, &files.hf_quant_config_place},
      {kQuantizeConfig, &files.quantize_config_place}};
  for (const auto& [name, place] : places) {
    std::string rest = *pointer;
    if (!replace_name(name, *place, &rest)) continue;
    if (rest.size() > place->size() && rest[place->size()] == '/') {
      rest.insert(place->size(), ": ");
    }
    *pointer = std::move(rest);
    return true;
  }
  return false;
}

}  // namespace

std::string config_beside(const std::string& checkpoint) {
  const fs::path path(checkpoint);
  std::error_code ignored;
  return (fs::is_directory(path, ignored) ? path : path.parent_path()) / "config.json";
}

std::string require_config_beside(const std::string& checkpoint) {
  std::string config = config_beside(checkpoint);
  std::error_code ignored;
  if (fs::exists(config, ignored)) return config;
  throw Error(ErrorCategory::kFile, "checkpoint.open",
              fmt::format("{} holds tensors that heddle repack did not write (its metadata has no "
                          "heddle.layout), and there is no {} to say how they are quantised: put "
                          "the model's config.json there, or name it with heddle repack --config "
                          "(CheckpointOptions::config)",
                          checkpoint, config));
}

ConfigFiles read_config_files(const std::string& path) {
  ConfigFiles files;
  files.place = path;
  files.config = content_of(path);
  read_files_beside(path, &files);
  return files;
}

void read_files_beside(const std::string& path, ConfigFiles* files) {
  files->hf_quant_config = text_beside(path, "hf_quant_config.json", &files->hf_quant_config_place);
  for (const char* name : {"quantize_config.json", "quant_config.json"}) {
    if (!files->quantize_config.empty()) continue;
    files->quantize_config = text_beside(path, name, &files->quantize_config_place);
  }
}

Error at_place(const ConfigFiles& files, const Error& error) {
  std::vector<Problem> problems = error.problems();
  const std::string quantize_name = fs::path(files.quantize_config_place).filename().string();
  for (Problem& problem : problems) {
    replace_name(kQuantizeConfig, quantize_name, &problem.message);
    if (place_beside(files, &problem.pointer)) continue;
    problem.pointer =
        problem.pointer.empty() ? files.place : fmt::format("{}: {}", files.place, problem.pointer);
  }
  return {error.category(), error.code(), std::move(problems), error.log()};
}

void ConfigRequest::apply(ModelConfigTexts* texts) const {
  texts->engine_rotates = engine_rotates;
  texts->activation_bits = activation_bits;
  texts->arch = arch;
}

CheckpointConfig read_checkpoint_config(const ConfigFiles& files, const ConfigRequest& request) {
  ModelConfigTexts texts = files.texts();
  request.apply(&texts);
  try {
    return read_checkpoint_config(texts);
  } catch (const Error& error) {
    throw at_place(files, error);
  }
}

}  // namespace heddle
