// Norms, activations and gates on the rows of a matrix, in 16 or 8 bits: the arguments of a launch,
// and its kernel. docs/kv-caches-and-attention.md has the formulas.
#ifndef HEDDLE_ROW_TRANSFORM_H_
#define HEDDLE_ROW_TRANSFORM_H_

#include <cstddef>
#include <cstdint>

#include "heddle/device_memory.h"
#include "heddle/export.h"
#include "heddle/kernel.h"
#include "heddle/row_spec.h"

namespace heddle {

// Each aligned to 16 bytes, tensor_scale to 4. Y of 16 bits may be X with the same stride, but not
// with an interleaved gate. No two others may overlap.
struct RowTransformArgs {
  DeviceInput x;   // [m][columns] of input.dtype, with a gate [m][2 * columns]
  DeviceOutput y;  // [m][columns] of output.dtype
  // Elements from a row to the next, multiples of 8 below 2^31; 0: dense.
  std::int64_t x_stride = 0;
  std::int64_t y_stride = 0;
  // [m][columns], dense; required exactly if the spec has one. Read, then replaced by X + residual.
  DeviceOutput residual;
  // [columns]; required exactly with a norm. From sm_90 on it may be read before the kernels before
  // this one in the stream have ended.
  DeviceInput weight;
  DeviceInput bias;    // [columns]; the same, with norm.bias
  std::int64_t m = 0;  // rows, in the range of shape.m; 0: nothing is launched

  // Where Y has 8 bits. Each is required exactly as its comment says.
  DeviceInput pre_scale;     // [columns] of input.dtype; with output.pre_scale; as weight
  DeviceInput tensor_scale;  // one FP32; with granularity tensor; the kernel before may write it
  // With token [m] FP32, with group a matrix of output.scale_dtype; see ScaleLayout.
  DeviceOutput scales;
  // For groups: S in ScaleLayout, column_major a multiple of 4. 0: G, or m rounded up to one.
  std::int64_t scale_stride = 0;
  DeviceOutput zero_points;  // [m] int32; with symmetric false
};

// Bytes of RowTransformArgs::scales for m rows; 0 where none are written. Precondition: a launch
// takes m and the stride.
HEDDLE_EXPORT std::size_t row_scale_bytes(const RowTransformSpec& spec, std::int64_t m,
                                          std::int64_t scale_stride = 0) noexcept;

class HEDDLE_EXPORT RowTransformKernel : public OperationKernel {
 public:
  static constexpr Op kOp = Op::kRowTransform;
  explicit RowTransformKernel(const Kernel& kernel) : OperationKernel(kernel, kOp) {}

  void launch(const RowTransformArgs& args, Stream stream) const;
};

}  // namespace heddle

#endif  // HEDDLE_ROW_TRANSFORM_H_
