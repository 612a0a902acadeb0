// IntegerTensors: one layer of integer codes, of whichever format.
#ifndef HEDDLE_CHECKPOINT_FORMS_INTEGER_TENSORS_H_
#define HEDDLE_CHECKPOINT_FORMS_INTEGER_TENSORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/codes/large_buffer.h"
#include "checkpoint/codes/unpack_codes.h"
#include "checkpoint/files/checkpoint.h"
#include "heddle/spec.h"

namespace heddle {

// What the readers of all formats fill in.
struct IntegerTensors {
  std::string name;
  LargeBuffer<std::uint32_t> words;
  PackedCodes codes;  // without the pointer to the words, which would not survive a move
  std::int64_t groups = 1;
  int group_size = kPerChannel;  // or kPerTensor, which has a scale for each row here, too
  bool symmetric = false;
  TensorType scale_type = TensorType::kF16;
  std::vector<std::uint8_t> scales;       // [N, G]
  std::vector<std::uint8_t> zeros;        // [N, G]
  std::vector<std::int32_t> group_index;  // [K]; empty where column k is of group k / group_size
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_FORMS_INTEGER_TENSORS_H_
