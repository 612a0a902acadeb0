#include "tools/gpu_harness/launch_overhead.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "heddle/source.h"
#include "runtime/gemm_launch.h"
#include "runtime/gemm_parameters.h"
#include "runtime/kernel_state.h"

namespace heddle {
namespace {

constexpr int kRounds = 41;
constexpr int kLaunches = 100;  // well under what the driver queues before it blocks

double microseconds_per_launch(const OwnedStream& stream, const std::function<void()>& launch) {
  stream.synchronize();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kLaunches; ++i) launch();
  const std::chrono::duration<double, std::micro> elapsed =
      std::chrono::steady_clock::now() - start;
  stream.synchronize();
  return elapsed.count() / kLaunches;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

cuda::CUlaunchConfig config_for(const Plan& plan, const GemmVariant& variant, std::int64_t m,
                                const OwnedStream& stream) {
  const LaunchGrid grid = launch_grid(plan, variant, m);
  cuda::CUlaunchConfig config{};
  config.gridDimX = grid.x;
  config.gridDimY = grid.y;
  config.gridDimZ = grid.z;
  config.blockDimX = static_cast<unsigned int>(variant.threads());
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = static_cast<unsigned int>(variant.shared_bytes);
  config.hStream = stream.get();
  return config;
}

}  // namespace

LaunchOverhead measure_launch_overhead(Runtime& runtime, const Kernel& kernel, const GemmArgs& args,
                                       const OwnedStream& stream) {
  const cuda::Driver& cu = cuda::driver();
  const Plan& plan = kernel.plan();
  const std::size_t index = plan.variant_for(args.m);
  const GemmVariant& variant = plan.variants[index];
  cuda::CUdevice device = 0;
  cuda::check(cu.cuCtxGetDevice(&device), "cuCtxGetDevice");
  // The very same code, loaded a second time: from the cache that `kernel` came from.
  const BuildResult built = runtime.build({render(plan, index)}).front();
  const LoadedKernel loaded(*built.binary, variant.shared_bytes, device);

  GemmParameters parameters(cu, plan, variant, args, args.x);
  cuda::CUlaunchConfig config = config_for(plan, variant, args.m, stream);
  cuda::CUlaunchAttribute cluster{};
  cluster.id = cuda::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim = {launch_grid(plan, variant, args.m).cluster, 1, 1};
  config.attrs = &cluster;
  config.numAttrs = 1;
  const auto bare = [&] {
    const cuda::CUresult result =
        cu.cuLaunchKernelEx(&config, loaded.function(), parameters.list(), nullptr);
    if (result != cuda::CUDA_SUCCESS) cuda::check(result, "cuLaunchKernelEx");
  };
  const auto own = [&] { kernel.launch(args, stream.get()); };

  microseconds_per_launch(stream, bare);
  microseconds_per_launch(stream, own);
  std::vector<double> bare_times;
  std::vector<double> own_times;
  for (int round = 0; round < kRounds; ++round) {
    bare_times.push_back(microseconds_per_launch(stream, bare));
    own_times.push_back(microseconds_per_launch(stream, own));
  }
  return {median(own_times), median(bare_times)};
}

}  // namespace heddle
