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

double experts_hit(const MoeSpec& spec, std::int64_t tokens) {
  const auto experts = static_cast<double>(spec.shape.experts);
  const double missed = 1 - static_cast<double>(spec.shape.top_k) / experts;
  return static_cast<double>(spec.local_experts()) *
         (1 - std::pow(missed, static_cast<double>(tokens)));
}

}  // namespace heddle
