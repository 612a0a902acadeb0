// What a launch of row_transform gives its kernel: one struct for the runtime and the kernel.
#pragma once

#include "config/config.h"

namespace heddle::device {

struct RowTransformParameters {
  const unsigned char* x;
  unsigned char* residual;      // [m][columns]; the sums are written here
  const unsigned char* weight;  // [columns]
  const unsigned char* bias;    // [columns]
  unsigned char* y;
  i64 x_stride;  // bytes from row to row
  i64 y_stride;
  int m;  // rows
};

}  // namespace heddle::device
