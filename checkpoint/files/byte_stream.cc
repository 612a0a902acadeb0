#include "checkpoint/files/byte_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "heddle/error.h"

namespace heddle {

void ByteStream::write(const void* from, std::size_t bytes) {
  if (bytes > bytes_ - written_) {
    throw Error(
        ErrorCategory::kInternal, "internal",
        fmt::format("a tensor of {} bytes was made with {} or more", bytes_, written_ + bytes));
  }
  const auto* piece = static_cast<const std::uint8_t*>(from);
  while (bytes > 0) {
    const std::size_t count = std::min(bytes, CheckpointReader::kMostPieceBytes);
    if (!sink_(written_, piece, count)) {
      throw Error(ErrorCategory::kCancelled, "checkpoint.cancelled",
                  "the caller's sink asked to stop");
    }
    written_ += count;
    piece += count;
    bytes -= count;
  }
}

void ByteStream::finish() const {
  if (written_ == bytes_) return;
  throw Error(ErrorCategory::kInternal, "internal",
              fmt::format("a tensor of {} bytes was made with {}", bytes_, written_));
}

}  // namespace heddle
