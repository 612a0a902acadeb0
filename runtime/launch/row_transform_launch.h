// What a launch of row_transform is: its arguments' contract and what the kernel takes. Pure.
#ifndef HEDDLE_RUNTIME_LAUNCH_ROW_TRANSFORM_LAUNCH_H_
#define HEDDLE_RUNTIME_LAUNCH_ROW_TRANSFORM_LAUNCH_H_

#include <cstdint>

#include "heddle/inspect/plan.h"
#include "heddle/operations.h"
#include "row_transform/parameters.h"

namespace heddle {

// Throws Error(kUsage) with the code "launch.missing", "launch.unexpected", "launch.misaligned",
// "launch.too_small", "launch.size", "launch.m" or "launch.overlap" if `args` break the contract of
// RowTransformArgs. Precondition: a plan of row_transform.
void validate(const Plan& plan, const RowTransformArgs& args);
// The part of it that is about the matrix of scales: "launch.size".
void check_scale_stride(const RowTransformSpec& spec, std::int64_t m, std::int64_t stride);

// What RowTransformKernel does. Precondition: a kernel of row_transform.
void launch(const Kernel::State& state, const RowTransformArgs& args, Stream stream);

// The kernel's one parameter.
using device::RowTransformParameters;

// Precondition: validate() accepts the arguments.
RowTransformParameters row_transform_parameters(const Plan& plan,
                                                const RowTransformArgs& args) noexcept;

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_LAUNCH_ROW_TRANSFORM_LAUNCH_H_
