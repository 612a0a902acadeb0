#include "tools/heddle/config_files.h"

#include <filesystem>
#include <utility>

#include "tools/heddle/input.h"

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

}  // namespace heddle
