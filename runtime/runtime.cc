#include "heddle/runtime.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "generator/null_byte.h"
#include "heddle/error.h"
#include "runtime/driver/device.h"
#include "runtime/launch/launch_checks.h"
#include "runtime/log_threshold.h"
#include "runtime/runtime_impl.h"
#include "runtime/statistics_file.h"
#include "runtime/tables/bundled_tables.h"

namespace heddle {
namespace {

// Whether the driver said that the code itself is of no use, and not that it lacks memory, say.
bool is_refusal(const Error& error) {
  for (const char* name : {"INVALID_IMAGE", "NO_BINARY_FOR_GPU", "INVALID_PTX", "INVALID_SOURCE",
                           "UNSUPPORTED_PTX_VERSION", "NOT_FOUND"}) {
    if (error.code() == fmt::format("driver.CUDA_ERROR_{}", name)) return true;
  }
  return false;
}

RuntimeOptions checked(RuntimeOptions options) {
  refuse_null_byte(options.cache_dir, "cache_dir");
  for (const std::string& root : options.read_only_roots) refuse_null_byte(root, "read_only_roots");
  refuse_null_byte(options.record_file, "record_file");
  refuse_null_byte(options.nvrtc_dir, "nvrtc_dir");
  return options;
}

}  // namespace

void Runtime::Impl::refuse_sealed(const Spec& spec) const {
  if (sealed) throw sealed_refusal(spec);
}

Error Runtime::Impl::sealed_refusal(const Spec& spec) {
  return {ErrorCategory::kMissing, "runtime.sealed",
          fmt::format("the runtime is sealed, and this spec was not prepared: {}",
                      spec.canonical_json())};
}

Runtime::Impl::Impl(RuntimeOptions options)
    : logger(options.log ? std::move(options.log) : default_log()),
      builder(options, &logger),
      recorder(options, &logger),
      tuned(options.tuned_tables,
            [this] { return bundled_tables(builder.bundled_tables(), &logger); }) {
  write_statistics_at_exit();
}

void Runtime::Impl::keep_primary_context(const cuda::CurrentContext& context) {
  if (!context.retained()) return;
  const std::lock_guard<std::mutex> lock(mutex);
  if (!primary) primary = std::make_unique<cuda::PrimaryContext>(context.device());
}

// Machine code runs on later minor revisions of its major one; with the architecture's own
// features ("sm_90a") on no other.
void Runtime::Impl::check_device(const Plan& plan, const cuda::CurrentContext& context) {
  const Target& made_for = plan.target;
  const Target device = target_of_device(context.device());
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

std::vector<BuildResult> Runtime::Impl::build_cancellable(const std::vector<Source>& sources,
                                                          const PrepareProgress& progress) {
  std::atomic<bool> stop{false};
  const auto tell = [&](const BuildResult& result, std::size_t done, std::size_t total) {
    if (progress && !progress(result, done, total)) stop = true;
  };
  std::vector<BuildResult> built = builder.build(sources, tell, [&] { return stop.load(); });
  if (!stop) return built;
  throw Error(ErrorCategory::kCancelled, "runtime.cancelled", "cancelled after the last kernel");
}

std::shared_ptr<const LoadedKernel> Runtime::Impl::load_kernel(const Source& source,
                                                               const BuildResult& built,
                                                               cuda::CUdevice device) {
  const int shared_bytes = source.dynamic_shared_bytes;
  try {
    return std::make_shared<LoadedKernel>(*built.binary, shared_bytes, device);
  } catch (const Error& error) {
    // A cached binary that the driver refuses is stale in a way that no key can tell.
    if (!built.hit || builder.strict() || !is_refusal(error)) throw;
    logger.log(LogLevel::kWarning,
               fmt::format("compiling {} again: {}", source.kernel_name, error.what()));
  }
  return std::make_shared<LoadedKernel>(*builder.rebuild(source, built.binary), shared_bytes,
                                        device);
}

Kernel Runtime::Impl::load(const Plan& plan) {
  const cuda::CurrentContext context;
  keep_primary_context(context);
  check_device(plan, context);
  recorder.record(plan);
  const std::vector<Source> sources = render_all(plan);
  const std::vector<BuildResult> built = builder.build(sources, {});
  std::vector<std::shared_ptr<const LoadedKernel>> code;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    code.push_back(load_kernel(sources[i], built[i], context.device()));
  }
  return assemble_kernel(plan, std::move(code));
}

Runtime::Runtime(RuntimeOptions options)
    : impl_(std::make_unique<Impl>(checked(std::move(options)))) {}
Runtime::~Runtime() = default;

void Runtime::check_operation(Op of_spec, Op of_handle) { check_handle(of_spec, of_handle); }

std::vector<BuildResult> Runtime::build(const std::vector<Source>& sources,
                                        const BuildProgress& progress) {
  if (!progress) return build_cancellable(sources, {});
  return build_cancellable(sources,
                           [&](const BuildResult& result, std::size_t done, std::size_t total) {
                             progress(result, done, total);
                             return true;
                           });
}

std::vector<BuildResult> Runtime::build_cancellable(const std::vector<Source>& sources,
                                                    const PrepareProgress& progress) {
  if (impl_->sealed) {
    throw Error(ErrorCategory::kMissing, "runtime.sealed",
                "the runtime is sealed and builds nothing more");
  }
  return impl_->build_cancellable(sources, progress);
}

std::vector<BuildResult> Runtime::find(const std::vector<Source>& sources) {
  return impl_->builder.find(sources);
}

Target Runtime::device_target(int ordinal) {
  return target_of_device(cuda::device_at_hand(ordinal));
}

bool Runtime::has_device(std::string* why_not) {
  const cuda::Driver* cu = cuda::try_driver(why_not);
  if (cu == nullptr) return false;
  int count = 0;
  if (cu->cuDeviceGetCount(&count) == cuda::CUDA_SUCCESS && count > 0) return true;
  if (why_not != nullptr) *why_not = "the NVIDIA driver finds no device";
  return false;
}

Kernel Runtime::load(const Plan& plan) {
  impl_->refuse_sealed(plan.spec);
  return impl_->load(plan);
}

const TunedTables& Runtime::tuned_tables() { return impl_->tuned.tables(); }

void Runtime::set_tuned_tables(const std::string& list) { impl_->tuned.replace(list); }

std::string Runtime::compiler_identity() { return impl_->builder.nvrtc().identity(); }

std::vector<int> Runtime::compiler_archs() { return impl_->builder.nvrtc().archs(); }

}  // namespace heddle
