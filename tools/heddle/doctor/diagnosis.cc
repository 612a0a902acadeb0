#include "tools/heddle/doctor/diagnosis.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <filesystem>
#include <system_error>

#include "heddle/error.h"
#include "tools/heddle/shared/errors.h"

namespace heddle {

void examine(const std::string& about, const std::string& advice, Diagnosis* diagnosis,
             const std::function<void()>& probe) {
  try {
    probe();
  } catch (const std::exception& error) {
    diagnosis->problems.push_back({about, one_line(error.what()), advice});
  }
}

std::string why_not_makable(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path folder = fs::path(path).parent_path();
  if (folder.empty()) folder = ".";
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  if (!fs::is_directory(folder, error)) return fmt::format("{} is no folder", folder.string());
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return fmt::format("{}: {}", folder.string(), std::generic_category().message(errno));
}

}  // namespace heddle
