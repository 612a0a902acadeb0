#include "tools/heddle/config_files.h"

#include <filesystem>

namespace heddle {
namespace {

namespace fs = std::filesystem;

std::string text_beside(const fs::path& config, const char* name) {
  std::error_code none;
  const fs::path path = config.parent_path() / name;
  return fs::is_regular_file(path, none) ? read_input(path.string()).text : std::string();
}

}  // namespace

ConfigFiles read_config_files(const std::string& path) {
  ConfigFiles files;
  files.config = read_input(path);
  std::error_code none;
  if (!fs::is_regular_file(path, none)) return files;
  files.hf_quant_config = text_beside(path, "hf_quant_config.json");
  files.quantize_config = text_beside(path, "quantize_config.json");
  if (files.quantize_config.empty()) files.quantize_config = text_beside(path, "quant_config.json");
  return files;
}

}  // namespace heddle
