// Kernel: a loaded operation, ready to launch for every M of its spec.
#ifndef HEDDLE_KERNEL_H_
#define HEDDLE_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "heddle/export.h"
#include "heddle/plan.h"

namespace heddle {

// A CUstream or cudaStream_t; nullptr is the default stream.
using Stream = void*;

// Device pointers, each aligned to 16 bytes.
struct GemmArgs {
  const void* x = nullptr;         // [M, K] row-major, the activation's dtype
  const void* weights = nullptr;   // pack_weights() output
  void* y = nullptr;               // [M, N] row-major, the activation's dtype
  const void* bias = nullptr;      // [N]; required exactly if the spec has one
  const void* residual = nullptr;  // [M, N]; required exactly if the spec has one; may be y
  // Required where workspace_bytes(m) > 0. Zeroed once before its first use; every launch leaves
  // it ready for the next one. Launches that may run at the same time need their own.
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  std::int64_t m = 0;
};

// Immutable; copies share the loaded modules. Any thread may launch.
class HEDDLE_EXPORT Kernel {
 public:
  // Enqueues on `stream`, in the current context, which must be of the device that the kernel was
  // loaded for. Allocates nothing, takes no lock, does not synchronise, and may be captured.
  // Throws Error(kUsage) and launches nothing if M is outside shape.m, or a pointer is missing,
  // unexpected or misaligned; Error(kDriver) if the driver refuses the launch.
  void launch(const GemmArgs& args, Stream stream) const;

  // Bytes of workspace for a launch with this M, and the most over all M of the spec.
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
