// The C API of row_transform.
#include <cstddef>

#include "generator/operations/operation.h"
#include "generator/spec/refuse_if_any.h"
#include "heddle/kernel.h"
#include "heddle/operations.h"
#include "runtime/c_api/call.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/parameters.h"
#include "runtime/c_api/structs.h"
#include "runtime/launch/row_transform_launch.h"

namespace heddle::c_api {
namespace {

RowTransformArgs to_cpp(const heddle_row_transform_args* args) {
  const heddle_row_transform_args given = read_struct(args, "heddle_row_transform_args");
  RowTransformArgs launch;
  launch.x = memory_of(given.x);
  launch.y = memory_of(given.y);
  launch.x_stride = given.x_stride;
  launch.y_stride = given.y_stride;
  launch.residual = memory_of(given.residual);
  launch.weight = memory_of(given.weight);
  launch.bias = memory_of(given.bias);
  launch.m = given.m;
  launch.pre_scale = memory_of(given.pre_scale);
  launch.tensor_scale = memory_of(given.tensor_scale);
  launch.scales = memory_of(given.scales);
  launch.scale_stride = given.scale_stride;
  launch.zero_points = memory_of(given.zero_points);
  return launch;
}

}  // namespace
}  // namespace heddle::c_api

using heddle::c_api::guarded;
using heddle::c_api::need;

heddle_status heddle_launch_row_transform(const heddle_kernel* kernel,
                                          const heddle_row_transform_args* args, void* stream) {
  return guarded([&] {
    need(kernel, "kernel");
    const heddle::RowTransformArgs launch = heddle::c_api::to_cpp(args);
    heddle::launch(heddle::c_api::state_of(kernel, heddle::RowTransformKernel::kOp), launch,
                   stream);
  });
}

heddle_status heddle_row_scale_bytes(const char* spec, size_t spec_length, int64_t m,
                                     int64_t scale_stride, size_t* bytes) {
  return guarded([&] {
    need(bytes, "bytes");
    const auto parsed = heddle::Spec::parse(heddle::c_api::view(spec, spec_length));
    heddle::c_api::need_op(parsed.op(), heddle::RowTransformKernel::kOp);
    const heddle::RowTransformSpec& rows = parsed.row_transform();
    heddle::refuse_if_any(parsed, heddle::check_meaning(parsed));
    if (m < 0 || m > rows.shape.m_max) {
      heddle::c_api::refuse("launch.m", "m is negative, or larger than the spec's shape.m");
    }
    heddle::check_scale_stride(rows, m, scale_stride);
    *bytes = heddle::row_scale_bytes(rows, m, scale_stride);
  });
}

heddle_status heddle_row_transform_parameters(const heddle_plan* plan,
                                              const heddle_row_transform_args* args,
                                              void* parameters, size_t capacity, size_t* bytes) {
  return guarded([&] {
    need(plan, "plan");
    const heddle::RowTransformArgs launch = heddle::c_api::to_cpp(args);
    heddle::c_api::need_op(plan->plan.spec.op(), heddle::RowTransformKernel::kOp);
    heddle::validate(plan->plan, launch);
    heddle::c_api::need_work(launch.m > 0);
    const auto made = heddle::row_transform_parameters(plan->plan, launch);
    constexpr std::size_t kRowEnd = offsetof(heddle::RowTransformParameters, m) + sizeof(int);
    heddle::c_api::give<kRowEnd>(made, parameters, capacity, bytes);
  });
}
