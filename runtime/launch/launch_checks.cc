#include "runtime/launch/launch_checks.h"

#include <fmt/core.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "heddle/error.h"

namespace heddle {
namespace {

std::int64_t address_of(const MemoryRows& rows) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(rows.data));
}

std::int64_t end_of(const MemoryRows& rows) {
  return address_of(rows) + (rows.rows - 1) * rows.step_bytes + rows.row_bytes;
}

bool is_in_one_piece(const MemoryRows& rows) {
  return rows.rows == 1 || rows.row_bytes == rows.step_bytes;
}

// Whether some row has bytes from `begin` to `end`.
bool any_in(const MemoryRows& rows, std::int64_t begin, std::int64_t end) {
  // The first row that ends behind `begin`.
  const std::int64_t before = begin - address_of(rows) - rows.row_bytes;
  const std::int64_t row = before < 0 ? 0 : before / rows.step_bytes + 1;
  return row < rows.rows && address_of(rows) + row * rows.step_bytes < end;
}

bool overlap(const MemoryRows& a, const MemoryRows& b) {
  for (const MemoryRows* rows : {&a, &b}) {
    if (rows->data == nullptr || rows->rows == 0 || rows->row_bytes == 0) return false;
  }
  if (address_of(a) >= end_of(b) || address_of(b) >= end_of(a)) return false;
  if (is_in_one_piece(a)) return any_in(b, address_of(a), end_of(a));
  if (is_in_one_piece(b)) return any_in(a, address_of(b), end_of(b));
  const MemoryRows& few = a.rows < b.rows ? a : b;
  const MemoryRows& many = a.rows < b.rows ? b : a;
  // With one step in both all rows of one lie alike between those of the other.
  if (a.step_bytes == b.step_bytes) {
    const std::int64_t step = a.step_bytes;
    const std::int64_t behind = ((address_of(many) - address_of(few)) % step + step) % step;
    return behind < few.row_bytes || step - behind < many.row_bytes;
  }
  for (std::int64_t i = 0; i < few.rows; ++i) {
    const std::int64_t begin = address_of(few) + i * few.step_bytes;
    if (any_in(many, begin, begin + few.row_bytes)) return true;
  }
  return false;
}

}  // namespace

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

void check_workspace(const DeviceInput& workspace, std::size_t needed) {
  if (needed == 0) return;
  check_required(workspace, 0, "workspace");
  if (workspace.bytes >= needed) return;
  refuse_launch("launch.workspace", fmt::format("workspace has {} bytes, and this launch needs {}",
                                                workspace.bytes, needed));
}

void refuse_overlap(const char* one_name, const MemoryRows& one, const char* other_name,
                    const MemoryRows& other) {
  if (!overlap(one, other)) return;
  refuse_launch("launch.overlap", fmt::format("{} and {} overlap", one_name, other_name));
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
