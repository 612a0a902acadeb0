#include "tools/heddle/cache/wheel_nvrtc.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace heddle {
namespace {

namespace fs = std::filesystem;

// The number behind "libnvrtc.so.", CUDA's major version; 0 of other names.
int version_of_nvrtc(std::string_view name) {
  constexpr std::string_view kStart = "libnvrtc.so.";
  if (!name.starts_with(kStart)) return 0;
  int version = 0;
  std::from_chars(name.data() + kStart.size(), name.data() + name.size(), version);
  return version;
}

// The highest version in the folder; 0 where there is none.
int nvrtc_version_in(const fs::path& folder) {
  std::error_code none;
  int highest = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    highest = std::max(highest, version_of_nvrtc(entry.path().filename().string()));
  }
  return highest;
}

// The folder of the newest libnvrtc among the wheels in a folder of packages.
std::string newest_nvrtc_in(const fs::path& packages) {
  std::error_code none;
  std::pair<int, std::string> newest;  // of folders with one version the last by name
  for (const fs::directory_entry& entry : fs::directory_iterator(packages / "nvidia", none)) {
    const fs::path folder = entry.path() / "lib";
    const int version = nvrtc_version_in(folder);
    if (version > 0) newest = std::max(newest, {version, folder.string()});
  }
  return newest.second;
}

}  // namespace

std::string nvrtc_of_wheel(const std::string& program) {
  return newest_nvrtc_in(fs::path(program).parent_path().parent_path().parent_path());
}

std::string nvrtc_of_wheel() {
  const std::string packages = wheel_packages();
  return packages.empty() ? std::string() : newest_nvrtc_in(packages);
}

std::string wheel_packages() {
  std::error_code none;
  const fs::path program = fs::read_symlink("/proc/self/exe", none);
  // Elsewhere nothing beside the program is Python's.
  const fs::path package = program.parent_path().parent_path();
  return fs::exists(package / "__init__.py", none) ? package.parent_path().string() : std::string();
}

}  // namespace heddle
