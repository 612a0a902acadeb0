#include "checkpoint/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "checkpoint/unread_file.h"
#include "heddle/error.h"

namespace heddle {
namespace {

[[noreturn]] void refuse_header(const InputFile& file, const std::string& why) {
  throw Error(ErrorCategory::kFile, "checkpoint.header", fmt::format("{}: {}", file.path(), why));
}

// A file that people take for a checkpoint is named by its name or its first bytes.
void refuse_other_format(const InputFile& file, std::string_view first) {
  const UnreadFormat* const content = format_of_first_bytes(first);
  if (const auto named = unread_file_at(file.path())) refuse_unread(*named);
  if (content != nullptr) {
    refuse_header(file, fmt::format("this is of {}, not a safetensors file", content->name));
  }
  if (first.starts_with("version ")) {
    refuse_header(file, "this is a pointer of Git LFS, not a safetensors file");
  }
}

std::uint64_t header_bytes(const InputFile& file) {
  std::array<std::uint8_t, kPrefixBytes> prefix{};
  const std::size_t there = std::min<std::uint64_t>(prefix.size(), file.size());
  file.read(0, prefix.data(), there);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < prefix.size(); ++i) bytes |= std::uint64_t{prefix[i]} << (8 * i);
  const std::uint64_t room = file.size() - there;
  char begin = 0;
  if (room != 0) file.read(kPrefixBytes, &begin, 1);
  // The first bytes of other formats may be those of a header's length.
  if (begin == '{' && bytes <= kMostHeaderBytes && bytes <= room) return bytes;
  refuse_other_format(file, {reinterpret_cast<const char*>(prefix.data()), there});
  if (there < kPrefixBytes) refuse_header(file, "too short for a safetensors file");
  if (bytes > kMostHeaderBytes) {
    refuse_header(
        file, fmt::format("a header of {} bytes; the format allows {}", bytes, kMostHeaderBytes));
  }
  if (bytes > room) {
    refuse_header(file, fmt::format("a header of {} bytes in a file of {}", bytes, file.size()));
  }
  return bytes;
}

}  // namespace

SafetensorsFile::SafetensorsFile(std::string path) : file_(std::move(path)) {
  const std::uint64_t bytes = header_bytes(file_);
  std::string json(bytes, '\0');
  file_.read(kPrefixBytes, json.data(), json.size());
  data_ = kPrefixBytes + bytes;
  header_ = parse_safetensors_header(json, file_.size() - data_, file_.path());
}

void SafetensorsFile::read(const TensorInfo& tensor, std::uint64_t offset, void* to,
                           std::size_t bytes) const {
  file_.read(data_ + tensor.begin + offset, to, bytes);
}

}  // namespace heddle
