// The C API: errors, runtimes, kernels. Launches are in c_api_launch.cc, weights in
// c_api_weights.cc.
#include "runtime/c_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/version.h"

namespace heddle::c_api {
namespace {

struct LastError {
  std::string code;
  std::string message;
  std::string log;
};

LastError& last_error() {
  thread_local LastError error;
  return error;
}

heddle_status status_of(ErrorCategory category) {
  switch (category) {
    case ErrorCategory::kSpec:
      return HEDDLE_ERROR_SPEC;
    case ErrorCategory::kUnsupported:
      return HEDDLE_ERROR_UNSUPPORTED;
    case ErrorCategory::kUsage:
      return HEDDLE_ERROR_USAGE;
    case ErrorCategory::kFile:
      return HEDDLE_ERROR_FILE;
    case ErrorCategory::kCompile:
      return HEDDLE_ERROR_COMPILE;
    case ErrorCategory::kDriver:
      return HEDDLE_ERROR_DRIVER;
    case ErrorCategory::kMissing:
      return HEDDLE_ERROR_MISSING;
    case ErrorCategory::kCancelled:
      return HEDDLE_ERROR_CANCELLED;
    case ErrorCategory::kInternal:
      break;
  }
  return HEDDLE_ERROR_INTERNAL;
}

// Short texts need no memory: what is left if there is none for the whole.
void keep_texts(const char* code, const char* message, const char* log) noexcept {
  LastError& last = last_error();
  try {
    last = {code, message, log};
  } catch (...) {
    last.code.clear();
    last.message.clear();
    last.log.clear();
  }
}

RuntimeOptions to_cpp(const heddle_runtime_options& from) {
  need_size(from.struct_size, sizeof from, "heddle_runtime_options");
  RuntimeOptions options;
  options.cache_dir = view(from.cache_dir.data, from.cache_dir.length);
  options.record_file = view(from.record_file.data, from.record_file.length);
  options.cache_max_bytes = from.cache_max_bytes;
  options.disk_cache = from.disk_cache != 0;
  options.strict = from.strict != 0;
  options.jobs = from.jobs;
  if (from.log != nullptr) {
    options.log = [log = from.log, user = from.log_user](LogLevel level, std::string_view text) {
      log(user, static_cast<std::int32_t>(level), text.data(), text.size());
    };
  }
  return options;
}

}  // namespace

heddle_status keep(const Error& error) noexcept {
  keep_texts(error.code().c_str(), error.what(), error.log().c_str());
  return status_of(error.category());
}

heddle_status keep_out_of_memory() noexcept {
  keep_texts("memory", "out of memory", "");
  return HEDDLE_ERROR_OUT_OF_MEMORY;
}

heddle_status keep_unknown(const char* what) noexcept {
  keep_texts("internal", what, "");
  return HEDDLE_ERROR_INTERNAL;
}

void keep_message(const std::string& message) noexcept { keep_texts("", message.c_str(), ""); }

void refuse(const char* code, const std::string& message) {
  throw Error(ErrorCategory::kUsage, code, message);
}

void need(const void* pointer, const char* name) {
  if (pointer == nullptr) refuse("api.null", fmt::format("{} is null", name));
}

void need_size(std::size_t given, std::size_t wanted, const char* name) {
  if (given == wanted) return;
  refuse("api.struct_size",
         fmt::format("struct_size of {} is {}, this library's is {}", name, given, wanted));
}

std::string_view view(const char* data, std::size_t length) {
  if (data == nullptr && length > 0) refuse("api.null", "a text is null but has a length");
  // No spec and no path is nearly as long, and a length that was computed wrongly is much longer.
  constexpr std::size_t kLongestText = std::size_t{64} << 20;
  if (length > kLongestText) {
    refuse("api.text_size",
           fmt::format("a text has a length of {}; allowed: up to {} bytes", length, kLongestText));
  }
  return length == 0 ? std::string_view() : std::string_view(data, length);
}

}  // namespace heddle::c_api

using heddle::c_api::guarded;
using heddle::c_api::need;
using heddle::c_api::view;

const char* heddle_status_name(heddle_status status) {
  static const char* const names[] = {"ok",      "spec",      "unsupported",  "usage",
                                      "file",    "compile",   "driver",       "internal",
                                      "missing", "cancelled", "out of memory"};
  return status >= HEDDLE_OK && status <= HEDDLE_ERROR_OUT_OF_MEMORY ? names[status] : "unknown";
}

const char* heddle_version(void) { return HEDDLE_VERSION; }

const char* heddle_error_code(void) { return heddle::c_api::last_error().code.c_str(); }
const char* heddle_error_message(void) { return heddle::c_api::last_error().message.c_str(); }
const char* heddle_error_log(void) { return heddle::c_api::last_error().log.c_str(); }

