// Functions of an element, in FP32.
#pragma once

#include "steps/config.h"

namespace heddle {

template <Activation kActivation>
__device__ __forceinline__ float activate(float x) {
  if constexpr (kActivation == Activation::kRelu) return x < 0.0f ? 0.0f : x;
  if constexpr (kActivation == Activation::kSilu) return x / (1.0f + __expf(-x));
  if constexpr (kActivation == Activation::kGelu) {
    return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f));
  }
  if constexpr (kActivation == Activation::kGeluTanh) {
    return 0.5f * x * (1.0f + tanhf(0.79788456080286536f * (x + 0.044715f * x * x * x)));
  }
  return x;
}

}  // namespace heddle
