#include "checkpoint/config_files.h"

#include <fmt/format.h>

#include <filesystem>

#include "checkpoint/file.h"
#include "generator/spec/document.h"
#include "generator/spec/error_place.h"
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

// Only a name that is not in the folder is no file: a link that leads nowhere says that there should
// be one.
std::string text_beside(const fs::path& config, const char* name) {
  std::error_code none;
  const fs::path path = config.parent_path() / name;
  if (fs::symlink_status(path, none).type() == fs::file_type::not_found) return {};
  std::string text = content_of(path.string());
  if (text.empty()) {
    throw Error(ErrorCategory::kSpec, "checkpoint.not_text",
                fmt::format("{}: not JSON: the file is empty", excerpt(path.string())));
  }
  return text;
}

}  // namespace

std::string config_beside(const std::string& checkpoint) {
  const fs::path path(checkpoint);
  std::error_code ignored;
  return (fs::is_directory(path, ignored) ? path : path.parent_path()) / "config.json";
}

ConfigFiles read_config_files(const std::string& path) {
  ConfigFiles files;
  files.place = path;
  files.config = content_of(path);
  read_files_beside(path, &files);
  return files;
}

void read_files_beside(const std::string& path, ConfigFiles* files) {
  files->hf_quant_config = text_beside(path, "hf_quant_config.json");
  files->quantize_config = text_beside(path, "quantize_config.json");
  if (files->quantize_config.empty()) {
    files->quantize_config = text_beside(path, "quant_config.json");
  }
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
    throw at_place(files.place, error);
  }
}

}  // namespace heddle
