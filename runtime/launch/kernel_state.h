// Kernel::State: the loaded code behind a Kernel.
#ifndef HEDDLE_RUNTIME_LAUNCH_KERNEL_STATE_H_
#define HEDDLE_RUNTIME_LAUNCH_KERNEL_STATE_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "heddle/inspect/binary.h"
#include "heddle/inspect/plan.h"
#include "heddle/kernel.h"
#include "runtime/counters.h"
#include "runtime/driver/driver.h"
#include "runtime/launch/argument_list.h"
#include "runtime/launch/launch_table.h"

namespace heddle {

// What one launch asks of the driver. Lives on the caller's stack, where it stays.
class LaunchConfig {
 public:
  LaunchConfig(const PlannedKernel& kernel, const KernelLaunch& launch, Stream stream) noexcept;
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;

  const cuda::CUlaunchConfig* get() const noexcept { return &config_; }

 private:
  cuda::CUlaunchConfig config_{};
  cuda::CUlaunchAttribute attributes_[2];
};

// One kernel's code. A CUlibrary belongs to no context, so it outlives the one it was loaded in.
class LoadedKernel {
 public:
  // Loads the cubin from memory, lifts the limit of dynamic shared memory once and asks for SMs
  // whose memory is shared memory as far as it can be, as all kernels do.
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
  const cuda::Driver& driver() const noexcept { return *driver_; }
  cuda::CUdevice device() const noexcept { return device_; }

  // One driver call, and a count of it. Throws Error(kDriver).
  void launch(const LaunchConfig& config, void** parameters) const;

 private:
  const cuda::Driver* driver_ = nullptr;
  cuda::CUdevice device_ = 0;
  cuda::CUlibrary library_ = nullptr;
  cuda::CUkernel kernel_ = nullptr;
  Counters::Counter* launches_ = nullptr;
};

// Immutable once made.
struct Kernel::State {
  Plan plan;
  std::vector<std::shared_ptr<const LoadedKernel>> kernels;  // as the plan counts them
  // A kernel that stands in for another until that is ready has the other's plan here, and the
  // other one the plans of all its stand-ins, with which captures go on. What users allocate must
  // do for all of them.
  std::vector<std::shared_ptr<const Plan>> counterparts{};
  // What a launch would take a while to tell: the most of plan and counterparts, and of each
  // kernel.
  std::size_t max_workspace_bytes = 0;
  std::vector<LaunchTable> launches;

  // The most that a launch of a gemm with M needs, by the plan and by its counterparts.
  std::size_t workspace_bytes(std::int64_t m) const noexcept;

  // Launches the plan's kernel `index` with the grid for this size, or with one that the caller has
  // looked up. Both throw Error(kDriver).
  void launch(std::size_t index, const LaunchSize& size, ArgumentList& arguments,
              Stream stream) const;
  void launch_as(const KernelLaunch& launch, std::size_t index, ArgumentList& arguments,
                 Stream stream) const;
};

// A kernel of loaded code, in the order of plan.kernel(). `counterparts` as in Kernel::State.
Kernel assemble_kernel(const Plan& plan, std::vector<std::shared_ptr<const LoadedKernel>> code,
                       std::vector<std::shared_ptr<const Plan>> counterparts = {});

// Its code with workspaces that also do for `other` and its counterparts; the kernel itself if
// there is no other.
Kernel with_counterpart(const Kernel& kernel, const std::optional<Kernel>& other);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_LAUNCH_KERNEL_STATE_H_
