// What the files of the C API share: handles, and the way from exceptions to statuses.
#ifndef HEDDLE_RUNTIME_C_API_H_
#define HEDDLE_RUNTIME_C_API_H_

#include <new>
#include <string>
#include <string_view>

#include "heddle/device_memory.h"
#include "heddle/error.h"
#include "heddle/heddle.h"
#include "heddle/runtime.h"

struct heddle_runtime {
  heddle::Runtime runtime;
};
struct heddle_kernel {
  heddle::Kernel kernel;
};
struct heddle_request {
  heddle::KernelRequest request;
};

namespace heddle::c_api {

// Keeps the error for this thread and returns its status.
heddle_status keep(const Error& error) noexcept;
heddle_status keep_out_of_memory() noexcept;
heddle_status keep_unknown(const char* what) noexcept;
// Keeps a message without a failure.
void keep_message(const std::string& message) noexcept;

// Runs work(); whatever it throws becomes a status. Allocates only where it throws.
template <typename Work>
heddle_status guarded(const Work& work) noexcept {
  try {
    work();
    return HEDDLE_OK;
  } catch (const Error& error) {
    return keep(error);
  } catch (const std::bad_alloc&) {
    return keep_out_of_memory();
  } catch (const std::exception& error) {
    return keep_unknown(error.what());
  } catch (...) {
    return keep_unknown("an exception of an unknown type");
  }
}

[[noreturn]] void refuse(const char* code, const std::string& message);
// Both throw Error(kUsage): "api.null", "api.struct_size".
void need(const void* pointer, const char* name);
void need_size(std::size_t given, std::size_t wanted, const char* name);

// Throws Error(kUsage) for null with a length ("api.null") and for an absurd length
// ("api.text_size"), before the text is read.
std::string_view view(const char* data, std::size_t length);

// What a launch is of. Throws Error(kUsage, "launch.op") for a kernel of another operation.
const Kernel::State& state_of(const heddle_kernel* kernel, Op op);

inline DeviceInput memory_of(const heddle_input& input) noexcept {
  return {input.data, input.bytes};
}
inline DeviceOutput memory_of(const heddle_output& output) noexcept {
  return {output.data, output.bytes};
}

}  // namespace heddle::c_api

#endif  // HEDDLE_RUNTIME_C_API_H_
