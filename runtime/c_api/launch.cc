// The launches of the C API: the C++ ones, which look at sizes and all else.
#include <fmt/format.h>

#include "heddle/inspect/plan.h"
#include "heddle/kernel.h"
#include "heddle/operations.h"
#include "runtime/c_api/call.h"
#include "runtime/c_api/structs.h"
#include "runtime/launch/gemm_launch.h"
#include "runtime/launch/moe_launch.h"
#include "runtime/launch/weight_op_launch.h"

namespace heddle::c_api {
namespace {

WeightSource to_cpp(const heddle_weight_source& source) {
  return {memory_of(source.weights), memory_of(source.scales), memory_of(source.zeros),
          memory_of(source.group_index), memory_of(source.permutation)};
}

}  // namespace

const Kernel::State& state_of(const heddle_kernel* kernel, Op op) {
  need_op(kernel->kernel.op(), op);
  return kernel->kernel.state();
}

void need_op(Op own, Op wanted) {
  if (own == wanted) return;
  refuse("launch.op", fmt::format("the kernel's operation is {}, the arguments are of {}",
                                  to_string(own), to_string(wanted)));
}

}  // namespace heddle::c_api

using heddle::c_api::guarded;
using heddle::c_api::memory_of;
using heddle::c_api::need;
using heddle::c_api::state_of;

heddle_status heddle_kernel_workspace_bytes(const heddle_kernel* kernel, int64_t m, size_t* bytes) {
  return guarded([&] {
    need(kernel, "kernel");
    need(bytes, "bytes");
    const heddle::Kernel::State& state = kernel->kernel.state();
    if (kernel->kernel.op() == heddle::MoeKernel::kOp) {
      *bytes = heddle::moe_workspace_bytes(state, m);
      return;
    }
    heddle::c_api::need_op(kernel->kernel.op(), heddle::GemmKernel::kOp);
    *bytes = heddle::gemm_workspace_bytes(state, m);
  });
}

heddle_status heddle_kernel_max_workspace_bytes(const heddle_kernel* kernel, size_t* bytes) {
  return guarded([&] {
    need(kernel, "kernel");
    need(bytes, "bytes");
    *bytes = kernel->kernel.max_workspace_bytes();
  });
}

heddle_status heddle_launch_gemm(const heddle_kernel* kernel, const heddle_gemm_args* args,
                                 void* stream) {
  return guarded([&] {
    need(kernel, "kernel");
    const heddle_gemm_args given = heddle::c_api::read_struct(args, "heddle_gemm_args");
    heddle::GemmArgs launch;
    launch.x = memory_of(given.x);
    launch.weights = memory_of(given.weights);
    launch.y = memory_of(given.y);
    launch.bias = memory_of(given.bias);
    launch.residual = memory_of(given.residual);
    launch.pre_scale = memory_of(given.pre_scale);
    launch.permutation = memory_of(given.permutation);
    launch.workspace = memory_of(given.workspace);
    launch.x_scales = memory_of(given.x_scales);
    launch.x_zero_points = memory_of(given.x_zero_points);
    launch.x_scale_stride = given.x_scale_stride;
    launch.y_scales = memory_of(given.y_scales);
    launch.m = given.m;
    heddle::launch(state_of(kernel, heddle::GemmKernel::kOp), launch, stream);
  });
}

heddle_status heddle_launch_dequantize(const heddle_kernel* kernel,
                                       const heddle_weight_source* source, heddle_output w,
                                       void* stream) {
  return guarded([&] {
    need(kernel, "kernel");
    need(source, "source");
    const heddle::DequantizeArgs launch{heddle::c_api::to_cpp(*source), memory_of(w)};
    heddle::launch(state_of(kernel, heddle::DequantizeKernel::kOp), launch, stream);
  });
}

heddle_status heddle_launch_repack(const heddle_kernel* kernel, const heddle_weight_source* source,
                                   heddle_output packed, void* stream) {
  return guarded([&] {
    need(kernel, "kernel");
    need(source, "source");
    const heddle::RepackArgs launch{heddle::c_api::to_cpp(*source), memory_of(packed)};
    heddle::launch(state_of(kernel, heddle::RepackKernel::kOp), launch, stream);
  });
}

heddle_status heddle_launch_quantize_weight(const heddle_kernel* kernel, heddle_input w,
                                            heddle_output packed, void* stream) {
  return guarded([&] {
    need(kernel, "kernel");
    const heddle::QuantizeWeightArgs launch{memory_of(w), memory_of(packed)};
    heddle::launch(state_of(kernel, heddle::QuantizeWeightKernel::kOp), launch, stream);
  });
}
