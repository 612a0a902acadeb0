// The GPU of this machine, as `heddle tune` measures kernels on it.
#ifndef HEDDLE_TOOLS_HEDDLE_RUN_TUNE_DEVICE_H_
#define HEDDLE_TOOLS_HEDDLE_RUN_TUNE_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "heddle/runtime.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/operations/gemm/data.h"
#include "tools/gpu_harness/operations/gemm/weight_copies.h"
#include "tools/gpu_harness/timing/graph_timer.h"
#include "tools/tune/tuner.h"

namespace heddle {

// Results are checked as `heddle run` does, times measured in CUDA graphs over weights that no
// cache holds, as `heddle bench` does.
class GpuTuneDevice final : public TuneDevice {
 public:
  // The runtime must outlive it. Throws Error(kDriver).
  explicit GpuTuneDevice(Runtime& runtime);
  ~GpuTuneDevice() override;

  void compile(std::vector<Plan> plans) override;
  void begin(const Plan& plan, std::int64_t max_m) override;
  Admission admit(const Plan& plan, std::int64_t m) override;
  double time_us(std::size_t kernel, std::int64_t m) override;

 private:
  TimedGraph graph_of(std::size_t kernel, std::int64_t m);
  const DeviceBuffer& workspace_for(const GemmKernel& kernel);

  cuda::CurrentContext context_;
  Runtime& runtime_;
  std::vector<std::future<void>> builds_;  // in the background
  // The gemm that is being measured:
  std::unique_ptr<GemmData> problem_;
  std::unique_ptr<WeightCopies> weights_;
  // Ascending in size. Kernels share them, since each launch leaves one as it found it; graphs hold
  // their addresses.
  std::vector<DeviceBuffer> workspaces_;
  std::vector<GemmKernel> kernels_;
  std::map<std::pair<std::size_t, std::int64_t>, TimedGraph> graphs_;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_RUN_TUNE_DEVICE_H_
