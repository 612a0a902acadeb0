// The C API of row_transform: the C++ one, after a look at the sizes.
#include "heddle/kernel.h"
#include "heddle/weights.h"
#include "runtime/c_api.h"
#include "runtime/row_transform_launch.h"

namespace heddle::c_api {
namespace {

RowTransformArgs to_cpp(const heddle_row_transform_args& args) {
  RowTransformArgs launch;
  launch.x = args.x.data;
  launch.y = args.y.data;
  launch.x_stride = args.x_stride;
  launch.y_stride = args.y_stride;
  launch.residual = args.residual.data;
  launch.weight = args.weight.data;
  launch.bias = args.bias.data;
  launch.m = args.m;
  return launch;
}

// Bytes from the first element of the first row to the last one of the last row.
std::size_t matrix_bytes(std::int64_t m, std::int64_t stride, std::int64_t row, DType dtype) {
  if (m == 0) return 0;
  return static_cast<std::size_t>(m - 1) * static_cast<std::size_t>(stride) +
         static_cast<std::size_t>(row * bytes_of(dtype));
}

// Precondition: validate() accepts the launch.
void check_sizes(const Plan& plan, const heddle_row_transform_args& args) {
  const RowTransformSpec& spec = plan.spec.row_transform();
  const RowTransformParameters launch = row_transform_parameters(plan, to_cpp(args));
  const std::int64_t columns = spec.shape.columns;
  const std::int64_t row_bytes = columns * bytes_of(spec.input);
  need_bytes(args.x, matrix_bytes(args.m, launch.x_stride, spec.x_columns(), spec.input), "x");
  need_bytes(args.y, matrix_bytes(args.m, launch.y_stride, columns, spec.output), "y");
  need_bytes(args.residual, matrix_bytes(args.m, row_bytes, columns, spec.input), "residual");
  need_bytes(args.weight, static_cast<std::size_t>(row_bytes), "weight");
  need_bytes(args.bias, static_cast<std::size_t>(row_bytes), "bias");
}

}  // namespace
}  // namespace heddle::c_api

heddle_status heddle_launch_row_transform(const heddle_kernel* kernel,
                                          const heddle_row_transform_args* args, void* stream) {
  return heddle::c_api::guarded([&] {
    heddle::c_api::need(kernel, "kernel");
    heddle::c_api::need(args, "args");
    heddle::c_api::need_size(args->struct_size, sizeof *args, "heddle_row_transform_args");
    const heddle::Plan& plan = kernel->kernel.plan();
    const heddle::RowTransformArgs launch = heddle::c_api::to_cpp(*args);
    heddle::validate(plan, launch);
    heddle::c_api::check_sizes(plan, *args);
    kernel->kernel.launch(launch, stream);
  });
}
