// Runtime::Impl: what a Runtime owns, and the way from a plan to a loaded kernel.
#ifndef HEDDLE_RUNTIME_RUNTIME_IMPL_H_
#define HEDDLE_RUNTIME_RUNTIME_IMPL_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "heddle/error.h"
#include "heddle/runtime.h"
#include "runtime/compile/builder.h"
#include "runtime/driver/context.h"
#include "runtime/launch/kernel_state.h"
#include "runtime/logger.h"
#include "runtime/prepare/kernel_table.h"
#include "runtime/prepare/request_queue.h"
#include "runtime/recorder.h"
#include "runtime/tables/tuned_files.h"

namespace heddle {

// Any thread may call any function.
struct Runtime::Impl {
  explicit Impl(RuntimeOptions options);

  // Throws Error(kMissing, "runtime.sealed") after Runtime::seal().
  void refuse_sealed(const Spec& spec) const;
  static Error sealed_refusal(const Spec& spec);

  // Where `context` retained the primary context, keeps it, so that the driver does not make and
  // destroy it anew for every kernel.
  void keep_primary_context(const cuda::CurrentContext& context);

  // Throws Error(kUsage, "runtime.wrong_device") for a plan of another device than the context's.
  void check_device(const Plan& plan, const cuda::CurrentContext& context);

  // As Runtime::build_cancellable; `progress` may be empty.
  std::vector<BuildResult> build_cancellable(const std::vector<Source>& sources,
                                             const PrepareProgress& progress);

  // Loads the code of one kernel; compiles it again if it was cached and the driver refuses it.
  std::shared_ptr<const LoadedKernel> load_kernel(const Source& source, const BuildResult& built,
                                                  cuda::CUdevice device);

  // Plan to kernel, in the current context; it is not kept.
  Kernel load(const Plan& plan);

  Logger logger;
  Builder builder;
  Recorder recorder;
  TunedFiles tuned;
  KernelTable kernels;
  std::atomic<bool> sealed{false};
  std::mutex mutex;
  std::unique_ptr<cuda::PrimaryContext> primary;  // guarded by mutex
  RequestQueue requests;                          // last: its thread uses all of the above
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_RUNTIME_IMPL_H_
