#include "runtime/launch_checks.h"

#include <fmt/core.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "heddle/error.h"

namespace heddle {

void refuse_launch(const char* code, std::string message) {
  throw Error(ErrorCategory::kUsage, code, std::move(message));
}

void check_handle(Op of_kernel, Op of_handle) {
  if (of_kernel == of_handle) return;
  refuse_launch("kernel.operation", fmt::format("the kernel's operation is {}, the handle's {}",
                                                to_string(of_kernel), to_string(of_handle)));
}

bool is_aligned(const void* pointer, std::size_t alignment) noexcept {
  return pointer != nullptr && reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

void check_required(const DeviceInput& memory, std::size_t bytes, const char* name,
                    std::size_t alignment) {
  if (is_aligned(memory.data, alignment) && memory.bytes >= bytes) return;
  if (memory.data == nullptr) refuse_launch("launch.missing", fmt::format("{} is null", name));
  if (!is_aligned(memory.data, alignment)) {
    refuse_launch("launch.misaligned",
                  fmt::format("{} = {} is not aligned to {} bytes", name, memory.data, alignment));
  }
  refuse_launch("launch.too_small",
                fmt::format("{} has {} bytes and needs {}", name, memory.bytes, bytes));
}

void check_wanted(const DeviceInput& memory, bool wanted, std::size_t bytes, const char* name,
                  std::size_t alignment) {
  if (wanted) return check_required(memory, bytes, name, alignment);
  if (memory.data == nullptr) return;
  refuse_launch("launch.unexpected",
                fmt::format("{} is given, but the kernel's spec has none", name));
}

void refuse_overlap(const char* one_name, const DenseRows& one, const char* other_name,
                    const DenseRows& other) {
  if (one.data == nullptr || other.data == nullptr || one.bytes == 0 || other.bytes == 0) return;
  const auto a = reinterpret_cast<std::uintptr_t>(one.data);
  const auto b = reinterpret_cast<std::uintptr_t>(other.data);
  if (a < b + other.bytes && b < a + one.bytes) {
    refuse_launch("launch.overlap", fmt::format("{} and {} overlap", one_name, other_name));
  }
}

void check_stride(std::int64_t stride, std::int64_t row, const char* name) {
  constexpr std::int64_t kStep = 8;  // elements: 16 bytes
  constexpr std::int64_t kLongestStride = std::numeric_limits<std::int32_t>::max();
  if (stride == 0 || (stride >= row && stride <= kLongestStride && stride % kStep == 0)) return;
  refuse_launch("launch.size",
                fmt::format("{} = {} is neither 0 nor a multiple of {} from {} to {}", name, stride,
                            kStep, row, kLongestStride));
}

}  // namespace heddle
