#include "tools/heddle/shared/machine_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "generator/target/target_json.h"
#include "tools/heddle/shared/printable.h"

namespace heddle {
namespace {

std::string version_text(const NvrtcFiles& files) {
  return fmt::format("{}.{}", files.major, files.minor);
}

}  // namespace

nlohmann::ordered_json target_json(const Target& target) {
  nlohmann::ordered_json object = {
      {"name", target.name}, {"arch", target.arch()}, {"compiler_arch", compiler_arch(target)}};
  add_target_facts(target, &object);
  return object;
}

nlohmann::ordered_json compiler_json(Nvrtc* nvrtc) {
  const std::vector<int> archs = nvrtc->archs();
  const NvrtcFiles& files = nvrtc->files();
  return {{"version", version_text(files)},
          {"library", files.library},
          {"identity", nvrtc->identity()},
          {"archs", archs}};
}

std::string compiler_text(Nvrtc* nvrtc) {
  const std::vector<int> archs = nvrtc->archs();
  const NvrtcFiles& files = nvrtc->files();
  return fmt::format("NVRTC {}: {}, for sm_{}", version_text(files), printable(files.library),
                     fmt::join(archs, ", sm_"));
}

}  // namespace heddle
