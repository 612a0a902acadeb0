#include "generator/plan/kernel_name.h"

#include <fmt/format.h>

namespace heddle {

std::string weight_name(const WeightSpec& weight) {
  const bool integer = weight.type == WeightType::kUint || weight.type == WeightType::kInt;
  std::string name(to_string(weight.type));
  if (integer) name += std::to_string(weight.bits);
  if (weight.zero_point == ZeroPoint::kInt) name += 'z';
  if (weight.zero_point == ZeroPoint::kFloat) name += 'f';
  if (weight.group_size == kPerChannel) {
    name += "_channel";
  } else if (weight.group_size == kPerTensor) {
    name += "_tensor";
  } else {
    name += fmt::format("_g{}", weight.group_size);
  }
  if (weight.tensor_scale) name += "_ts";
  return name;
}

}  // namespace heddle
