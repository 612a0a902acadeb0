// Kernel: a loaded operation, ready to launch for every M of its spec.
#ifndef HEDDLE_KERNEL_H_
#define HEDDLE_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "heddle/attention_args.h"
#include "heddle/export.h"
#include "heddle/kv_args.h"
#include "heddle/plan.h"
#include "heddle/row_args.h"

namespace heddle {

// A CUstream or cudaStream_t; nullptr is the default stream.
using Stream = void*;

// Device pointers, each aligned to 16 bytes.
struct GemmArgs {
  const void* x = nullptr;  // [M, K] row-major, the activation's dtype
  // pack_weights() output. From sm_90 on it may be read before the kernel before this one in
  // the stream has ended, so that one must not write it: synchronise once after packing on the GPU.
  const void* weights = nullptr;
  void* y = nullptr;  // [M, N] row-major, the activation's dtype
  // [N]; required exactly if the spec has one. As of weights, the kernel before must not write it.
  const void* bias = nullptr;
  const void* residual = nullptr;  // [M, N]; required exactly if the spec has one; may be y
  // [K] of the activation's dtype; required exactly with activation.pre_scale.
  const void* pre_scale = nullptr;
  // [K] int32; required exactly with activation.act_order: packed column j of W is column
  // permutation[j] of X and of pre_scale. Each column once; checked by no one.
  const void* permutation = nullptr;
  // Required where workspace_bytes(m) > 0. Zeroed once before its first use; every launch leaves
  // it ready for the next one. Launches that may run at the same time need their own.
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  std::int64_t m = 0;
};

// Quantised weights as the spec's format has them; device pointers, each aligned to 16 bytes.
struct WeightSource {
  const void* weights = nullptr;  // packed weights, or the checkpoint's qweight
  const void* scales = nullptr;   // AWQ, GPTQ: [K / group_size, N] of scale_dtype
  const void* zeros = nullptr;    // AWQ, GPTQ: qzeros; required exactly with integer zero points
  // With act_order, to dequantise GPTQ: [K] int32, the group of each column.
  const void* group_index = nullptr;
  // With act_order, for all else: [K] int32, packed column j is column permutation[j].
  const void* permutation = nullptr;
};

struct DequantizeArgs {
  WeightSource source;
  void* w = nullptr;  // [N, K] row-major, output.dtype
};

struct RepackArgs {
  WeightSource source;
  void* packed = nullptr;  // WeightLayout::total_bytes
};

struct QuantizeWeightArgs {
  const void* w = nullptr;  // [N, K] row-major, input.dtype
  void* packed = nullptr;   // WeightLayout::total_bytes
};

// Immutable; copies share the loaded modules. Any thread may launch.
class HEDDLE_EXPORT Kernel {
 public:
  // All of them: enqueue on `stream`, in the current context, which must be of the device that the
  // kernel was loaded for. Allocate nothing, take no lock, do not synchronise, and may be captured.
  // Throw Error(kUsage) and launch nothing if the kernel is of another operation, M is outside
  // shape.m, or a pointer is missing, unexpected or misaligned; Error(kDriver) if the driver
  // refuses the launch.
  void launch(const GemmArgs& args, Stream stream) const;
  void launch(const DequantizeArgs& args, Stream stream) const;
  void launch(const RepackArgs& args, Stream stream) const;
  void launch(const QuantizeWeightArgs& args, Stream stream) const;
  void launch(const KvAppendArgs& args, Stream stream) const;
  void launch(const DecodeAttentionArgs& args, Stream stream) const;
  void launch(const RowTransformArgs& args, Stream stream) const;

  // Bytes of workspace of a gemm for a launch with this M, and the most over all M of the spec; of
  // decode_attention only the latter.
  std::size_t workspace_bytes(std::int64_t m) const;
  std::size_t max_workspace_bytes() const;

  const Plan& plan() const;

  struct State;
  explicit Kernel(std::shared_ptr<const State> state);

 private:
  std::shared_ptr<const State> state_;
};

}  // namespace heddle

#endif  // HEDDLE_KERNEL_H_
