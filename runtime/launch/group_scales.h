// The matrix of scales of rows of eight bits in groups of columns, which row_transform writes and a
// gemm reads: its size and its strides.
#ifndef HEDDLE_RUNTIME_LAUNCH_GROUP_SCALES_H_
#define HEDDLE_RUNTIME_LAUNCH_GROUP_SCALES_H_

#include <cstddef>
#include <cstdint>

#include "heddle/row_spec.h"
#include "heddle/spec.h"

namespace heddle {

struct GroupScales {
  std::int64_t groups = 0;  // of a row
  RowScaleDtype dtype = RowScaleDtype::kFp32;
  ScaleLayout layout = ScaleLayout::kRowMajor;

  // For kColumnMajor: lines of words, a word for each row.
  std::int64_t lines() const noexcept;
  // Elements from a line to the next, of rows or of columns; 0 stands for the least.
  std::int64_t stride_of(std::int64_t m, std::int64_t stride) const noexcept;
  // Bytes of m rows. Precondition: m is positive, and check_stride() takes the stride.
  std::size_t bytes(std::int64_t m, std::int64_t stride) const noexcept;
  // Throws Error(kUsage, "launch.size") unless the stride is one that m rows may have. `name`: the
  // argument's.
  void check_stride(const char* name, std::int64_t m, std::int64_t stride) const;
};

// Those of X. Precondition: X has scales of groups.
GroupScales group_scales(const GemmSpec& spec) noexcept;

// Those of Y, whose lines are dense. Precondition: Y has scales of groups.
GroupScales output_scales(const GemmSpec& spec) noexcept;

// For a launch whose kernel has no such matrix: throws Error(kUsage, "launch.size") unless it is 0.
void check_no_scale_stride(const char* name, std::int64_t stride);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_LAUNCH_GROUP_SCALES_H_
