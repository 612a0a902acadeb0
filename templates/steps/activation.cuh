// Functions of an element, and of a gate and what it multiplies, in FP32.
#pragma once

#include "steps/config.h"

namespace heddle {

template <Activation kActivation>
__device__ __forceinline__ float activate(float x) {
  if constexpr (kActivation == Activation::kRelu) return x < 0.0f ? 0.0f : x;
  if constexpr (kActivation == Activation::kRelu2) return x < 0.0f ? 0.0f : x * x;
  if constexpr (kActivation == Activation::kSilu) return x / (1.0f + __expf(-x));
  if constexpr (kActivation == Activation::kGelu) {
    return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f));
  }
  if constexpr (kActivation == Activation::kGeluTanh) {
    return 0.5f * x * (1.0f + tanhf(0.79788456080286536f * (x + 0.044715f * x * x * x)));
  }
  return x;
}

// The output of a gate and of its up, the value that it multiplies. kLimit: of kClampedSwiglu.
template <Activation kActivation, int kLimit>
__device__ __forceinline__ float activate_gated(float gate, float up) {
  if constexpr (kActivation == Activation::kClampedSwiglu) {
    constexpr float kMost = kLimit;
    constexpr float kSteepness = 1.702f;  // of gpt-oss
    const float g = gate > kMost ? kMost : gate;
    const float u = up > kMost ? kMost : up < -kMost ? -kMost : up;
    return (u + 1.0f) * (g / (1.0f + __expf(-kSteepness * g)));
  } else {
    return activate<kActivation>(gate) * up;
  }
}

}  // namespace heddle
