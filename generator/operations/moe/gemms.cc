// The two products of an expert as GEMMs.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "generator/operations/moe/moe.h"

namespace heddle {

GemmSpec gate_up_gemm(const MoeSpec& spec) {
  GemmSpec gemm;
  gemm.shape.n = (spec.epilogue.gated ? 2 : 1) * spec.shape.intermediate;
  gemm.shape.k = spec.shape.hidden;
  gemm.shape.m_max = spec.shape.tokens_max;
  gemm.weight = spec.gate_up;
  gemm.activation = spec.activation;
  gemm.epilogue = spec.epilogue;
  gemm.epilogue.residual = false;  // of the layer
  gemm.batch_invariant = spec.batch_invariant;
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
  gemm.batch_invariant = spec.batch_invariant;
  return gemm;
}

MoeGemms moe_gemms(const MoeSpec& spec) {
  MoeGemms gemms = {gate_up_gemm(spec), down_gemm(spec)};
  gemms.gate_up.act_order = spec.act_order;
  return gemms;
}

ExpertLoad expert_load(const MoeSpec& spec, std::int64_t tokens, int tile_rows) {
  const auto experts = static_cast<double>(spec.local_experts());
  const auto shared = static_cast<double>(spec.shape.shared_experts);
  const auto trials = static_cast<double>(tokens);
  const double chosen =
      static_cast<double>(spec.shape.top_k) / static_cast<double>(spec.shape.experts);
  ExpertLoad load;
  load.rows = experts * trials * chosen + shared * trials;
  load.hit = experts * (1 - std::pow(1 - chosen, trials)) + shared;
  load.tiles_with.resize(static_cast<std::size_t>(tile_rows) + 1);
  double all = 0;
  const auto add_tiles = [&](double rows, double count) {
    const double full = std::floor(rows / tile_rows);
    load.tiles_with.back() += count * full;
    const auto rest = static_cast<std::size_t>(rows - full * tile_rows);
    if (rest != 0) load.tiles_with[rest] += count;
  };
  // An expert has so many rows with this probability, but for a factor.
  const auto add = [&](double rows, double probability) {
    all += probability;
    add_tiles(rows, probability);
  };
  const auto finish = [&] {
    for (double& tiles : load.tiles_with) tiles *= experts / all;
    add_tiles(trials, shared);
    load.tiles = std::accumulate(load.tiles_with.begin(), load.tiles_with.end(), 0.0);
    return load;
  };
  if (chosen >= 1) {
    add(trials, 1);
    return finish();
  }
  // An expert's rows are binomial: probabilities relative to that of the mode, out to where they
  // are negligible.
  constexpr double kNegligible = 1e-12;
  const double odds = chosen / (1 - chosen);
  const double mode = std::floor((trials + 1) * chosen);
  double probability = 1;
  for (double rows = mode; rows <= trials && probability > kNegligible; ++rows) {
    add(rows, probability);
    probability *= odds * (trials - rows) / (rows + 1);
  }
  probability = 1;
  for (double rows = mode; rows > 0 && probability > kNegligible; --rows) {
    probability *= rows / (odds * (trials - rows + 1));
    add(rows - 1, probability);
  }
  return finish();
}

}  // namespace heddle
