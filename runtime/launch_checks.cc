#include "runtime/launch_checks.h"

#include <fmt/core.h>

#include <utility>

#include "heddle/error.h"

namespace heddle {

void refuse_launch(const char* code, std::string message) {
  throw Error(ErrorCategory::kUsage, code, std::move(message));
}

void check_op(const Plan& plan, Op op) {
  if (plan.spec.op() == op) return;
  refuse_launch("launch.op", fmt::format("the kernel's operation is {}, the arguments are of {}",
                                         to_string(plan.spec.op()), to_string(op)));
}

bool is_aligned(const void* pointer, std::size_t alignment) noexcept {
  return pointer != nullptr && reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

void check_required(const void* pointer, const char* name, std::size_t alignment) {
  if (is_aligned(pointer, alignment)) return;
  if (pointer == nullptr) refuse_launch("launch.missing", fmt::format("{} is null", name));
  refuse_launch("launch.misaligned",
                fmt::format("{} = {} is not aligned to {} bytes", name, pointer, alignment));
}

void check_wanted(const void* pointer, bool wanted, const char* name, std::size_t alignment) {
  if (wanted) return check_required(pointer, name, alignment);
  if (pointer == nullptr) return;
  refuse_launch("launch.unexpected",
                fmt::format("{} is given, but the kernel's spec has none", name));
}

}  // namespace heddle
