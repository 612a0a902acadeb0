// MadeTensor: a tensor of a new checkpoint and the work that makes it.
#ifndef HEDDLE_CHECKPOINT_PLAN_MADE_TENSOR_H_
#define HEDDLE_CHECKPOINT_PLAN_MADE_TENSOR_H_

#include <functional>

#include "checkpoint/files/byte_stream.h"
#include "checkpoint/files/checkpoint.h"
#include "checkpoint/files/tensor.h"

namespace heddle {

// `make` writes all bytes of the tensor, in order; any thread may call it, also several at a time.
struct MadeTensor {
  TensorInfo info;  // without its place in a file
  std::function<void(ByteStream*)> make;
  bool is_copy = false;  // the checkpoint has it as it is
};

// The checkpoint must outlive what is made of it.
MadeTensor copied_tensor(const Checkpoint::Entry& entry);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_MADE_TENSOR_H_
