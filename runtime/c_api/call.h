// What the files of the C API share: handles, and the way from exceptions to statuses.
#ifndef HEDDLE_RUNTIME_C_API_CALL_H_
#define HEDDLE_RUNTIME_C_API_CALL_H_

#include <cstdint>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/device_memory.h"
#include "heddle/error.h"
#include "heddle/heddle.h"
#include "heddle/runtime.h"

struct heddle_runtime {
  heddle::Runtime runtime;
  // What heddle_runtime_compiler() tells, once it was asked.
  std::once_flag compiler_once{};
  std::string compiler{};
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
// Both throw Error(kUsage): "api.null", "api.index".
void need(const void* pointer, const char* name);
void need_index(std::size_t index, std::size_t count, const char* name);
// For lists: throws Error(kUsage, "api.count") for more elements than any list has, which a wrong
// computation gives.
void need_count(std::size_t count, const char* name);

// Throws Error(kUsage) for null with a length ("api.null") and for an absurd length
// ("api.text_size"), before the text is read.
std::string_view view(const char* data, std::size_t length);
inline std::string_view view(const heddle_text& text) { return view(text.data, text.length); }

// A text that is a path, or a list of them: without zeros, which would end it early. Throws
// Error(kUsage, "api.path").
std::string path_of(std::string_view text, const char* name);

// A text that its owner keeps for as long as the handle that it is asked of.
inline heddle_text text_of(const std::string& text) { return {text.c_str(), text.size()}; }
// One of the library's own words, which ends in a zero and is always there.
inline heddle_text text_of_word(std::string_view word) { return {word.data(), word.size()}; }
// For texts that no handle keeps: writes at most `capacity` bytes of it, and how long all of it is.
// Throws Error(kUsage, "api.null").
void fill(const std::string& from, char* text, std::size_t capacity, std::size_t* length);

// Throws Error(kUsage, "api.op") for an operation without weights.
Spec spec_with_weight(const char* spec, std::size_t spec_length);
// Throws the same for another operation than `op`.
Spec spec_of(Op op, const char* spec, std::size_t spec_length);

// What a launch is of. Throws Error(kUsage, "launch.op") for a kernel of another operation.
const Kernel::State& state_of(const heddle_kernel* kernel, Op op);
// Throws the same for another operation than the one that is wanted.
void need_op(Op own, Op wanted);

inline DeviceInput memory_of(const heddle_input& input) noexcept {
  return {input.data, input.bytes};
}
inline DeviceOutput memory_of(const heddle_output& output) noexcept {
  return {output.data, output.bytes};
}

}  // namespace heddle::c_api

#endif  // HEDDLE_RUNTIME_C_API_CALL_H_
