// What the reasons of a gemm's plan say of all of its kernels: scales, decoding, sums.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "generator/decode/requests.h"
#include "generator/families/gemm_family.h"
#include "generator/families/scale_mode.h"
#include "generator/spec/byte_meaning.h"
#include "heddle/inspect/plan.h"

namespace heddle {
namespace {

// What the order of the codes costs against Heddle's own.
std::string describe_interleave(const GemmSpec& spec, const DecodePlan& decode) {
  WeightSpec own = spec.weight;
  own.interleave = Interleave::kFragment;
  own.permutation.clear();
  const double fragment =
      derive_decode_plan(decode_request(own, spec.activation)).instructions_per_weight;
  const double more = decode.instructions_per_weight / fragment - 1;
  std::string text =
      fmt::format("interleave {}: {:.3f} instructions per weight, {:.3f} in the order fragment",
                  to_string(spec.weight.interleave), decode.instructions_per_weight, fragment);
  if (more > 0) text += fmt::format(": this order costs {:.0f} % more", 100 * more);
  if (spec.weight.interleave == Interleave::kTrtllm) {
    text += "; a lane's words lie apart, each is a load of 4 bytes";
  }
  return text;
}

// Why scales go where they go; which of two modes a kernel has stands with the kernel.
std::string scale_text(const Plan& plan) {
  const GemmSpec& spec = gemm_request(plan).spec;
  if (spec.weight.has_blocks()) {
    return "scales of tokens and blocks on the sums of 128 columns: they differ from one to the "
           "next";
  }
  if (spec.weight.has_two_levels()) {
    return "scales of groups on the weights, which are INT8 then, of tokens and rows on the sums "
           "of "
           "all of K";
  }
  if (spec.has_byte_activations() && plan.layout.groups_per_chunk != 0) {
    return "scales of groups on the sums of each, of tokens on the sums of all of K";
  }
  if (spec.has_byte_activations()) {
    return "scales of tokens and rows on the sums of all of K: they are the same for it";
  }
  if (!spec.weight.has_scales()) return "no scales: the weights are multiplied as they are";
  if (plan.layout.groups_per_chunk == 0) {
    return "scale in the epilogue: it is the same for all of K";
  }
  if (spec.weight.zero_point == ZeroPoint::kFloat) {
    return "scale on the FP32 sums: float zero points meet the sums of the tokens";
  }
  if (!scales_weights_exactly(spec)) {
    return fmt::format("scale on the FP32 sums: {} scales cannot multiply {} weights",
                       to_string(spec.weight.scale_dtype), to_string(spec.activation));
  }
  return "scale on the FP32 sums of each group where that costs no more instructions than scaling "
         "the weights and the registers hold both sums, else on the weights";
}

// How products of codes of eight bits are added.
std::string sums_text(const Plan& plan) {
  const GemmSpec& spec = gemm_request(plan).spec;
  const bool has_groups = plan.layout.groups_per_chunk != 0 && !spec.weight.has_two_levels();
  if (spec.activation == DType::kInt8) {
    return has_groups
               ? fmt::format("integer products of {} columns are added exactly, then in FP32",
                             plan.layout.meta_group)
               : "integer products are added exactly";
  }
  if (spec.accumulation == Accumulation::kFast) {
    return "products are added in the tensor cores, whose sums keep some 14 bits";
  }
  return fmt::format("products of {} columns are added in the tensor cores, then in FP32",
                     plan.layout.meta_group);
}

}  // namespace

std::vector<std::string> GemmFamily::common_reasons(const Plan& plan) const {
  std::vector<std::string> reasons;
  const GemmSpec& spec = gemm_request(plan).spec;
  if (spec.path != Path::kAuto) {
    reasons.push_back(fmt::format("path {}: forced by the spec", to_string(spec.path)));
  }
  reasons.push_back(scale_text(plan));
  const std::vector<SharedDecodePlan> decodes = decode_plans_of(plan);
  const auto leaves_power = [](const DecodePlan& one) {
    return one.request.fold_power && one.result_exponent != 0;
  };
  if (std::any_of(decodes.begin(), decodes.end(), leaves_power)) {
    reasons.emplace_back("the power of two that decoded codes lack is part of the scale");
  }
  const auto scales = [](const DecodePlan& one) {
    return one.request.fold_scale && !one.makes_bytes();
  };
  if (std::any_of(decodes.begin(), decodes.end(), scales)) {
    reasons.emplace_back(
        "where the scale is on the weight, one operation takes off the bias and multiplies by it");
  }
  const auto makes_halves = [](const DecodePlan& one) { return !one.makes_bytes(); };
  if (spec.has_byte_activations()) {
    const bool all_halves =
        !decodes.empty() && std::all_of(decodes.begin(), decodes.end(), makes_halves);
    if (!all_halves) reasons.push_back(sums_text(plan));
  } else if (spec.weight.interleave != Interleave::kFragment) {
    reasons.push_back(describe_interleave(spec, plan.decode));
  }
  return reasons;
}

}  // namespace heddle
