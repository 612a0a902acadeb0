#include "checkpoint/plan/made_tensor.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace heddle {
namespace {

void copy_bytes(const Checkpoint::Entry& entry, ByteStream* out) {
  const std::uint64_t bytes = entry.tensor->bytes;
  const std::uint64_t most = CheckpointReader::kMostPieceBytes;
  std::vector<std::uint8_t> piece(std::min(bytes, most));
  for (std::uint64_t at = 0; at < bytes; at += most) {
    const std::size_t count = std::min(most, bytes - at);
    entry.file->read(*entry.tensor, at, piece.data(), count);
    out->write(piece.data(), count);
  }
}

}  // namespace

MadeTensor copied_tensor(const Checkpoint::Entry& entry) {
  TensorInfo info = *entry.tensor;
  info.begin = 0;
  return {std::move(info), [entry](ByteStream* out) { copy_bytes(entry, out); }, true};
}

}  // namespace heddle
