// The two products of an expert as GEMMs.
#include <cmath>

#include "generator/operations/moe/moe.h"

namespace heddle {

GemmSpec gate_up_gemm(const MoeSpec& spec) {
  GemmSpec gemm;
  gemm.shape.n = (spec.epilogue.gated ? 2 : 1) * spec.shape.intermediate;
  gemm.shape.k = spec.shape.hidden;
  gemm.shape.m_max = spec.shape.tokens_max;
  gemm.weight = spec.gate_up;
  gemm.activation = spec.activation;
  gemm.epilogue.bias = spec.epilogue.bias;
  gemm.epilogue.activation = spec.epilogue.activation;
  gemm.epilogue.gated = spec.epilogue.gated;
  gemm.epilogue.limit = spec.epilogue.limit;
  return gemm;
}

GemmSpec down_gemm(const MoeSpec& spec) {
  GemmSpec gemm;
  gemm.shape.n = spec.shape.hidden;
  gemm.shape.k = spec.shape.intermediate;
  gemm.shape.m_max = spec.shape.tokens_max;
  gemm.weight = spec.down;
  gemm.activation = spec.activation;
  gemm.output = DType::kFp32;
  gemm.epilogue.bias = spec.epilogue.bias;
  return gemm;
}

MoeGemms moe_gemms(const MoeSpec& spec) { return {gate_up_gemm(spec), down_gemm(spec)}; }

ExpertLoad expert_load(const MoeSpec& spec, std::int64_t tokens, int tile_rows) {
  const auto experts = static_cast<double>(spec.local_experts());
  const auto trials = static_cast<double>(tokens);
  const double chosen =
      static_cast<double>(spec.shape.top_k) / static_cast<double>(spec.shape.experts);
  ExpertLoad load;
  load.rows = experts * trials * chosen;
  load.hit = experts * (1 - std::pow(1 - chosen, trials));
  // An expert's rows are binomial; of many of them the last tile is half full on average.
  constexpr double kMany = 64;
  if (trials * chosen > kMany || chosen >= 1) {
    load.tiles = chosen >= 1 ? experts * std::ceil(trials / tile_rows)
                             : experts * (trials * chosen / tile_rows + 0.5);
    return load;
  }
  double probability = std::pow(1 - chosen, trials);  // of `rows` rows
  double left = 1 - probability;
  for (std::int64_t rows = 1; rows <= tokens && left > 1e-9; ++rows) {
    probability *=
        chosen / (1 - chosen) * static_cast<double>(tokens - rows + 1) / static_cast<double>(rows);
    left -= probability;
    load.tiles += experts * probability * std::ceil(static_cast<double>(rows) / tile_rows);
  }
  return load;
}

}  // namespace heddle
