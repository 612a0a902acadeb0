// The functions of an epilogue in FP64, for references on the host.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_NUMBERS_ACTIVATED_H_
#define HEDDLE_TOOLS_GPU_HARNESS_NUMBERS_ACTIVATED_H_

#include <algorithm>
#include <cmath>

#include "heddle/spec.h"

namespace heddle {

// A NaN stays one. Precondition: none that takes two values.
inline double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
    case Activation::kClampedSwiglu:
    case Activation::kSitu:
      break;
    case Activation::kRelu:
      return x < 0 ? 0 : x;
    case Activation::kGelu:
      return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5)));
    case Activation::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    case Activation::kRelu2:
      return x < 0 ? 0 : x * x;
  }
  return x;
}

// The result of a gated epilogue.
inline double activated(const EpilogueSpec& epilogue, double gate, double up) {
  if (epilogue.activation == Activation::kSitu) {
    const auto soft = [](double x, double limit) {
      return limit == 0 ? x : limit * std::tanh(x / limit);
    };
    return soft(gate, epilogue.gate_limit) / (1 + std::exp(-gate)) * soft(up, epilogue.limit);
  }
  if (const double limit = epilogue.limit; limit != 0) {
    gate = std::min(gate, limit);
    up = std::clamp(up, -limit, limit);
  }
  if (epilogue.activation != Activation::kClampedSwiglu) {
    return activated(epilogue.activation, gate) * up;
  }
  return (up + 1) * gate / (1 + std::exp(-1.702 * gate));
}

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_NUMBERS_ACTIVATED_H_
