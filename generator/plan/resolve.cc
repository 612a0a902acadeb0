#include "generator/plan/resolve.h"

#include <utility>

#include "generator/target/check_target.h"

namespace heddle {

void refuse_if_any(const Spec& spec, std::vector<Problem> problems) {
  if (problems.empty()) return;
  if (!spec.name().empty()) {
    for (Problem& problem : problems) problem.message = spec.name() + ": " + problem.message;
  }
  throw Error(ErrorCategory::kUnsupported, "plan.unsupported", std::move(problems));
}

Plan resolve(const Spec& spec, const Target& target) {
  check_target(target);
  Plan plan;
  plan.spec = spec;
  plan.target = target;
  switch (spec.op()) {
    case Op::kGemm:
      resolve_gemm(plan);
      break;
    case Op::kDequantize:
      resolve_dequantize(plan);
      break;
    case Op::kRepack:
      resolve_repack(plan);
      break;
    case Op::kQuantizeWeight:
      resolve_quantize_weight(plan);
      break;
    case Op::kKvAppend:
      resolve_kv_append(plan);
      break;
    case Op::kDecodeAttention:
      resolve_decode_attention(plan);
      break;
  }
  return plan;
}

std::string_view to_string(KernelRole role) noexcept {
  switch (role) {
    case KernelRole::kGather:
      return "gather";
    case KernelRole::kDequantize:
      return "dequantize";
    case KernelRole::kRepack:
      return "repack";
    case KernelRole::kQuantizeWeight:
      return "quantize_weight";
    case KernelRole::kKvAppend:
      return "kv_append";
    case KernelRole::kDecodeAttention:
      return "decode_attention";
  }
  return "";
}

}  // namespace heddle
