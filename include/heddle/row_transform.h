// Norms, activations and gates on the rows of a matrix: the arguments of a launch, and its kernel.
#ifndef HEDDLE_ROW_TRANSFORM_H_
#define HEDDLE_ROW_TRANSFORM_H_

#include <cstdint>

#include "heddle/device_memory.h"
#include "heddle/export.h"
#include "heddle/kernel.h"

namespace heddle {

// Each aligned to 16 bytes. Each row is read before it is written, so Y may be X, with the same
// stride; with an interleaved gate, whose elements of Y lie elsewhere than what they are made of,
// it may not. No two others may overlap.
struct RowTransformArgs {
  DeviceInput x;   // [m][columns] of input.dtype, with a gate [m][2 * columns]
  DeviceOutput y;  // [m][columns] of output.dtype
  // Elements from a row to the next, multiples of 8 below 2^31: rows may be parts of wider ones. 0:
  // they are dense.
  std::int64_t x_stride = 0;
  std::int64_t y_stride = 0;
  // [m][columns], dense; required exactly if the spec has one. Read, then replaced by X + residual.
  DeviceOutput residual;
  // [columns]; required exactly with a norm. From sm_90 on it may be read before the kernels before
  // this one in the stream have ended, so none that still runs may write it.
  DeviceInput weight;
  DeviceInput bias;    // [columns]; the same, with norm.bias
  std::int64_t m = 0;  // rows, in the range of shape.m; 0: nothing is launched
};

class HEDDLE_EXPORT RowTransformKernel : public OperationKernel {
 public:
  static constexpr Op kOp = Op::kRowTransform;
  explicit RowTransformKernel(const Kernel& kernel) : OperationKernel(kernel, kOp) {}

  void launch(const RowTransformArgs& args, Stream stream) const;
};

}  // namespace heddle

#endif  // HEDDLE_ROW_TRANSFORM_H_
