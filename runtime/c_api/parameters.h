// The struct that a kernel takes by value, given to callers that launch it themselves.
#ifndef HEDDLE_RUNTIME_C_API_PARAMETERS_H_
#define HEDDLE_RUNTIME_C_API_PARAMETERS_H_

#include <fmt/format.h>

#include <cstddef>
#include <cstring>

#include "heddle/inspect/plan.h"
#include "runtime/c_api/call.h"

namespace heddle::c_api {

// Throws Error(kUsage, "launch.size") where a launch would do nothing.
inline void need_work(bool has_work) {
  if (!has_work) refuse("launch.size", "nothing is launched, so that there are no parameters");
}

// Sets *bytes. Throws Error(kUsage, "api.too_small") before anything else is written. The struct's
// last member ends at `kEnd`: what padding follows holds whatever the stack held, and is given as
// zeros.
template <std::size_t kEnd, class Parameters>
void give(const Parameters& from, void* to, std::size_t capacity, std::size_t* bytes) {
  static_assert(sizeof(Parameters) - kEnd < alignof(Parameters), "a member lies behind kEnd");
  need(bytes, "bytes");
  *bytes = sizeof from;
  if (capacity < sizeof from) {
    refuse("api.too_small",
           fmt::format("parameters has {} bytes and needs {}", capacity, sizeof from));
  }
  need(to, "parameters");
  std::memset(to, 0, sizeof from);
  std::memcpy(to, &from, kEnd);
}

}  // namespace heddle::c_api

#endif  // HEDDLE_RUNTIME_C_API_PARAMETERS_H_
