// The C API: runtimes and kernels. Errors are in error.cc, launches in launch.cc.
#include <utility>

#include "heddle/statistics.h"
#include "runtime/c_api/call.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/structs.h"

namespace heddle::c_api {
namespace {

heddle_runtime_options default_options() {
  const RuntimeOptions defaults;
  heddle_runtime_options options = {};
  options.cache_max_bytes = defaults.cache_max_bytes;
  options.disk_cache = defaults.disk_cache ? 1 : 0;
  return options;
}

RuntimeOptions to_cpp(const heddle_runtime_options& given) {
  const heddle_runtime_options from =
      read_struct(&given, "heddle_runtime_options", default_options());
  RuntimeOptions options;
  options.cache_dir = path_of(view(from.cache_dir), "cache_dir");
  options.record_file = path_of(view(from.record_file), "record_file");
  if (from.read_only_root_count > 0) need(from.read_only_roots, "read_only_roots");
  need_count(from.read_only_root_count, "read_only_root_count");
  for (std::size_t i = 0; i < from.read_only_root_count; ++i) {
    options.read_only_roots.push_back(path_of(view(from.read_only_roots[i]), "read_only_roots"));
  }
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
}  // namespace heddle::c_api

using heddle::c_api::guarded;
using heddle::c_api::need;
using heddle::c_api::view;
using heddle::c_api::write_struct;

heddle_status heddle_runtime_options_init(heddle_runtime_options* options, size_t struct_size) {
  return guarded([&] {
    need(options, "options");
    write_struct(heddle::c_api::default_options(), struct_size, options, "heddle_runtime_options");
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

heddle_status heddle_statistics_json(char* text, size_t capacity, size_t* length) {
  return guarded([&] {
    heddle::c_api::fill(heddle::statistics_to_json(heddle::statistics()), text, capacity, length);
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
    runtime->runtime.prepare(heddle::c_api::parse_specs(specs, spec_count),
                             heddle::c_api::progress_of(progress, user));
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
