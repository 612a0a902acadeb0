// What a launch of row_transform gives its kernel: one struct for the runtime and the kernel.
#pragma once

#include "config/config.h"

namespace heddle::device {

struct RowTransformParameters {
  const unsigned char* x;
  unsigned char* residual;         // [m][columns]; the sums are written here
  const unsigned char* weight;     // [columns]
  const unsigned char* bias;       // [columns]
  const unsigned char* pre_scale;  // [columns]
  const float* tensor_scale;       // one
  unsigned char* y;
  unsigned char* scales;
  int* zero_points;  // [m]
  i64 x_stride;      // bytes from row to row
  i64 y_stride;
  // Elements from a row's scales to the next one's; column-major from a group's to the next one's,
  // of e8m0 from a word of four groups to the next one.
  i64 scale_stride;
  int m;  // rows
};

}  // namespace heddle::device
