// Operations on weights alone: the arguments of their launches, and their kernels.
#ifndef HEDDLE_WEIGHT_KERNELS_H_
#define HEDDLE_WEIGHT_KERNELS_H_

#include "heddle/device_memory.h"
#include "heddle/export.h"
#include "heddle/kernel.h"

namespace heddle {

// Quantised weights as the spec's format has them, each tensor aligned to 16 bytes.
struct WeightSource {
  DeviceInput weights;  // packed weights, or the checkpoint's qweight
  DeviceInput
      scales;         // AWQ, GPTQ: [G, N] of scale_dtype, G = ceil((K + group_offset) / group_size)
  DeviceInput zeros;  // AWQ, GPTQ: qzeros; required exactly with integer zero points
  // With act_order, to dequantise GPTQ: [K] int32, the group of each column.
  DeviceInput group_index;
  // With act_order, for all else: [K] int32, packed column j is column permutation[j].
  DeviceInput permutation;
};

struct DequantizeArgs {
  WeightSource source;
  DeviceOutput w;  // [N, K] row-major, output.dtype
};

struct RepackArgs {
  WeightSource source;
  DeviceOutput packed;  // WeightLayout::total_bytes
};

struct QuantizeWeightArgs {
  DeviceInput w;        // [N, K] row-major, input.dtype
  DeviceOutput packed;  // WeightLayout::total_bytes
};

// Packed weights, or a checkpoint's, to 16-bit floats.
class HEDDLE_EXPORT DequantizeKernel : public OperationKernel {
 public:
  static constexpr Op kOp = Op::kDequantize;
  explicit DequantizeKernel(const Kernel& kernel) : OperationKernel(kernel, kOp) {}

  void launch(const DequantizeArgs& args, Stream stream) const;
};

// A checkpoint's weights to packed weights.
class HEDDLE_EXPORT RepackKernel : public OperationKernel {
 public:
  static constexpr Op kOp = Op::kRepack;
  explicit RepackKernel(const Kernel& kernel) : OperationKernel(kernel, kOp) {}

  void launch(const RepackArgs& args, Stream stream) const;
};

// 16-bit floats to packed weights.
class HEDDLE_EXPORT QuantizeWeightKernel : public OperationKernel {
 public:
  static constexpr Op kOp = Op::kQuantizeWeight;
  explicit QuantizeWeightKernel(const Kernel& kernel) : OperationKernel(kernel, kOp) {}

  void launch(const QuantizeWeightArgs& args, Stream stream) const;
};

}  // namespace heddle

#endif  // HEDDLE_WEIGHT_KERNELS_H_
