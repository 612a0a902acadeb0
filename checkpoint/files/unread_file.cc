#include "checkpoint/files/unread_file.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "heddle/error.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 1;  // exporters write folders such as onnx/

}  // namespace

std::optional<UnreadFile> unread_file_at(const std::string& path) {
  const UnreadFormat* format = format_of_file_name(fs::path(path).filename().string());
  if (format == nullptr) return std::nullopt;
  return UnreadFile{path, format};
}

std::optional<UnreadFile> unread_file_in(const std::string& folder) {
  std::optional<UnreadFile> largest;
  std::uintmax_t most = 0;
  std::error_code none;
  for (auto at = fs::recursive_directory_iterator(folder, none); at != fs::end(at);
       at.increment(none)) {
    if (at.depth() == kDeepest) at.disable_recursion_pending();
    std::optional<UnreadFile> file = unread_file_at(at->path().string());
    if (!file) continue;
    std::error_code unknown;
    std::uintmax_t bytes = at->is_regular_file(none) ? at->file_size(unknown) : 0;
    if (unknown) bytes = 0;
    // Among files of one size it takes the first by name: folders have no order.
    const bool before = !largest || bytes > most || (bytes == most && file->path < largest->path);
    if (!before) continue;
    most = bytes;
    largest = std::move(file);
  }
  return largest;
}

void refuse_unread(const UnreadFile& file) {
  throw Error(ErrorCategory::kUnsupported, "checkpoint.foreign",
              fmt::format("{}: {}", file.path, file.format->refusal()));
}

}  // namespace heddle
