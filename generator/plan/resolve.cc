#include "generator/plan/resolve.h"

#include <fmt/format.h>

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

namespace {

// Kernels of a fixed size, which no smaller tile could replace.
void refuse_large_kernels(const Plan& plan) {
  std::vector<Problem> problems;
  for (const TileKernel& kernel : plan.tile_kernels) {
    if (kernel.shared_bytes <= plan.target.shared_per_block) continue;
    problems.push_back({"",
                        fmt::format("{} needs {} bytes of shared memory, {} has {} for a block",
                                    to_string(kernel.role), kernel.shared_bytes, plan.target.name,
                                    plan.target.shared_per_block),
                        "", "", ""});
  }
  refuse_if_any(plan.spec, std::move(problems));
}

}  // namespace

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
  refuse_large_kernels(plan);
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
