// Kernel: a loaded operation, ready to launch for every M of its spec.
//
// A Kernel is of any operation and has no launch. The handle of its operation has one, and is made
// from it: GemmKernel (heddle/gemm.h), DequantizeKernel, RepackKernel, QuantizeWeightKernel
// (heddle/weight_kernels.h), KvAppendKernel (heddle/kv_append.h), DecodeAttentionKernel
// (heddle/decode_attention.h), RowTransformKernel (heddle/row_transform.h).
#ifndef HEDDLE_KERNEL_H_
#define HEDDLE_KERNEL_H_

#include <cstddef>
#include <memory>

#include "heddle/export.h"
#include "heddle/spec.h"

namespace heddle {

struct Plan;  // heddle/inspect/plan.h

// A CUstream or cudaStream_t; nullptr is the default stream.
using Stream = void*;

// Immutable. Copies are cheap and share the loaded modules; there is no empty Kernel, because
// moving copies. Any thread may use one.
//
// The workspace. The caller allocates it: GemmKernel::workspace_bytes(m) for a launch with that M,
// or max_workspace_bytes() for every launch of a kernel. It sets all of it to zero once, before its
// first use; every launch leaves it ready for the next one. Launches that run one after another,
// as those of one stream do, may share one workspace, whatever their plans and operations are: it
// has the most bytes that any of them needs. Launches that may run at the same time, on several
// streams or branches of a graph, need their own.
class HEDDLE_EXPORT Kernel {
 public:
  Kernel(const Kernel&) = default;
  Kernel& operator=(const Kernel&) = default;

  Op op() const noexcept;
  // Bytes of workspace that suffice for every launch; 0 if none needs any.
  std::size_t max_workspace_bytes() const noexcept;

  const Plan& plan() const noexcept;
  // The ordinal of the device that it was loaded for.
  int device() const noexcept;

  // The library's own.
  struct State;
  explicit Kernel(std::shared_ptr<const State> state);
  const State& state() const noexcept { return *state_; }

 private:
  std::shared_ptr<const State> state_;
};

// What the handles of all operations have in common. As cheap to copy as a Kernel; any thread may
// launch.
//
// Each has one launch(args, stream). It enqueues on `stream`, in the current context, which must be
// of the device that the kernel was loaded for. It allocates nothing, takes no lock, does not
// synchronise, and may be captured. It throws Error(kUsage) and launches nothing if a number is
// outside of what the spec allows ("launch.m", "launch.size"), or memory is missing, unexpected,
// misaligned or smaller than what the kernel reads or writes of it ("launch.missing",
// "launch.unexpected", "launch.misaligned", "launch.too_small", of the workspace
// "launch.workspace"); Error(kDriver) if the driver refuses the launch.
class HEDDLE_EXPORT OperationKernel {
 public:
  const Kernel& kernel() const noexcept { return kernel_; }
  const Plan& plan() const noexcept { return kernel_.plan(); }
  std::size_t max_workspace_bytes() const noexcept { return kernel_.max_workspace_bytes(); }

 protected:
  // Throws Error(kUsage, "kernel.operation") for a kernel of another operation.
  OperationKernel(const Kernel& kernel, Op op);
  ~OperationKernel() = default;
  OperationKernel(const OperationKernel&) = default;
  OperationKernel& operator=(const OperationKernel&) = default;

 private:
  Kernel kernel_;
};

}  // namespace heddle

#endif  // HEDDLE_KERNEL_H_
