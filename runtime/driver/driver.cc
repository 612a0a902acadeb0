#include "runtime/driver/driver.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <pthread.h>

#include <atomic>
#include <optional>

#include "heddle/error.h"

namespace heddle::cuda {
namespace {

using GetProcAddress = CUresult (*)(const char* symbol, void** function, int version,
                                    std::uint64_t flags, CUdriverProcAddressQueryResult* status);

// What opening the driver came to; a failure is kept, so that every call reports the same.
struct Opened {
  Driver table;
  std::optional<Error> error;
};

// CUDA's state does not survive a fork: calls in the child fail, hang or worse. What was never
// started has none.
std::atomic<bool> started{false};
std::atomic<bool> forked{false};

Error failure(const char* code, std::string message) {
  return {ErrorCategory::kDriver, code, std::move(message)};
}

// cuGetErrorName and cuGetErrorString leave the pointer null for results they do not know.
Error driver_error(const Driver& table, CUresult result, const char* call) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (table.cuGetErrorName != nullptr) table.cuGetErrorName(result, &name);
  if (table.cuGetErrorString != nullptr) table.cuGetErrorString(result, &text);
  const std::string code = name != nullptr ? name : fmt::format("{}", static_cast<int>(result));
  return failure(("driver." + code).c_str(),
                 fmt::format("{} failed: {} ({})", call, code, text != nullptr ? text : "unknown"));
}

void* lookup(GetProcAddress get_proc_address, const char* name, int version) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status{};
  const CUresult result =
      get_proc_address(name, &function, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status);
  return result == CUDA_SUCCESS && status == CU_GET_PROC_ADDRESS_SUCCESS ? function : nullptr;
}

Opened open_driver() {
  Opened opened;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    opened.error =
        failure("driver.missing", fmt::format("the NVIDIA driver's library cannot be opened: {}",
                                              reason != nullptr ? reason : "libcuda.so.1"));
    return opened;
  }
  const auto get_proc_address =
      reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  if (get_proc_address == nullptr) {
    opened.error = failure("driver.too_old",
                           "the NVIDIA driver has no cuGetProcAddress_v2; Heddle needs a driver "
                           "of CUDA 12.0 or newer");
    return opened;
  }
  std::string missing;
#define HEDDLE_CUDA_LOOKUP(name, version, parameters)                                          \
  opened.table.name =                                                                          \
      reinterpret_cast<decltype(opened.table.name)>(lookup(get_proc_address, #name, version)); \
  if (opened.table.name == nullptr) missing += missing.empty() ? #name : ", " #name;
  HEDDLE_CUDA_FUNCTIONS(HEDDLE_CUDA_LOOKUP)
#undef HEDDLE_CUDA_LOOKUP
  if (!missing.empty()) {
    opened.error = failure("driver.too_old",
                           fmt::format("the NVIDIA driver lacks {}; Heddle needs a driver of CUDA "
                                       "12.0 or newer",
                                       missing));
    return opened;
  }
  // Before the driver's own start, so that no child slips through.
  pthread_atfork(nullptr, nullptr, [] { forked = started.load(); });
  started = true;
  const CUresult result = opened.table.cuInit(0);
  if (result != CUDA_SUCCESS) {
    started = false;
    opened.error = driver_error(opened.table, result, "cuInit");
  }
  return opened;
}

const Opened& opened_driver() {
  // Never destroyed: kernels may be released after the static destructors have begun.
  static const Opened& opened = *new Opened(open_driver());
  return opened;
}

}  // namespace

bool driver_is_forked() noexcept { return forked.load(std::memory_order_relaxed); }

void refuse_forked() {
  if (!driver_is_forked()) return;
  throw failure("driver.forked",
                "this process is a fork of one that used CUDA, which does not work in the child; "
                "fork before the first use of Heddle's kernels, or start the child with exec");
}

const Driver& driver() {
  refuse_forked();
  const Opened& opened = opened_driver();
  if (opened.error) throw Error(*opened.error);
  return opened.table;
}

const Driver* try_driver(std::string* why_not) {
  if (driver_is_forked()) {
    if (why_not != nullptr) *why_not = "this process is a fork of one that used CUDA";
    return nullptr;
  }
  const Opened& opened = opened_driver();
  if (!opened.error) return &opened.table;
  if (why_not != nullptr) *why_not = opened.error->what();
  return nullptr;
}

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  throw driver_error(opened_driver().table, result, call);
}

}  // namespace heddle::cuda
