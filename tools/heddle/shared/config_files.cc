#include "tools/heddle/shared/config_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "heddle/error.h"
#include "tools/heddle/shared/input.h"

namespace heddle {

ConfigFiles read_config_input(const std::string& argument) {
  Input input = read_input(argument);
  ConfigFiles files;
  files.place = std::move(input.place);
  files.config = std::move(input.text);
  std::error_code none;
  if (std::filesystem::is_regular_file(argument, none)) read_files_beside(argument, &files);
  return files;
}

ConfigFiles read_config_beside(const std::string& path) {
  std::error_code none;
  const auto status = std::filesystem::status(path, none);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw Error(ErrorCategory::kFile, "tool.unreadable",
                fmt::format("cannot read {}: not a regular file", path));
  }
  return read_config_input(path);
}

}  // namespace heddle
