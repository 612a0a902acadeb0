#include "tools/heddle/run/tune_device.h"

#include "heddle/error.h"
#include "heddle/inspect/source.h"
#include "tools/gpu_harness/operations/gemm/check.h"
#include "tools/heddle/run/device_check.h"
#include "tools/heddle/shared/errors.h"

namespace heddle {
namespace {

// Kernels run round after round, so the GPU is warm.
constexpr TimingBudget kReplay{.graph_us = 2000, .total_us = 0, .warm_up_us = 2000};

std::vector<Source> sources_of(const std::vector<Plan>& plans) {
  std::vector<Source> sources;
  for (const Plan& plan : plans) {
    for (Source& source : render_all(plan)) sources.push_back(std::move(source));
  }
  return sources;
}

}  // namespace

GpuTuneDevice::GpuTuneDevice(Runtime& runtime) : runtime_(runtime) {}

// What still compiles uses the runtime.
GpuTuneDevice::~GpuTuneDevice() {
  for (const std::future<void>& build : builds_) build.wait();
}

void GpuTuneDevice::compile(std::vector<Plan> plans) {
  builds_.push_back(std::async(std::launch::async, [this, plans = std::move(plans)] {
    try {
      runtime_.build(sources_of(plans));
    } catch (const Error&) {
      // admit() loads each kernel by itself and says which of them does not compile.
    }
  }));
}

void GpuTuneDevice::begin(const Plan& plan, std::int64_t max_m) {
  graphs_.clear();
  kernels_.clear();
  workspaces_.clear();
  weights_.reset();
  problem_.reset();
  problem_ = std::make_unique<GemmData>(plan.spec.gemm(), max_m);
  weights_ =
      std::make_unique<WeightCopies>(plan.spec.gemm(), problem_->helpers(), problem_->stream());
}

Admission GpuTuneDevice::admit(const Plan& plan, std::int64_t m) {
  for (std::future<void>& build : builds_) build.get();
  builds_.clear();
  try {
    kernels_.emplace_back(runtime_.load(plan));
  } catch (const Error& error) {
    const bool is_of_one =
        error.category() == ErrorCategory::kCompile || error.category() == ErrorCategory::kMissing;
    if (!is_of_one) throw;
    return {0, one_line(error.what())};
  }
  problem_->renew_workspace(kernels_.back());
  return {kernels_.size() - 1, check_gemm(kernels_.back(), *problem_, m).fault()};
}

double GpuTuneDevice::time_us(std::size_t kernel, std::int64_t m) {
  auto found = graphs_.find({kernel, m});
  if (found == graphs_.end()) {
    found = graphs_.emplace(std::pair{kernel, m}, graph_of(kernel, m)).first;
  }
  return found->second.replay_us();
}

TimedGraph GpuTuneDevice::graph_of(std::size_t kernel, std::int64_t m) {
  const std::vector<DeviceBuffer>& copies = weights_->packed();
  const DeviceBuffer& workspace = workspace_for(kernels_[kernel]);
  const auto launch = [&](int n) {
    const auto copy = static_cast<std::size_t>(n) % copies.size();
    GemmArgs args = problem_->args(m, copies[copy].memory());
    args.workspace = workspace.memory();
    kernels_[kernel].launch(args, problem_->stream().get());
  };
  return {problem_->stream(), {static_cast<int>(copies.size()), launch}, kReplay};
}

const DeviceBuffer& GpuTuneDevice::workspace_for(const GemmKernel& kernel) {
  const std::size_t bytes = kernel.max_workspace_bytes();
  if (workspaces_.empty() || workspaces_.back().bytes() < bytes) {
    workspaces_.emplace_back(bytes);
    workspaces_.back().fill(0, problem_->stream());
  }
  return workspaces_.back();
}

}  // namespace heddle
