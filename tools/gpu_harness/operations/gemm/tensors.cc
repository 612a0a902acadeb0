#include "tools/gpu_harness/operations/gemm/tensors.h"

#include <algorithm>
#include <vector>

#include "heddle/inspect/plan.h"
#include "runtime/launch/group_scales.h"
#include "tools/gpu_harness/operations/gemm/byte_activations.h"
#include "tools/gpu_harness/operations/weight_ops/source_tensors.h"

namespace heddle {
namespace {

void put_bytes(const GemmSpec& spec, std::int64_t m, std::uint32_t seed, const OwnedStream& stream,
               GemmTensors& tensors) {
  const ByteActivations x = random_byte_activations(spec, m, seed);
  tensors.x = to_device(x.codes, stream);
  tensors.x_scales = to_device(x.scale_bits, stream);
  tensors.x_scale_stride = x.scale_stride;
  if (!x.zero_points.empty()) tensors.x_zero_points = to_device(x.zero_points, stream);
}

}  // namespace

std::size_t output_row_bytes(const GemmSpec& spec) noexcept {
  return static_cast<std::size_t>(spec.output_columns()) *
         static_cast<std::size_t>(bytes_of(spec.output_dtype()));
}

GemmArgs GemmTensors::args(std::int64_t m, const DeviceInput& weights) const noexcept {
  GemmArgs args;
  args.x = x.memory();
  args.weights = weights;
  args.y = y.memory();
  args.bias = bias.memory();
  args.residual = residual.memory();
  args.pre_scale = pre_scale.memory();
  args.permutation = permutation.memory();
  args.workspace = workspace.memory();
  args.m = m;
  args.x_scales = x_scales.memory();
  args.x_scale_stride = x_scale_stride;
  args.x_zero_points = x_zero_points.memory();
  args.y_scales = y_scales.memory();
  return args;
}

void GemmTensors::renew_workspace(std::size_t bytes, const OwnedStream& stream) {
  if (workspace.bytes() < bytes) workspace = DeviceBuffer(bytes);
  workspace.fill(0, stream);
}

GemmTensors make_gemm_tensors(const GemmSpec& spec, std::int64_t max_m, std::uint32_t seed,
                              const HelperKernels& helpers, const OwnedStream& stream) {
  const auto n = static_cast<std::uint64_t>(spec.shape.n);
  const auto k = static_cast<std::uint64_t>(spec.shape.k);
  const auto m = static_cast<std::uint64_t>(max_m);
  const auto random = [&](std::uint64_t count, std::uint32_t seed_of_it, DType type) {
    DeviceBuffer buffer(static_cast<std::uint64_t>(bytes_of(type)) * count);
    helpers.fill_normal(buffer.get(), count, seed_of_it, 1.0F, type, stream);
    return buffer;
  };
  const DType type = spec.activation;
  const auto outputs = m * static_cast<std::uint64_t>(spec.output_columns());
  GemmTensors tensors;
  if (spec.has_byte_activations()) {
    put_bytes(spec, max_m, x_seed(seed), stream, tensors);
  } else {
    tensors.x = random(m * k, x_seed(seed), type);
  }
  if (spec.epilogue.bias) tensors.bias = random(n, seed + 2, spec.bias_dtype());
  if (spec.epilogue.residual) {
    tensors.residual = random(outputs, seed + 3, spec.residual_dtype());
  }
  if (spec.output_scale.granularity == RowGranularity::kGroup) {
    tensors.y_scales = DeviceBuffer(output_scales(spec).bytes(max_m, 0));
  } else if (spec.has_byte_output()) {
    tensors.y_scales = to_device(std::vector<float>{1.0F}, stream);
  }
  if (spec.pre_scale) tensors.pre_scale = random(k, seed + 4, type);
  if (spec.act_order) {
    tensors.permutation = to_device(random_permutation(spec.shape.k, seed), stream);
  }
  // cuBLAS, which knows no epilogue, writes [M, N] of X's type.
  tensors.y = GuardedBuffer(std::max(m * output_row_bytes(spec), 2 * m * n));
  return tensors;
}

GemmTensors make_gemm_tensors(const GemmKernel& kernel, std::int64_t max_m, std::uint32_t seed,
                              const HelperKernels& helpers, const OwnedStream& stream) {
  GemmTensors tensors = make_gemm_tensors(kernel.plan().spec.gemm(), max_m, seed, helpers, stream);
  tensors.renew_workspace(kernel.max_workspace_bytes(), stream);
  return tensors;
}

}  // namespace heddle
