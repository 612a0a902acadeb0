#include "checkpoint/safetensors.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "heddle/error.h"

namespace heddle {
namespace {

// What a file with these first bytes is, if it is one that people take for a checkpoint.
const char* other_format(const std::array<std::uint8_t, kPrefixBytes>& first) {
  struct Magic {
    std::string_view bytes;
    const char* what;
  };
  using namespace std::string_view_literals;
  static constexpr Magic kMagics[] = {{"GGUF"sv, "a GGUF file"},
                                      {"PK\x03\x04"sv, "a PyTorch archive (zip)"},
                                      {"\x80\x02"sv, "a pickled PyTorch file"},
                                      {"\x89HDF"sv, "an HDF5 file"},
                                      {"version "sv, "a pointer of Git LFS"}};
  const std::string_view text(reinterpret_cast<const char*>(first.data()), first.size());
  for (const Magic& magic : kMagics) {
    // A header of a length that happens to start with these bytes would be larger than any.
    if (text.starts_with(magic.bytes)) return magic.what;
  }
  return nullptr;
}

std::uint64_t header_bytes(const InputFile& file) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCategory::kFile, "checkpoint.header", fmt::format("{}: {}", file.path(), why));
  };
  if (file.size() < kPrefixBytes) refuse("too short for a safetensors file");
  std::array<std::uint8_t, kPrefixBytes> prefix{};
  file.read(0, prefix.data(), prefix.size());
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < prefix.size(); ++i) bytes |= std::uint64_t{prefix[i]} << (8 * i);
  if (const char* other = other_format(prefix)) {
    refuse(fmt::format("this is {}, not a safetensors file, and Heddle reads no other", other));
  }
  if (bytes > kMostHeaderBytes) {
    refuse(fmt::format("a header of {} bytes; the format allows {}", bytes, kMostHeaderBytes));
  }
  if (bytes > file.size() - kPrefixBytes) {
    refuse(fmt::format("a header of {} bytes in a file of {}", bytes, file.size()));
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
