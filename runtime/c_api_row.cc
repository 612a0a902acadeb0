// The C API of row_transform.
#include "heddle/kernel.h"
#include "runtime/c_api.h"
#include "runtime/c_api_structs.h"
#include "runtime/row_transform_launch.h"

heddle_status heddle_launch_row_transform(const heddle_kernel* kernel,
                                          const heddle_row_transform_args* args, void* stream) {
  return heddle::c_api::guarded([&] {
    using heddle::c_api::memory_of;
    heddle::c_api::need(kernel, "kernel");
    const heddle_row_transform_args given =
        heddle::c_api::read_struct(args, "heddle_row_transform_args");
    heddle::RowTransformArgs launch;
    launch.x = memory_of(given.x);
    launch.y = memory_of(given.y);
    launch.x_stride = given.x_stride;
    launch.y_stride = given.y_stride;
    launch.residual = memory_of(given.residual);
    launch.weight = memory_of(given.weight);
    launch.bias = memory_of(given.bias);
    launch.m = given.m;
    heddle::launch(heddle::c_api::state_of(kernel, heddle::Op::kRowTransform), launch, stream);
  });
}
