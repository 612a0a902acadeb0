#include "cache/usable_roots.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "cache/bundle.h"
#include "cache/file_io.h"
#include "cache/root.h"
#include "heddle/error.h"

namespace heddle {
namespace {

// Writes a file of one block, which has no name any more by then: whatever happens, none is left
// behind. 0 or -errno.
int try_to_write(FileSystem& files, int folder) {
  constexpr std::array<std::uint8_t, 4096> kBlock{};
  const std::string name = fmt::format("probe.{:016x}.tmp", files.now_ns());
  Fd fd = open_file(files, folder, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!fd) return -fd.error();
  files.unlink(folder, name);
  const int error = write_all(files, fd.get(), {kBlock.data(), kBlock.size()});
  const int closed = fd.close();
  return error < 0 ? error : closed;
}

// Empty if the folder can be used.
std::string problem_of_writable(FileSystem& files, const std::string& path, bool writes) {
  CacheRoot root(files, path, /*read_only=*/false);
  const RootFolder folder = root.folder(writes);
  if (folder.status == RootStatus::kAbsent && !writes) return {};
  if (folder.status != RootStatus::kOk) return folder.why;
  const int error = writes ? try_to_write(files, folder.base->get()) : 0;
  return error < 0 ? "it takes no file: " + error_text(-error) : std::string();
}

std::string problem_of_read_only(FileSystem& files, const std::string& path) {
  if (is_bundle_name(path)) return Bundle(path, files).problem();
  CacheRoot root(files, path, /*read_only=*/true);
  const RootFolder folder = root.folder(false);
  return folder.status == RootStatus::kOk ? std::string() : folder.why;
}

}  // namespace

void expect_usable_roots(const CacheRoots& roots, bool writes, FileSystem& files) {
  std::vector<Problem> problems;
  const auto check = [&](const std::string& path, const std::string& problem) {
    if (problem.empty()) return;
    problems.push_back({"", fmt::format("cannot use the cache {}: {}", path, problem), "", "", ""});
  };
  if (!roots.writable.empty()) {
    check(roots.writable, problem_of_writable(files, roots.writable, writes));
  }
  for (const std::string& path : roots.read_only) check(path, problem_of_read_only(files, path));
  if (problems.empty()) return;
  throw Error(ErrorCategory::kFile, "cache.unusable", std::move(problems));
}

}  // namespace heddle