heddle_status heddle_runtime_options_init(heddle_runtime_options* options, size_t struct_size) {
  return guarded([&] {
    need(options, "options");
    heddle::c_api::need_size(struct_size, sizeof *options, "heddle_runtime_options");
    const heddle::RuntimeOptions defaults;
    *options = {};
    options->struct_size = struct_size;
    options->cache_max_bytes = defaults.cache_max_bytes;
    options->disk_cache = defaults.disk_cache ? 1 : 0;
  });
}

heddle_status heddle_runtime_create(const heddle_runtime_options* options,
                                    heddle_runtime** runtime) {
  return guarded([&] {
    need(runtime, "runtime");
    *runtime = nullptr;
    *runtime = new heddle_runtime{heddle::Runtime(
        options == nullptr ? heddle::RuntimeOptions() : heddle::c_api::to_cpp(*options))};
  });
}

void heddle_runtime_destroy(heddle_runtime* runtime) { delete runtime; }

heddle_status heddle_runtime_set_tuned_tables(heddle_runtime* runtime, const char* list,
                                              size_t list_length) {
  return guarded([&] {
    need(runtime, "runtime");
    runtime->runtime.set_tuned_tables(std::string(view(list, list_length)));
  });
}

heddle_status heddle_runtime_has_device(heddle_runtime* runtime, int32_t* has_device) {
  return guarded([&] {
    need(runtime, "runtime");
    need(has_device, "has_device");
    std::string why_not;
    *has_device = runtime->runtime.has_device(&why_not) ? 1 : 0;
    if (*has_device == 0) heddle::c_api::keep_message(why_not);
  });
}

heddle_status heddle_runtime_seal(heddle_runtime* runtime) {
  return guarded([&] {
    need(runtime, "runtime");
    runtime->runtime.seal();
  });
}

heddle_status heddle_kernel_create(heddle_runtime* runtime, const char* spec, size_t spec_length,
                                   void* stream, heddle_kernel** kernel) {
  return guarded([&] {
    need(kernel, "kernel");
    *kernel = nullptr;
    need(runtime, "runtime");
    const auto parsed = heddle::Spec::parse(view(spec, spec_length));
    *kernel = new heddle_kernel{runtime->runtime.kernel(parsed, stream)};
  });
}

void heddle_kernel_destroy(heddle_kernel* kernel) { delete kernel; }

heddle_status heddle_prepare(heddle_runtime* runtime, const heddle_text* specs, size_t spec_count,
                             heddle_progress_callback progress, void* user) {
  return guarded([&] {
    need(runtime, "runtime");
    if (spec_count > 0) need(specs, "specs");
    constexpr std::size_t kMostSpecs = std::size_t{1} << 20;
    if (spec_count > kMostSpecs) {
      heddle::c_api::refuse(
          "api.count", fmt::format("spec_count is {}; allowed: up to {}", spec_count, kMostSpecs));
    }
    std::vector<heddle::Spec> parsed;
    for (size_t i = 0; i < spec_count; ++i) {
      parsed.push_back(heddle::Spec::parse(view(specs[i].data, specs[i].length)));
    }
    heddle::PrepareProgress callback;
    if (progress != nullptr) {
      callback = [=](const heddle::BuildResult& result, std::size_t done, std::size_t total) {
        return progress(user, result.kernel_name.c_str(), done, total) != 0;
      };
    }
    runtime->runtime.prepare(parsed, callback);
  });
}

heddle_status heddle_request_create(heddle_runtime* runtime, const char* spec, size_t spec_length,
                                    heddle_request** request) {
  return guarded([&] {
    need(request, "request");
    *request = nullptr;
    need(runtime, "runtime");
    const auto parsed = heddle::Spec::parse(view(spec, spec_length));
    *request = new heddle_request{runtime->runtime.request(parsed)};
  });
}

void heddle_request_destroy(heddle_request* request) { delete request; }

heddle_status heddle_request_ready(heddle_request* request, int32_t* ready) {
  return guarded([&] {
    need(request, "request");
    need(ready, "ready");
    *ready = request->request.ready() ? 1 : 0;
  });
}

heddle_status heddle_request_wait(heddle_request* request, heddle_kernel** kernel) {
  return guarded([&] {
    need(kernel, "kernel");
    *kernel = nullptr;
    need(request, "request");
    *kernel = new heddle_kernel{request->request.wait()};
  });
}

heddle_status heddle_request_kernel(heddle_request* request, void* stream, heddle_kernel** kernel) {
  return guarded([&] {
    need(kernel, "kernel");
    *kernel = nullptr;
    need(request, "request");
    *kernel = new heddle_kernel{request->request.kernel(stream)};
  });
}

heddle_status heddle_kernel_plan(const heddle_kernel* kernel, char* text, size_t capacity,
                                 size_t* length) {
  return guarded([&] {
    need(kernel, "kernel");
    need(length, "length");
    if (capacity > 0) need(text, "text");
    const std::string json = heddle::plan_to_json(kernel->kernel.plan());
    *length = json.size();
    std::copy_n(json.data(), std::min(capacity, json.size()), text);
  });
}
