#include "generator/families/experts/products.h"

#include <algorithm>
#include <cmath>

#include "generator/decode/requests.h"
#include "generator/families/shared_memory.h"
#include "generator/operations/moe/moe.h"

namespace heddle {
namespace {

bool decode_alike(const WeightSpec& a, const WeightSpec& b) {
  return a.bits == b.bits && a.type == b.type && a.zero_point == b.zero_point &&
         a.interleave == b.interleave && a.permutation == b.permutation;
}

ExpertGemm product(const Plan& plan, GemmSpec spec, std::int64_t experts, bool is_down) {
  const MoeSpec& moe = plan.spec.moe();
  spec.shape.n *= experts;
  // The feeder that the kernel has.
  spec.path = Path::kAmpere;
  const bool has_plan = !is_down || decode_alike(moe.gate_up, moe.down);
  ExpertGemm gemm{spec, weight_layout(spec),
                  has_plan ? DecodePlan(plan.decode)
                           : derive_decode_plan(decode_request(spec.weight, spec.activation)),
                  &plan.target};
  return gemm;
}

ExpertGemms gemms_of(const Plan& plan, std::int64_t experts, std::int64_t rows) {
  const MoeSpec& moe = plan.spec.moe();
  return {product(plan, gate_up_gemm(moe), experts, false),
          product(plan, down_gemm(moe), experts, true), rows};
}

}  // namespace

ExpertGemms gemms_of_expert(const Plan& plan) {
  return gemms_of(plan, 1, plan.spec.moe().shape.tokens_max);
}

ExpertGemms gemms_of_layer(const Plan& plan, std::int64_t tokens) {
  const MoeSpec& moe = plan.spec.moe();
  const double hit = std::max(1.0, experts_hit(moe, tokens));
  const double local = static_cast<double>(moe.local_experts()) /
                       static_cast<double>(moe.shape.experts);
  const double rows = static_cast<double>(tokens * moe.shape.top_k) * local / hit;
  return gemms_of(plan, std::llround(hit), std::max<std::int64_t>(1, std::llround(std::ceil(rows))));
}

}  // namespace heddle
