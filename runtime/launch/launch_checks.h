// What the launches of all operations check. Pure; nothing allocates unless it throws.
#ifndef HEDDLE_RUNTIME_LAUNCH_LAUNCH_CHECKS_H_
#define HEDDLE_RUNTIME_LAUNCH_LAUNCH_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "heddle/device_memory.h"
#include "heddle/spec.h"
#include "heddle/weights.h"

namespace heddle {

// All throw Error(kUsage).
[[noreturn]] void refuse_launch(const char* code, std::string message);
// "kernel.operation": a kernel of one operation, the handle of another.
void check_handle(Op of_kernel, Op of_handle);
inline constexpr std::size_t kUsualAlignment = 16;
// And not null.
bool is_aligned(const void* pointer, std::size_t alignment = kUsualAlignment) noexcept;
// "launch.missing", "launch.misaligned", and "launch.too_small" for fewer bytes than `bytes`, which
// is what the kernel reads or writes.
void check_required(const DeviceInput& memory, std::size_t bytes, const char* name,
                    std::size_t alignment = kUsualAlignment);
// As check_required() where the spec asks for the memory, else "launch.unexpected" if it is given:
// silently ignoring it would give wrong results.
void check_wanted(const DeviceInput& memory, bool wanted, std::size_t bytes, const char* name,
                  std::size_t alignment = kUsualAlignment);
// As check_required(), but "launch.workspace" for fewer bytes than this launch needs; 0: none.
void check_workspace(const DeviceInput& workspace, std::size_t needed);
// Elements from a row of a matrix to the next; 0 stands for dense rows of `row` elements.
inline std::int64_t stride_or_dense(std::int64_t stride, std::int64_t row) noexcept {
  return stride == 0 ? row : stride;
}
inline std::int64_t stride_bytes(std::int64_t stride, std::int64_t row, DType dtype) noexcept {
  return stride_or_dense(stride, row) * bytes_of(dtype);
}
// "launch.size" unless the stride is 0, or a multiple of 8 from `row` on and below 2^31.
void check_stride(std::int64_t stride, std::int64_t row, const char* name);

// Bytes of `count` elements. Precondition: neither is negative, and the product fits.
inline std::size_t byte_count(std::int64_t count, std::int64_t element_bytes) noexcept {
  return static_cast<std::size_t>(count) * static_cast<std::size_t>(element_bytes);
}

// Bytes from the first element of the first row to the last one of the last row. Precondition:
// check_stride() takes the stride, and there are fewer than 2^31 rows.
inline std::size_t strided_bytes(std::int64_t rows, std::int64_t stride, std::int64_t row,
                                 DType dtype) noexcept {
  return rows == 0 ? 0
                   : byte_count((rows - 1) * stride_or_dense(stride, row) + row, bytes_of(dtype));
}

// What a launch reads or writes: rows of as many bytes each, which may be parts of wider ones, so
// that parts of other matrices lie between them.
struct MemoryRows {
  const void* data;         // null: not given
  std::int64_t rows;        // 0: no bytes
  std::int64_t row_bytes;   // 0: the same
  std::int64_t step_bytes;  // from a row to the next, at least row_bytes
};
// `stride` elements from a row of `row` elements to the next; 0: dense.
inline MemoryRows memory_rows(const DeviceInput& memory, std::int64_t rows, std::int64_t stride,
                              std::int64_t row, DType dtype) noexcept {
  return {memory.data, rows, row * bytes_of(dtype), stride_bytes(stride, row, dtype)};
}
// Bytes in one piece.
inline MemoryRows memory_bytes(const void* data, std::size_t bytes) noexcept {
  const auto row = static_cast<std::int64_t>(bytes);
  return {data, 1, row, row};
}
// "launch.overlap" if some bytes are in both. Walks the rows only where both have strides, which
// differ, and their spans meet.
void refuse_overlap(const char* one_name, const MemoryRows& one, const char* other_name,
                    const MemoryRows& other);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_LAUNCH_LAUNCH_CHECKS_H_
