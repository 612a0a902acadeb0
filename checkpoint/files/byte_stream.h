// ByteStream: the bytes of one tensor on their way to a sink.
#ifndef HEDDLE_CHECKPOINT_FILES_BYTE_STREAM_H_
#define HEDDLE_CHECKPOINT_FILES_BYTE_STREAM_H_

#include <cstddef>

#include "heddle/checkpoint.h"

namespace heddle {

// Belongs to the thread that makes the tensor. The sink must outlive it.
class ByteStream {
 public:
  // `bytes`: of the whole tensor.
  ByteStream(const ByteSink& sink, std::size_t bytes) : sink_(sink), bytes_(bytes) {}

  // The bytes that follow those of the last call, in pieces of CheckpointReader::kMostPieceBytes at
  // most. Throws Error(kCancelled, "checkpoint.cancelled") where the sink wants no more, and
  // Error(kInternal) for more bytes than the tensor has, of which the sink gets none.
  void write(const void* from, std::size_t bytes);
  // Throws Error(kInternal) unless the tensor is complete.
  void finish() const;

 private:
  const ByteSink& sink_;
  std::size_t bytes_;
  std::size_t written_ = 0;
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_FILES_BYTE_STREAM_H_
