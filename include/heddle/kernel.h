// Kernel: a loaded operation. The handle of its operation, which is made from it, launches for
// every M of the spec (heddle/operations.h).
#pragma once

#include <cstddef>
#include <memory>

#include "heddle/export.h"
#include "heddle/spec.h"

namespace heddle {

struct Plan;  // heddle/inspect/plan.h

// A CUstream or cudaStream_t; nullptr is the default stream.
using Stream = void*;

// Immutable; copies share the loaded modules. Any thread may use one.
//
// The workspace: the caller allocates max_workspace_bytes(), or GemmKernel::workspace_bytes(m), and
// sets it to zero once; every launch leaves it ready for the next one. Launches that run one after
// another may share one, whatever their kernels are; those that may run at the same time need their
// own.
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

// What all handles have in common: launch(args, stream), from any thread. It enqueues on `stream`,
// in the current context, which must be of the kernel's device. It allocates nothing, takes no
// lock, does not synchronise, and may be captured. It throws Error(kUsage) and launches nothing for
// numbers outside of the spec ("launch.m", "launch.size") and for memory that is missing,
// unexpected, misaligned or smaller than what the kernel uses of it ("launch.missing",
// "launch.unexpected", "launch.misaligned", "launch.too_small", "launch.workspace"); Error(kDriver)
// if the driver refuses.
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
