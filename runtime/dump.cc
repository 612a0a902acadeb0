#include "runtime/dump.h"

#include <fmt/format.h>

#include <filesystem>
#include <span>
#include <system_error>

#include "cache/file_io.h"
#include "cache/new_file.h"
#include "generator/render/digest.h"
#include "heddle/error.h"
#include "heddle/inspect/plan.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kDumpMode = 0666;  // less the umask

std::string dump_folder(const Environment& environment) {
  const char* const value = environment("HEDDLE_DUMP");
  return value == nullptr || *value == '\0' ? std::string() : absolute_path(value);
}

[[noreturn]] void refuse_dump(const std::string& path, const std::string& why, bool no_room) {
  throw Error(ErrorCategory::kFile, no_room ? "dump.unfinished" : "dump.unwritable",
              fmt::format("cannot write {}: {}; HEDDLE_DUMP names the folder that kernels are "
                          "written to: name one that can be written, or unset it",
                          path, why));
}

void write_stage(const fs::path& folder, const char* name, std::span<const char> content) {
  const std::string path = (folder / name).string();
  const int error = write_new_file(path, kDumpMode, content);
  if (error < 0) refuse_dump(path, new_file_error_text(-error), is_storage_error(-error));
}

}  // namespace

Dump::Dump(const Environment& environment) : folder_(dump_folder(environment)) {}

void Dump::write_stages(const Source& source, const Binary& binary) {
  const std::string plan = source.plan != nullptr ? plan_to_json(*source.plan) + '\n' : "";
  const std::string name = fmt::format("{}_{}.{}", source.kernel_name, content_digest(source.text),
                                       content_digest(plan + source.arch + binary.compiler));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (written_.count(name) != 0) return;
  }
  const fs::path folder = fs::path(folder_) / name;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) refuse_dump(folder.string(), error.message(), error == std::errc::no_space_on_device);
  if (source.plan != nullptr) {
    write_stage(folder, "spec.json", source.spec + '\n');
    write_stage(folder, "plan.json", plan);
    write_stage(folder, "plan.txt", describe(*source.plan));
  }
  write_stage(folder, "kernel.cu", source.text);
  if (!binary.ptx.empty()) write_stage(folder, "kernel.ptx", binary.ptx.str());
  write_stage(folder, "kernel.cubin",
              {reinterpret_cast<const char*>(binary.cubin.data()), binary.cubin.size()});
  const std::lock_guard<std::mutex> lock(mutex_);
  written_.insert(name);
}

}  // namespace heddle
