#include "generator/families/kernel_name.h"

#include <fmt/format.h>

#include "generator/spec/weight_meaning.h"

namespace heddle {
namespace {

constexpr std::string_view kOfAnyShape = "_any_";

}  // namespace

std::string weight_name(const WeightSpec& weight) {
  std::string name(to_string(weight.type));
  if (is_integer(weight.type)) name += std::to_string(weight.bits);
  if (!weight.has_scales()) return name;
  if (weight.zero_point == ZeroPoint::kInt) name += 'z';
  if (weight.zero_point == ZeroPoint::kFloat) name += 'f';
  if (weight.group_size == kPerChannel) {
    name += "_channel";
  } else if (weight.group_size == kPerTensor) {
    name += "_tensor";
  } else {
    name += fmt::format("_g{}", weight.group_size);
    if (weight.has_blocks()) name += fmt::format("x{}", weight.group_rows);
    if (weight.group_offset != 0) name += fmt::format("o{}", weight.group_offset);
  }
  if (weight.tensor_scale) name += "_ts";
  if (weight.has_two_levels()) name += fmt::format("_c{}", to_string(*weight.channel_scale));
  return name;
}

std::string gemm_name_prefix(const WeightSpec& weight, DType activation) {
  return fmt::format("heddle_gemm_{}_{}", weight_name(weight), to_string(activation));
}

std::string gemm_name_shape(std::int64_t n, std::int64_t k) {
  return fmt::format("_n{}_k{}_", n, k);
}

std::string epilogue_name(const GemmSpec& spec) {
  std::string name;
  if (spec.epilogue.gated) name += "_gated";
  if (spec.epilogue.bias) name += "_bias";
  if (spec.epilogue.activation != Activation::kNone) {
    name += fmt::format("_{}", to_string(spec.epilogue.activation));
  }
  if (spec.epilogue.limit != 0) name += fmt::format("_limit{}", spec.epilogue.limit);
  if (spec.epilogue.gate_limit != 0) name += fmt::format("_gates{}", spec.epilogue.gate_limit);
  if (spec.epilogue.residual) name += "_residual";
  return name;
}

bool is_name_of_any_shape(std::string_view name) {
  return name.find(kOfAnyShape) != std::string_view::npos;
}

std::string gemm_kernel_name(const GemmSpec& spec, const MRange& m, std::string_view any_shape) {
  std::string name = gemm_name_prefix(spec.weight, spec.activation);
  if (spec.has_byte_activations()) {
    name += fmt::format("_{}", to_string(spec.activation_scale.granularity));
    if (spec.activation_scale.scale_dtype != RowScaleDtype::kFp32) {
      name += fmt::format("_{}", to_string(spec.activation_scale.scale_dtype));
    }
    if (spec.accumulation == Accumulation::kFast) name += "_fast";
  }
  if (spec.output) name += fmt::format("_{}", to_string(*spec.output));
  if (spec.has_byte_output()) {
    name += fmt::format("_{}", to_string(spec.output_scale.granularity));
    if (spec.output_scale.scale_dtype != RowScaleDtype::kFp32) {
      name += fmt::format("_{}", to_string(spec.output_scale.scale_dtype));
    }
  }
  name += epilogue_name(spec);
  if (!any_shape.empty()) return fmt::format("{}{}{}", name, kOfAnyShape, any_shape);
  return fmt::format("{}{}m{}_{}", name, gemm_name_shape(spec.shape.n, spec.shape.k), m.min, m.max);
}

}  // namespace heddle
