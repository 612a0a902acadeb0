#include "tools/heddle/wheel_nvrtc.h"

#include <filesystem>
#include <string_view>
#include <system_error>

namespace heddle {
namespace {

namespace fs = std::filesystem;

bool has_nvrtc(const fs::path& folder) {
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename();
    constexpr std::string_view kStart = "libnvrtc.so.";
    if (name.compare(0, kStart.size(), kStart) == 0) return true;
  }
  return false;
}

}  // namespace

std::string nvrtc_of_wheel(const std::string& program) {
  const fs::path packages = fs::path(program).parent_path().parent_path().parent_path();
  std::error_code none;
  std::string last;  // the newest: cu13 behind cuda_nvrtc's older ones
  for (const fs::directory_entry& entry : fs::directory_iterator(packages / "nvidia", none)) {
    const fs::path folder = entry.path() / "lib";
    if (has_nvrtc(folder) && folder.string() > last) last = folder;
  }
  return last;
}

std::string nvrtc_of_wheel() {
  std::error_code none;
  const fs::path program = fs::read_symlink("/proc/self/exe", none);
  // Elsewhere nothing beside the program is Python's.
  const fs::path package = program.parent_path().parent_path();
  return fs::exists(package / "__init__.py", none) ? nvrtc_of_wheel(program.string())
                                                   : std::string();
}

}  // namespace heddle
