// Y[M,N] = X[M,K] * W[N,K]^T with quantised W: the arguments of a launch, and its kernel.
#ifndef HEDDLE_GEMM_H_
#define HEDDLE_GEMM_H_

#include <cstddef>
#include <cstdint>

#include "heddle/device_memory.h"
#include "heddle/export.h"
#include "heddle/kernel.h"

namespace heddle {

// Each aligned to 16 bytes, but x_scales and y_scales that are not of groups, and x_zero_points, to
// 4.
struct GemmArgs {
  DeviceInput x;  // [M, K] row-major, the activation's dtype
  // Packed. From sm_90 on it may be read before the kernels before this one in the stream have
  // ended: synchronise once after packing on the GPU.
  DeviceInput weights;
  DeviceOutput y;  // [M, GemmSpec::output_columns()] row-major, GemmSpec::output_dtype()
  // [N] of GemmSpec::bias_dtype(); required exactly if the spec has one; as weights.
  DeviceInput bias;
  // As y, of GemmSpec::residual_dtype(); required exactly if the spec has one; may be y of that
  // type.
  DeviceInput residual;
  // [K] of the activation's dtype; required exactly with activation.pre_scale.
  DeviceInput pre_scale;
  // [K] int32; required exactly with activation.act_order: packed column j of W is column
  // permutation[j] of X. Checked by no one.
  DeviceInput permutation;
  DeviceOutput workspace;  // GemmKernel::workspace_bytes(m); required where that is not 0
  std::int64_t m = 0;
  // Required exactly with activations of 8 bits: FP32, [M] with granularity token, one with tensor,
  // with group as row_transform writes them in ScaleLayout::kColumnMajor.
  DeviceInput x_scales;
  DeviceInput x_zero_points;  // [M] int32, with activation.symmetric false; as x_scales
  // For groups: S in ScaleLayout, a multiple of 4 below 2^31. 0: m rounded up to one.
  std::int64_t x_scale_stride = 0;
  // Required exactly with y of 8 bits. With output.granularity tensor FP32, one, read, which no
  // kernel that still runs writes; outside of 2^-126 to 2^126 all codes are zero. With group
  // written as row_transform does in ScaleLayout::kColumnMajor, lines of m rounded up to a multiple
  // of 4; aligned to 16.
  DeviceOutput y_scales;
};

class HEDDLE_EXPORT GemmKernel : public OperationKernel {
 public:
  static constexpr Op kOp = Op::kGemm;
  explicit GemmKernel(const Kernel& kernel) : OperationKernel(kernel, kOp) {}

  // Bytes of workspace that a launch with this M needs; 0 if none. Throws Error(kUsage, "launch.m")
  // for an M outside of shape.m.
  std::size_t workspace_bytes(std::int64_t m) const;
  void launch(const GemmArgs& args, Stream stream) const;
};

}  // namespace heddle

#endif  // HEDDLE_GEMM_H_
