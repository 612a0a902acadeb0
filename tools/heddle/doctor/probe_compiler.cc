// NVRTC, and whether it is one for this machine's GPUs; the disassemblers.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "cache/cache_roots.h"
#include "runtime/compile/compiler_facts.h"
#include "runtime/compile/nvrtc.h"
#include "tools/heddle/cache/wheel_nvrtc.h"
#include "tools/heddle/doctor/diagnosis.h"
#include "tools/heddle/shared/machine_report.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
  std::error_code none;
  return fs::is_regular_file(path, none) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

void judge_compiler(CompilerVersion version, std::span<const int> archs, Diagnosis* diagnosis) {
  for (const Target& device : diagnosis->devices) {
    const std::optional<std::string> why =
        why_not_compilable(compiler_arch(device), version, archs);
    if (!why) continue;
    diagnosis->problems.push_back(
        {"compiler", fmt::format("{}: {}", device.name, *why),
         "install an NVRTC that knows the GPU, and name it in HEDDLE_NVRTC"});
  }
  if (diagnosis->driver_version != 0 && version.major > diagnosis->driver_version / 1000) {
    diagnosis->notes.push_back(
        {"compiler",
         fmt::format("NVRTC is of CUDA {}, the driver of CUDA {}, which may refuse its code; then "
                     "update the driver, or name an older NVRTC in HEDDLE_NVRTC",
                     version.major, diagnosis->driver_version / 1000),
         ""});
  }
}

void probe_compiler(Diagnosis* diagnosis) {
  diagnosis->found["compiler"] = nullptr;
  examine("compiler",
          "install NVRTC (in Python, pip install nvidia-cuda-nvrtc), or name it in HEDDLE_NVRTC; "
          "without it only kernels that the cache has can be used",
          diagnosis, [&] {
            Nvrtc nvrtc(nvrtc_of_wheel());
            diagnosis->found["compiler"] = compiler_json(&nvrtc);
            diagnosis->lines.emplace_back("compiler", compiler_text(&nvrtc));
            diagnosis->lines.emplace_back("", nvrtc.identity());
            judge_compiler({nvrtc.files().major, nvrtc.files().minor}, nvrtc.archs(), diagnosis);
          });
}

std::string find_program(const std::string& name, const std::string& path_list,
                         const std::string& packages) {
  std::istringstream folders(path_list);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.empty() && is_program(fs::path(folder) / name)) return fs::path(folder) / name;
  }
  if (packages.empty()) return {};
  std::vector<fs::path> of_wheels = {fs::path(packages) / "triton/backends/nvidia"};
  std::error_code none;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(packages) / "nvidia", none)) {
    of_wheels.push_back(entry.path());
  }
  for (const fs::path& folder : of_wheels) {
    if (is_program(folder / "bin" / name)) return folder / "bin" / name;
  }
  return {};
}

void probe_disassemblers(Diagnosis* diagnosis) {
  diagnosis->found["disassemblers"] = nlohmann::ordered_json::object();
  for (const char* name : {"nvdisasm", "cuobjdump"}) {
    examine(name, "correct PATH", diagnosis, [&] {
      const char* const list = process_environment("PATH");
      const std::string found = find_program(name, list != nullptr ? list : "", wheel_packages());
      diagnosis->found["disassemblers"][name] =
          found.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(found);
      diagnosis->lines.emplace_back(name, found.empty() ? "not found" : found);
    });
  }
}

}  // namespace heddle
