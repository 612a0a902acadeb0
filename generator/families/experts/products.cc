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

ExpertGemm product(const Plan& plan, GemmSpec spec, Path path, std::int64_t experts, bool is_down) {
  const MoeSpec& moe = plan.spec.moe();
  spec.shape.n *= experts;
  spec.path = path;
  const bool has_plan = !is_down || decode_alike(moe.gate_up, moe.down);
  ExpertGemm gemm{spec, weight_layout(spec),
                  has_plan ? DecodePlan(plan.decode)
                           : derive_decode_plan(decode_request(spec.weight, spec.activation)),
                  &plan.target};
  return gemm;
}

ExpertGemms gemms_of(const Plan& plan, Path path, std::int64_t experts, std::int64_t rows) {
  const MoeSpec& moe = plan.spec.moe();
  return {product(plan, gate_up_gemm(moe), path, experts, false),
          product(plan, down_gemm(moe), path, experts, true), rows};
}

}  // namespace

ExpertGemms gemms_of_expert(const Plan& plan, Path path) {
  return gemms_of(plan, path, 1, plan.spec.moe().shape.tokens_max);
}

ExpertGemms gemms_of_layer(const Plan& plan, Path path, std::int64_t tokens, int tile_rows) {
  const ExpertLoad load = expert_load(plan.spec.moe(), tokens, tile_rows);
  const double tiles = std::max(1.0, load.tiles);
  const double rows = std::clamp(load.rows / tiles, 1.0, static_cast<double>(tile_rows));
  return gemms_of(plan, path, std::llround(tiles), std::llround(std::ceil(rows)));
}

}  // namespace heddle
