// Kernel::State: the loaded code behind a Kernel.
#ifndef HEDDLE_RUNTIME_KERNEL_STATE_H_
#define HEDDLE_RUNTIME_KERNEL_STATE_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "heddle/binary.h"
#include "heddle/kernel.h"
#include "heddle/plan.h"
#include "runtime/driver.h"
#include "runtime/launch_checks.h"

namespace heddle {

// One kernel's code. A CUlibrary belongs to no context, so it outlives the one it was loaded in.
class LoadedKernel {
 public:
  // Loads the cubin from memory and lifts the limit of dynamic shared memory once.
  // Throws Error(kDriver).
  LoadedKernel(const Binary& binary, int shared_bytes, cuda::CUdevice device);
  ~LoadedKernel();
  LoadedKernel(LoadedKernel&& other) noexcept;
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;
  LoadedKernel& operator=(LoadedKernel&&) = delete;

  // The driver takes a CUkernel wherever it takes a CUfunction.
  cuda::CUfunction function() const noexcept { return reinterpret_cast<cuda::CUfunction>(kernel_); }
  cuda::CUkernel kernel() const noexcept { return kernel_; }

  // One driver call, and nothing else. `dependent`: the kernel may start before the one before it
  // in the stream has ended, and waits for that one itself. Throws Error(kDriver).
  void launch(const LaunchGrid& grid, int threads, int shared_bytes, void** parameters,
              Stream stream, bool dependent = false) const;

 private:
  const cuda::Driver* driver_ = nullptr;
  cuda::CUlibrary library_ = nullptr;
  cuda::CUkernel kernel_ = nullptr;
};

// Immutable once made.
struct Kernel::State {
  Plan plan;
  std::vector<LoadedKernel> kernels;  // as the plan counts them
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_KERNEL_STATE_H_
