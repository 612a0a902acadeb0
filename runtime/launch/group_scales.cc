#include "runtime/launch/group_scales.h"

#include <fmt/core.h>

#include <limits>

#include "heddle/weights.h"
#include "runtime/launch/launch_checks.h"

namespace heddle {
namespace {

constexpr std::int64_t kScaleStep = 4;     // of column-major strides: 16 bytes
constexpr std::int64_t kGroupsOfWord = 4;  // of E8M0, column-major

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

std::int64_t GroupScales::lines() const noexcept {
  return dtype == RowScaleDtype::kFp32 ? groups : ceil_div(groups, kGroupsOfWord);
}

std::int64_t GroupScales::stride_of(std::int64_t m, std::int64_t stride) const noexcept {
  if (stride != 0) return stride;
  return layout == ScaleLayout::kColumnMajor ? ceil_div(m, kScaleStep) * kScaleStep : groups;
}

std::size_t GroupScales::bytes(std::int64_t m, std::int64_t stride) const noexcept {
  const std::int64_t step = stride_of(m, stride);
  if (layout == ScaleLayout::kColumnMajor) {
    return byte_count((lines() - 1) * step + m, sizeof(float));
  }
  const bool fp32 = dtype == RowScaleDtype::kFp32;
  return byte_count((m - 1) * step + groups, fp32 ? sizeof(float) : 1);
}

void GroupScales::check_stride(const char* name, std::int64_t m, std::int64_t stride) const {
  if (stride == 0) return;
  const bool columns = layout == ScaleLayout::kColumnMajor;
  const std::int64_t least = columns ? m : groups;
  const std::int64_t step = columns ? kScaleStep : 1;
  constexpr std::int64_t kLongest = std::numeric_limits<std::int32_t>::max();
  if (stride >= least && stride <= kLongest && stride % step == 0) return;
  refuse_launch("launch.size",
                fmt::format("{} = {} is neither 0 nor a multiple of {} from {} to {}", name, stride,
                            step, least, kLongest));
}

// Groups of X are as wide as those of W.
GroupScales group_scales(const GemmSpec& spec) noexcept {
  return {groups_along_k(spec.weight, spec.shape.k), spec.activation_scale.scale_dtype,
          ScaleLayout::kColumnMajor};
}

GroupScales output_scales(const GemmSpec& spec) noexcept {
  return {spec.output_groups(), spec.output_scale.scale_dtype, ScaleLayout::kColumnMajor};
}

void check_no_scale_stride(const char* name, std::int64_t stride) {
  if (stride == 0) return;
  refuse_launch("launch.size", fmt::format("{} = {}, but the kernel's spec has no matrix of scales",
                                           name, stride));
}

}  // namespace heddle
