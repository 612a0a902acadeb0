// Little-endian fields of fixed width: ByteWriter appends them, ByteReader takes them back.
#ifndef HEDDLE_CACHE_BYTES_H_
#define HEDDLE_CACHE_BYTES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cache/digest.h"

namespace heddle {

using Bytes = std::vector<std::uint8_t>;
using ByteView = std::span<const std::uint8_t>;

inline std::string_view as_text(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline ByteView as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

class ByteWriter {
 public:
  explicit ByteWriter(Bytes* out) : out_(out) {}
  void u32(std::uint32_t value) { number(value, 4); }
  void u64(std::uint64_t value) { number(value, 8); }
  void bytes(ByteView value) {
    const std::size_t at = out_->size();
    out_->resize(at + value.size());
    std::copy(value.begin(), value.end(), out_->begin() + static_cast<std::ptrdiff_t>(at));
  }

 private:
  void number(std::uint64_t value, int width) {
    for (int i = 0; i < width; ++i) out_->push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  Bytes* out_;
};

// Never reads past the end: what is missing reads as zero or empty, and ok() turns false for good.
class ByteReader {
 public:
  explicit ByteReader(ByteView in) : in_(in) {}
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }
  ByteView bytes(std::uint64_t count) {
    if (count > in_.size()) {
      ok_ = false;
      in_ = {};
      return {};
    }
    const ByteView taken = in_.first(static_cast<std::size_t>(count));
    in_ = in_.subspan(static_cast<std::size_t>(count));
    return taken;
  }
  bool ok() const { return ok_; }
  bool at_end() const { return in_.empty(); }

 private:
  std::uint64_t number(int width) {
    std::uint64_t value = 0;
    int shift = 0;
    for (const std::uint8_t byte : bytes(static_cast<std::uint64_t>(width))) {
      value |= std::uint64_t{byte} << shift;
      shift += 8;
    }
    return value;
  }
  ByteView in_;
  bool ok_ = true;
};

// A digest as files have it: its bytes, which are in canonical order. Zero where they are missing.
inline Digest take_digest(ByteReader* reader) {
  Digest digest{};
  std::ranges::copy(reader->bytes(digest.size()), digest.begin());
  return digest;
}

}  // namespace heddle

#endif  // HEDDLE_CACHE_BYTES_H_
