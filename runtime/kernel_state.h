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

namespace heddle {

// One variant's code. A CUlibrary belongs to no context, so it outlives the one it was loaded in.
class LoadedVariant {
 public:
  // Loads the cubin from memory and lifts the limit of dynamic shared memory once.
  // Throws Error(kDriver).
  LoadedVariant(const Binary& binary, int shared_bytes, cuda::CUdevice device);
  ~LoadedVariant();
  LoadedVariant(LoadedVariant&& other) noexcept;
  LoadedVariant(const LoadedVariant&) = delete;
  LoadedVariant& operator=(const LoadedVariant&) = delete;
  LoadedVariant& operator=(LoadedVariant&&) = delete;

  // The driver takes a CUkernel wherever it takes a CUfunction.
  cuda::CUfunction function() const noexcept { return reinterpret_cast<cuda::CUfunction>(kernel_); }
  cuda::CUkernel kernel() const noexcept { return kernel_; }

 private:
  cuda::CUlibrary library_ = nullptr;
  cuda::CUkernel kernel_ = nullptr;
};

// Immutable once made.
struct Kernel::State {
  Plan plan;
  std::vector<LoadedVariant> variants;  // in the plan's order
  const cuda::Driver* driver = nullptr;
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_KERNEL_STATE_H_
