// The launches of the C API: the C++ ones, after a look at the sizes.
#include <fmt/format.h>

#include "heddle/kernel.h"
#include "heddle/plan.h"
#include "heddle/weights.h"
#include "runtime/c_api_handles.h"
#include "runtime/c_api_structs.h"
#include "runtime/launch_checks.h"

namespace heddle::c_api {
namespace {

void need_at_least(const void* data, std::size_t given, std::size_t wanted, const char* name) {
  if (data == nullptr || given >= wanted) return;
  refuse("launch.too_small", fmt::format("{} has {} bytes and needs {}", name, given, wanted));
}
}  // namespace

void need_bytes(const heddle_input& input, std::size_t wanted, const char* name) {
  need_at_least(input.data, input.bytes, wanted, name);
}
void need_bytes(const heddle_output& output, std::size_t wanted, const char* name) {
  need_at_least(output.data, output.bytes, wanted, name);
}

namespace {

std::size_t product(std::int64_t a, std::int64_t b) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b);
}

void check_sizes(const Plan& plan, const heddle_gemm_args& args) {
  check_op(plan, Op::kGemm);
  const GemmShape& shape = plan.spec.gemm().shape;
  if (args.m < shape.m_min || args.m > shape.m_max) return;  // refused by the launch
  const auto element = static_cast<std::size_t>(bytes_of(plan.spec.gemm().activation));
  need_bytes(args.x, product(args.m, shape.k) * element, "x");
  need_bytes(args.weights, plan.layout.total_bytes, "weights");
  need_bytes(args.y, product(args.m, shape.n) * element, "y");
  need_bytes(args.bias, product(1, shape.n) * element, "bias");
  need_bytes(args.residual, product(args.m, shape.n) * element, "residual");
  need_bytes(args.pre_scale, product(1, shape.k) * element, "pre_scale");
  need_bytes(args.permutation, product(4, shape.k), "permutation");
}

void check_sizes(const Plan& plan, const heddle_weight_source& source) {
  const WeightOpSpec& op = plan.spec.weight_op();
  const WeightSpec& weight = op.weight;
  const std::int64_t n = op.shape.n;
  const std::int64_t k = op.shape.k;
  const bool packed = op.format == CheckpointFormat::kHeddle;
  const std::int64_t groups = weight.group_size > 0 ? k / weight.group_size : 1;
  const std::size_t values = product(groups, n);
  const auto bits = static_cast<std::size_t>(weight.bits);
  need_bytes(source.weights, packed ? plan.layout.total_bytes : product(n, k) * bits / 8,
             "weights");
  need_bytes(source.scales, values * static_cast<std::size_t>(bytes_of(weight.scale_dtype)),
             "scales");
  need_bytes(source.zeros, values * bits / 8, "zeros");
  need_bytes(source.group_index, product(4, k), "group_index");
  need_bytes(source.permutation, product(4, k), "permutation");
}

WeightSource to_cpp(const heddle_weight_source& source) {
  return {source.weights.data, source.scales.data, source.zeros.data, source.group_index.data,
          source.permutation.data};
}

std::size_t matrix_bytes(const WeightOpSpec& op) {
  return product(op.shape.n, op.shape.k) * static_cast<std::size_t>(bytes_of(op.dtype));
}

}  // namespace
}  // namespace heddle::c_api

using heddle::Op;
using heddle::c_api::check_sizes;
using heddle::c_api::guarded;
using heddle::c_api::need;
using heddle::c_api::need_bytes;

heddle_status heddle_kernel_workspace_bytes(const heddle_kernel* kernel, int64_t m, size_t* bytes) {
  return guarded([&] {
    need(kernel, "kernel");
    need(bytes, "bytes");
    *bytes = heddle::c_api::workspace_bytes(kernel->kernel.plan(), m);
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
    check_sizes(kernel->kernel.plan(), given);
    heddle::GemmArgs launch;
    launch.x = given.x.data;
    launch.weights = given.weights.data;
    launch.y = given.y.data;
    launch.bias = given.bias.data;
    launch.residual = given.residual.data;
    launch.pre_scale = given.pre_scale.data;
    launch.permutation = given.permutation.data;
    launch.workspace = given.workspace.data;
    launch.workspace_bytes = given.workspace.bytes;
    launch.m = given.m;
    kernel->kernel.launch(launch, stream);
  });
}

heddle_status heddle_launch_dequantize(const heddle_kernel* kernel,
                                       const heddle_weight_source* source, heddle_output w,
                                       void* stream) {
  return guarded([&] {
    need(kernel, "kernel");
    need(source, "source");
    const heddle::Plan& plan = kernel->kernel.plan();
    heddle::check_op(plan, Op::kDequantize);
    check_sizes(plan, *source);
    need_bytes(w, heddle::c_api::matrix_bytes(plan.spec.weight_op()), "w");
    kernel->kernel.launch(heddle::DequantizeArgs{heddle::c_api::to_cpp(*source), w.data}, stream);
  });
}

heddle_status heddle_launch_repack(const heddle_kernel* kernel, const heddle_weight_source* source,
                                   heddle_output packed, void* stream) {
  return guarded([&] {
    need(kernel, "kernel");
    need(source, "source");
    const heddle::Plan& plan = kernel->kernel.plan();
    heddle::check_op(plan, Op::kRepack);
    check_sizes(plan, *source);
    need_bytes(packed, plan.layout.total_bytes, "packed");
    kernel->kernel.launch(heddle::RepackArgs{heddle::c_api::to_cpp(*source), packed.data}, stream);
  });
}

heddle_status heddle_launch_quantize_weight(const heddle_kernel* kernel, heddle_input w,
                                            heddle_output packed, void* stream) {
  return guarded([&] {
    need(kernel, "kernel");
    const heddle::Plan& plan = kernel->kernel.plan();
    heddle::check_op(plan, Op::kQuantizeWeight);
    need_bytes(w, heddle::c_api::matrix_bytes(plan.spec.weight_op()), "w");
    need_bytes(packed, plan.layout.total_bytes, "packed");
    kernel->kernel.launch(heddle::QuantizeWeightArgs{w.data, packed.data}, stream);
  });
}
