#include "checkpoint/files/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "checkpoint/files/unread_file.h"
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

// The length of the header that a file says, and whether it can be one.
struct HeaderLength {
  std::uint64_t bytes = 0;
  bool is_sound = false;
};

HeaderLength header_length(const InputFile& file, std::array<std::uint8_t, kPrefixBytes>* first) {
  const std::size_t there = std::min<std::uint64_t>(first->size(), file.size());
  file.read(0, first->data(), there);
  HeaderLength length;
  for (std::size_t i = 0; i < first->size(); ++i) {
    length.bytes |= std::uint64_t{(*first)[i]} << (8 * i);
  }
  const std::uint64_t room = file.size() - there;
  char begin = 0;
  if (room != 0) file.read(kPrefixBytes, &begin, 1);
  length.is_sound = begin == '{' && length.bytes <= kMostHeaderBytes && length.bytes <= room;
  return length;
}

std::uint64_t header_bytes(const InputFile& file) {
  std::array<std::uint8_t, kPrefixBytes> prefix{};
  const std::size_t there = std::min<std::uint64_t>(prefix.size(), file.size());
  const auto [bytes, is_sound] = header_length(file, &prefix);
  // The first bytes of other formats may be those of a header's length.
  if (is_sound) return bytes;
  refuse_other_format(file, {reinterpret_cast<const char*>(prefix.data()), there});
  if (there < kPrefixBytes) refuse_header(file, "too short for a safetensors file");
  if (bytes > kMostHeaderBytes) {
    refuse_header(
        file, fmt::format("a header of {} bytes; the format allows {}", bytes, kMostHeaderBytes));
  }
  if (bytes > file.size() - there) {
    refuse_header(file, fmt::format("a header of {} bytes in a file of {}", bytes, file.size()));
  }
  return bytes;
}

}  // namespace

bool has_safetensors_header(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return false;
  try {
    std::array<std::uint8_t, kPrefixBytes> first{};
    return header_length(InputFile(path), &first).is_sound;
  } catch (const Error&) {  // who reads the file says why not
    return false;
  }
}

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
