#include "heddle/runtime.h"

#include <fmt/core.h>

#include <mutex>
#include <utility>

#include "heddle/error.h"
#include "runtime/builder.h"
#include "runtime/context.h"
#include "runtime/device.h"
#include "runtime/kernel_state.h"
#include "runtime/recorder.h"

namespace heddle {
namespace {

// The current context's device, else the device `ordinal`.
cuda::CUdevice device_at_hand(int ordinal) {
  const cuda::Driver& cu = cuda::driver();
  cuda::CUcontext context = nullptr;
  cuda::check(cu.cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  cuda::CUdevice device = 0;
  if (context != nullptr) {
    cuda::check(cu.cuCtxGetDevice(&device), "cuCtxGetDevice");
  } else {
    cuda::check(cu.cuDeviceGet(&device, ordinal), "cuDeviceGet");
  }
  return device;
}

// Machine code runs on later minor revisions of its major one; with the architecture's own
// features ("sm_90a") on no other.
void check_device(const Plan& plan, const Target& device) {
  const Target& made_for = plan.target;
  const bool exact = compiler_arch(made_for).back() == 'a';
  const bool fits = made_for.major == device.major &&
                    (exact ? made_for.minor == device.minor : made_for.minor <= device.minor);
  if (fits) return;
  throw Error(ErrorCategory::kUsage, "runtime.wrong_device",
              fmt::format("the plan was resolved for {} (compute capability {}.{}), but the device "
                          "is {} ({}.{})",
                          made_for.name, made_for.major, made_for.minor, device.name, device.major,
                          device.minor));
}

}  // namespace

struct Runtime::Impl {
  explicit Impl(RuntimeOptions options)
      : logger(std::move(options.log)), builder(options, &logger), recorder(options, &logger) {}

  void keep_primary_context(cuda::CUdevice device);
  std::vector<BuildResult> build_for(const Plan& plan, const std::vector<Source>& sources);
  LoadedKernel load_kernel(const Source& source, const BuildResult& built, cuda::CUdevice device);

  Logger logger;
  Builder builder;
  Recorder recorder;
  std::mutex mutex;
  // Held where the caller has no context, so that the driver does not make and destroy the primary
  // context anew for every kernel.
  std::unique_ptr<cuda::PrimaryContext> primary;
};

void Runtime::Impl::keep_primary_context(cuda::CUdevice device) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (!primary) primary = std::make_unique<cuda::PrimaryContext>(device);
}

// A kernel that strict mode misses is told with the spec that would have made it.
std::vector<BuildResult> Runtime::Impl::build_for(const Plan& plan,
                                                  const std::vector<Source>& sources) {
  recorder.record(plan);
  try {
    return builder.build(sources, {});
  } catch (const Error& error) {
    if (error.category() != ErrorCategory::kMissing) throw;
    throw Error(error.category(), error.code(),
                fmt::format("{}; add this spec for {} ({}): {}", error.what(), plan.target.name,
                            compiler_arch(plan.target), plan.spec.canonical_json()));
  }
}

LoadedKernel Runtime::Impl::load_kernel(const Source& source, const BuildResult& built,
                                        cuda::CUdevice device) {
  const int shared_bytes = source.dynamic_shared_bytes;
  try {
    return {*built.binary, shared_bytes, device};
  } catch (const Error& error) {
    // A cached binary that the driver refuses is stale in a way that no key can tell.
    if (!built.hit) throw;
    logger.log(LogLevel::kWarning,
               fmt::format("compiling {} again: {}", source.kernel_name, error.what()));
  }
  return {*builder.rebuild(source, built.binary), shared_bytes, device};
}

Runtime::Runtime(RuntimeOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Runtime::~Runtime() = default;

std::vector<BuildResult> Runtime::build(const std::vector<Source>& sources,
                                        const BuildProgress& progress) {
  return impl_->builder.build(sources, progress);
}

Target Runtime::device_target(int ordinal) { return target_of_device(device_at_hand(ordinal)); }

bool Runtime::has_device(std::string* why_not) {
  const cuda::Driver* cu = cuda::try_driver(why_not);
  if (cu == nullptr) return false;
  int count = 0;
  if (cu->cuDeviceGetCount(&count) == cuda::CUDA_SUCCESS && count > 0) return true;
  if (why_not != nullptr) *why_not = "the NVIDIA driver finds no device";
  return false;
}

Kernel Runtime::kernel(const Spec& spec) { return load(resolve(spec, device_target())); }

Kernel Runtime::load(const Plan& plan) {
  const cuda::CurrentContext context;
  if (context.retained()) impl_->keep_primary_context(context.device());
  check_device(plan, target_of_device(context.device()));
  const std::vector<Source> sources = render_all(plan);
  const std::vector<BuildResult> built = impl_->build_for(plan, sources);
  auto state = std::make_shared<Kernel::State>();
  state->plan = plan;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    state->kernels.push_back(impl_->load_kernel(sources[i], built[i], context.device()));
  }
  return Kernel(std::move(state));
}

std::string Runtime::compiler_identity() { return impl_->builder.nvrtc().identity(); }

std::vector<int> Runtime::compiler_archs() { return impl_->builder.nvrtc().archs(); }

}  // namespace heddle
