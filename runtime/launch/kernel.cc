#include "heddle/kernel.h"

#include <algorithm>
#include <utility>

#include "runtime/driver/context.h"
#include "runtime/launch/kernel_state.h"
#include "runtime/launch/launch_checks.h"

namespace heddle {
namespace {

constexpr int kMostShared = 100;  // percent of what can be shared memory

}  // namespace

LaunchConfig::LaunchConfig(const PlannedKernel& kernel, const KernelLaunch& launch,
                           Stream stream) noexcept {
  config_.gridDimX = launch.grid_x;
  config_.gridDimY = launch.grid_y;
  config_.gridDimZ = launch.grid_z;
  config_.blockDimX = static_cast<unsigned int>(kernel.threads);
  config_.blockDimY = 1;
  config_.blockDimZ = 1;
  config_.sharedMemBytes = static_cast<unsigned int>(launch.shared_bytes < 0 ? kernel.shared_bytes
                                                                             : launch.shared_bytes);
  config_.hStream = static_cast<cuda::CUstream>(stream);
  config_.attrs = attributes_;
  if (kernel.starts_early) {
    cuda::CUlaunchAttribute& attribute = attributes_[config_.numAttrs++];
    attribute.id = cuda::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
  }
  if (launch.cluster > 1) {
    cuda::CUlaunchAttribute& attribute = attributes_[config_.numAttrs++];
    attribute.id = cuda::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {launch.cluster, 1, 1};
  }
}

LoadedKernel::LoadedKernel(const Binary& binary, int shared_bytes, cuda::CUdevice device)
    : device_(device) {
  const cuda::Driver& cu = cuda::driver();
  driver_ = &cu;
  cuda::check(cu.cuLibraryLoadData(&library_, binary.cubin.data(), nullptr, nullptr, 0, nullptr,
                                   nullptr, 0),
              "cuLibraryLoadData");
  try {
    cuda::check(cu.cuLibraryGetKernel(&kernel_, library_, binary.kernel_name.c_str()),
                "cuLibraryGetKernel");
    const auto set = [&](cuda::CUfunction_attribute attribute, int value) {
      cuda::check(cu.cuKernelSetAttribute(attribute, value, kernel_, device),
                  "cuKernelSetAttribute");
    };
    set(cuda::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes);
    // An SM that is to divide its memory otherwise must first be empty: kernels with unlike shares
    // would not overlap.
    set(cuda::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, kMostShared);
  } catch (...) {
    cu.cuLibraryUnload(library_);
    throw;
  }
  launches_ = Counters::of_process().count_load(binary.kernel_name);
}

LoadedKernel::LoadedKernel(LoadedKernel&& other) noexcept
    : driver_(other.driver_),
      device_(other.device_),
      library_(std::exchange(other.library_, nullptr)),
      kernel_(std::exchange(other.kernel_, nullptr)),
      launches_(other.launches_) {}

// At process exit the driver may be gone already and refuse; nothing is left to release then.
LoadedKernel::~LoadedKernel() {
  if (library_ == nullptr) return;
  const cuda::Driver* cu = cuda::try_driver(nullptr);
  if (cu == nullptr) return;
  const cuda::RelaxedCaptures relaxed(*cu);
  cu->cuLibraryUnload(library_);
}

void LoadedKernel::launch(const LaunchConfig& config, void** parameters) const {
  cuda::refuse_forked();
  const cuda::CUresult result =
      driver_->cuLaunchKernelEx(config.get(), function(), parameters, nullptr);
  if (result != cuda::CUDA_SUCCESS) cuda::check(result, "cuLaunchKernelEx");
  launches_->fetch_add(1, std::memory_order_relaxed);
}

std::size_t Kernel::State::workspace_bytes(std::int64_t m) const noexcept {
  std::size_t bytes = plan.workspace_bytes(m);
  for (const auto& other : counterparts) bytes = std::max(bytes, other->workspace_bytes(m));
  return bytes;
}

void Kernel::State::launch(std::size_t index, const LaunchSize& size, ArgumentList& arguments,
                           Stream stream) const {
  launch_as(launches[index].at(plan, size), index, arguments, stream);
}

void Kernel::State::launch_as(const KernelLaunch& launch, std::size_t index,
                              ArgumentList& arguments, Stream stream) const {
  const PlannedKernel& kernel = plan.kernel(index);
  arguments.set(KernelArgument::kSchedule, &launch.schedule);
  const LaunchConfig config(kernel, launch, stream);
  kernels[index]->launch(config, arguments.of(kernel));
}

Kernel::Kernel(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Op Kernel::op() const noexcept { return state_->plan.spec.op(); }

std::size_t Kernel::max_workspace_bytes() const noexcept { return state_->max_workspace_bytes; }

const Plan& Kernel::plan() const noexcept { return state_->plan; }

int Kernel::device() const noexcept { return state_->kernels.front()->device(); }

OperationKernel::OperationKernel(const Kernel& kernel, Op op) : kernel_(kernel) {
  check_handle(kernel.op(), op);
}

Kernel assemble_kernel(const Plan& plan, std::vector<std::shared_ptr<const LoadedKernel>> code,
                       std::vector<std::shared_ptr<const Plan>> counterparts) {
  auto state = std::make_shared<Kernel::State>();
  state->plan = plan;
  state->max_workspace_bytes = plan.max_workspace_bytes();
  for (const auto& other : counterparts) {
    state->max_workspace_bytes = std::max(state->max_workspace_bytes, other->max_workspace_bytes());
  }
  state->counterparts = std::move(counterparts);
  state->kernels = std::move(code);
  for (std::size_t i = 0; i < plan.kernel_count(); ++i) state->launches.emplace_back(plan, i);
  return Kernel(std::move(state));
}

Kernel with_counterpart(const Kernel& kernel, const std::optional<Kernel>& other) {
  if (!other) return kernel;
  std::vector<std::shared_ptr<const Plan>> counterparts = kernel.state().counterparts;
  counterparts.push_back(std::make_shared<Plan>(other->plan()));
  const auto& of_other = other->state().counterparts;
  counterparts.insert(counterparts.end(), of_other.begin(), of_other.end());
  return assemble_kernel(kernel.plan(), kernel.state().kernels, std::move(counterparts));
}

}  // namespace heddle
