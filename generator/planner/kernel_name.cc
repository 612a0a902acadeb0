#include "generator/planner/kernel_name.h"

#include <fmt/format.h>

#include "generator/spec/weight_meaning.h"

namespace heddle {

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
    if (weight.group_offset != 0) name += fmt::format("o{}", weight.group_offset);
  }
  if (weight.tensor_scale) name += "_ts";
  return name;
}

std::string gemm_name_prefix(const WeightSpec& weight, DType activation) {
  return fmt::format("heddle_gemm_{}_{}", weight_name(weight), to_string(activation));
}

std::string gemm_name_shape(std::int64_t n, std::int64_t k) {
  return fmt::format("_n{}_k{}_", n, k);
}

std::string gemm_kernel_name(const GemmSpec& spec, const PlannedKernel& kernel) {
  return fmt::format("{}{}{}{}m{}_{}", gemm_name_prefix(spec.weight, spec.activation),
                     spec.output ? fmt::format("_{}", to_string(*spec.output)) : "",
                     spec.epilogue.gated ? "_gated" : "",
                     gemm_name_shape(spec.shape.n, spec.shape.k), kernel.size_min, kernel.size_max);
}

}  // namespace heddle
