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

ExpertGemms gemms_of(const Plan& plan, Path path, std::int64_t experts, std::int64_t rows,
                     double repeats) {
  const MoeSpec& moe = plan.spec.moe();
  return {product(plan, gate_up_gemm(moe), path, experts, false),
          product(plan, down_gemm(moe), path, experts, true), rows, repeats};
}

// Tiles whose weights are one matrix. 2^20 rows are fewer than 65535 tiles of 32 rows, which a grid
// may have, and more than 30 tiles of 256 rows for each multiprocessor.
double tiles_in_a_matrix(const MoeSpec& moe, double tiles) {
  constexpr std::int64_t kMostRows = std::int64_t{1} << 20;
  const std::int64_t rows = std::max(gate_up_gemm(moe).shape.n, down_gemm(moe).shape.n);
  return std::min(tiles, static_cast<double>(std::max<std::int64_t>(1, kMostRows / rows)));
}

}  // namespace

ExpertGemms gemms_of_expert(const Plan& plan, Path path) {
  return gemms_of(plan, path, 1, plan.spec.moe().shape.tokens_max, 1);
}

ExpertGemms gemms_of_layer(const Plan& plan, Path path, std::int64_t tokens, int tile_rows) {
  const MoeSpec& moe = plan.spec.moe();
  const ExpertLoad load = expert_load(moe, tokens, tile_rows);
  const double tiles = std::max(1.0, load.tiles);
  const double rows = std::clamp(load.rows / tiles, 1.0, static_cast<double>(tile_rows));
  const double whole = std::round(tiles);
  const double counted = tiles_in_a_matrix(moe, whole);
  return gemms_of(plan, path, std::llround(counted), std::llround(std::ceil(rows)),
                  whole / counted);
}

std::vector<int> useful_tile_rows(const Plan& plan, std::int64_t tokens,
                                  const std::vector<int>& rows, std::size_t few, std::size_t many) {
  constexpr int kMostTiles = 4;  // of an expert with a usual number of rows
  const ExpertLoad load = expert_load(plan.spec.moe(), tokens, 1);
  const double usual = load.rows / std::max(1.0, load.hit);
  const double most = usual + 4 * std::sqrt(usual);
  std::vector<int> useful;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool is_filled = i < few || rows[i] / 2.0 < most;
    const bool is_enough = i + many >= rows.size() || kMostTiles * rows[i] >= usual;
    if (is_filled && is_enough) useful.push_back(rows[i]);
  }
  return useful;
}

}  // namespace heddle
