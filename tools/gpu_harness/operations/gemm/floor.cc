#include "tools/gpu_harness/operations/gemm/floor.h"

#include <algorithm>

#include "heddle/weights.h"

namespace heddle {

namespace {

// Bytes of a row of X of eight bits, with its zero point.
double row_scale_bytes(const GemmSpec& spec) {
  const ActivationScaleSpec& scale = spec.activation_scale;
  switch (scale.granularity) {
    case RowGranularity::kNone:
    case RowGranularity::kTensor:
      return 0;
    case RowGranularity::kToken:
      return scale.symmetric ? 4 : 8;
    case RowGranularity::kGroup:
      break;
  }
  const std::int64_t groups = groups_along_k(spec.weight, spec.shape.k);
  return (scale.scale_dtype == RowScaleDtype::kFp32 ? 4.0 : 1.0) * static_cast<double>(groups);
}

}  // namespace

double traffic_bytes(const GemmSpec& spec, std::int64_t m) {
  const auto tokens = static_cast<double>(m);
  const auto n = static_cast<double>(spec.shape.n);
  const auto k = static_cast<double>(spec.shape.k);
  const double values = tokens * static_cast<double>(spec.output_columns());
  double outputs = values * bytes_of(spec.output_dtype());
  if (spec.output_scale.granularity == RowGranularity::kGroup) {
    const bool fp32 = spec.output_scale.scale_dtype == RowScaleDtype::kFp32;
    outputs += (fp32 ? 4 : 1) * tokens * static_cast<double>(spec.output_groups());
  }
  const double scales = tokens * row_scale_bytes(spec);
  const double extra = (spec.epilogue.bias ? bytes_of(spec.bias_dtype()) * n : 0) + scales +
                       (spec.pre_scale ? 2 * k : 0) +
                       (spec.act_order ? 4 * k + 4 * tokens * k : 0) +
                       (spec.epilogue.residual ? values * bytes_of(spec.residual_dtype()) : 0);
  // The packed weights hold their scales and zero points.
  return static_cast<double>(weight_layout(spec).total_bytes) +
         bytes_of(spec.activation) * tokens * k + outputs + extra;
}

double floor_us(const GemmSpec& spec, std::int64_t m, const Target& device, double read_tb_per_s) {
  const double memory = device.launch_us + traffic_bytes(spec, m) / read_tb_per_s * 1e-6;
  if (device.tensor_tflops <= 0) return memory;
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(spec.shape.n) *
                       static_cast<double>(spec.shape.k);
  // Codes of eight bits are multiplied twice as fast.
  const double rate = spec.has_byte_activations() ? 2 : 1;
  return std::max(memory, flops / (rate * device.tensor_tflops) * 1e-6);
}

}  // namespace heddle
