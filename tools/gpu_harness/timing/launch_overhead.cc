#include "tools/gpu_harness/timing/launch_overhead.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "generator/operations/kernel_argument.h"
#include "heddle/inspect/source.h"
#include "runtime/launch/gemm_launch.h"
#include "runtime/launch/kernel_state.h"
#include "tools/gpu_harness/timing/median.h"

namespace heddle {
namespace {

constexpr double kFewestRounds = 11;
constexpr double kMostRounds = 201;
constexpr double kMostSeconds = 2;  // of both kinds
constexpr int kLaunches = 100;      // well under what the driver queues before it blocks

double microseconds_per_launch(const OwnedStream& stream, const std::function<void()>& launch) {
  stream.synchronize();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kLaunches; ++i) launch();
  const std::chrono::duration<double, std::micro> elapsed =
      std::chrono::steady_clock::now() - start;
  stream.synchronize();
  return elapsed.count() / kLaunches;
}

// Until the kernels have ended.
double seconds_of_round(const OwnedStream& stream, const std::function<void()>& launch) {
  const auto start = std::chrono::steady_clock::now();
  microseconds_per_launch(stream, launch);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int launch_rounds(double seconds_of_one) {
  return static_cast<int>(
      std::clamp(kMostSeconds / (2 * seconds_of_one), kFewestRounds, kMostRounds));
}

LaunchOverhead measure_launch_overhead(Runtime& runtime, const GemmKernel& kernel,
                                       const GemmArgs& args, const OwnedStream& stream) {
  const cuda::Driver& cu = cuda::driver();
  const Plan& plan = kernel.plan();
  const std::size_t index = plan.kernel_for(args.m);
  const PlannedKernel& planned = plan.kernels[index];
  cuda::CUdevice device = 0;
  cuda::check(cu.cuCtxGetDevice(&device), "cuCtxGetDevice");
  // The very same code, loaded a second time: from the cache that `kernel` came from.
  const BuildResult built = runtime.build({render(plan, index)}).front();
  const LoadedKernel loaded(*built.binary, planned.shared_bytes, device);

  const KernelLaunch launch = plan.launch(index, {args.m});
  GemmArguments arguments(plan, args);
  arguments.read_tokens(cu, plan, planned);
  arguments.list().set(KernelArgument::kSchedule, &launch.schedule);
  const LaunchConfig config(planned, launch, stream.get());
  void** list = arguments.list().of(planned);
  const auto bare = [&] {
    const cuda::CUresult result =
        cu.cuLaunchKernelEx(config.get(), loaded.function(), list, nullptr);
    if (result != cuda::CUDA_SUCCESS) cuda::check(result, "cuLaunchKernelEx");
  };
  const auto own = [&] { kernel.launch(args, stream.get()); };

  microseconds_per_launch(stream, bare);
  const int rounds = launch_rounds(seconds_of_round(stream, own));
  std::vector<double> bare_times;
  std::vector<double> own_times;
  for (int round = 0; round < rounds; ++round) {
    // Who goes first changes, as what it finds does.
    if (round % 2 == 0) bare_times.push_back(microseconds_per_launch(stream, bare));
    own_times.push_back(microseconds_per_launch(stream, own));
    if (round % 2 != 0) bare_times.push_back(microseconds_per_launch(stream, bare));
  }
  return {median(own_times), median(bare_times)};
}

}  // namespace heddle
