// The shape of a GEMM's weights: a constant of most kernels' configurations. Kernels that serve any
// shape get it with the launch; then it is one struct for the runtime and the kernel.
#pragma once

#include "config/config.h"

namespace heddle::device {

// The sides of W[N, K], and where in its packed weights things lie.
struct WeightShape {
  int n;               // rows of W
  int k;               // columns of W
  int row_blocks;      // of 16 rows
  int chunks;          // of a row block
  i64 channel_offset;  // of scales and zero points per channel
  i64 tensor_offset;   // of the scale of the whole tensor

  HEDDLE_FIELDS(n, k, row_blocks, chunks, channel_offset, tensor_offset)
};

}  // namespace heddle::device
