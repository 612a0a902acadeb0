#include "generator/families/gemm_variant.h"

#include "generator/families/gemm_kernel.h"

namespace heddle {

const GemmVariant& variant_of(const PlannedKernel& kernel) noexcept {
  return dynamic_cast<const GemmChoice*>(kernel.configuration.get())->variant();
}

std::vector<GemmVariant> gemm_variants(const Plan& plan) {
  std::vector<GemmVariant> variants;
  for (const PlannedKernel& kernel : plan.kernels) variants.push_back(variant_of(kernel));
  return variants;
}

DecodePlan decode_plan_of(const Plan& plan, const GemmVariant& variant) {
  if (!variant.fold_power && !variant.fold_scale) return plan.decode;
  DecodeRequest request = plan.decode.request;
  request.fold_power = variant.fold_power;
  request.fold_scale = variant.fold_scale;
  return derive_decode_plan(request);
}

std::string_view to_string(GemmKernel kernel) noexcept {
  switch (kernel) {
    case GemmKernel::kTiles:
      return "tiles";
    case GemmKernel::kStream:
      return "stream";
    case GemmKernel::kBulk:
      return "bulk";
    case GemmKernel::kWgmma:
      return "wgmma";
  }
  return "";
}

std::string_view to_string(ScaleMode mode) noexcept {
  switch (mode) {
    case ScaleMode::kAccumulator:
      return "accumulator";
    case ScaleMode::kWeight:
      return "weight";
    case ScaleMode::kChannel:
      return "channel";
  }
  return "";
}

}  // namespace heddle
