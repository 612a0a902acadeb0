// Which decode plans the kernels of a plan have.
#include <algorithm>
#include <utility>

#include "heddle/plan.h"

namespace heddle {

DecodePlan decode_plan_of(const Plan& plan, const GemmVariant& variant) {
  if (!variant.fold_power && !variant.fold_scale) return plan.decode;
  DecodeRequest request = plan.decode.request;
  request.fold_power = variant.fold_power;
  request.fold_scale = variant.fold_scale;
  return derive_decode_plan(request);
}

std::vector<DecodePlan> decode_plans_of(const Plan& plan) {
  if (plan.variants.empty()) return {plan.decode};
  std::vector<DecodePlan> plans;
  const auto add = [&plans](DecodePlan plan) {
    const auto is_same = [&plan](const DecodePlan& one) {
      return one.result_exponent == plan.result_exponent;  // each has another one
    };
    if (std::none_of(plans.begin(), plans.end(), is_same)) plans.push_back(std::move(plan));
  };
  const auto add_first = [&](bool fold_power, bool fold_scale) {
    const auto is_one = [=](const GemmVariant& v) {
      return v.fold_power == fold_power && v.fold_scale == fold_scale;
    };
    const auto one = std::find_if(plan.variants.begin(), plan.variants.end(), is_one);
    if (one != plan.variants.end()) add(decode_plan_of(plan, *one));
  };
  add_first(false, false);
  add_first(true, false);
  add_first(false, true);
  return plans;
}

}  // namespace heddle
