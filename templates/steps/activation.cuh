// Functions of an element, and of a gate and what it multiplies, in FP32.
#pragma once

#include "primitives/float.cuh"
#include "steps/config.h"

namespace heddle {

// x / (1 + e^-t). Without the branches of an exact division: a thread has dozens of these, which
// then overlap. Where e^-t overflows the result is a zero of x's sign.
__device__ __forceinline__ float times_sigmoid(float x, float t) {
  constexpr float kLog2E = 1.4426950408889634f;
  return x * reciprocal_fast(1.0f + exp2_fast(-kLog2E * t));
}

template <Activation kActivation>
__device__ __forceinline__ float activate(float x) {
  if constexpr (kActivation == Activation::kRelu) return x < 0.0f ? 0.0f : x;
  if constexpr (kActivation == Activation::kRelu2) return x < 0.0f ? 0.0f : x * x;
  if constexpr (kActivation == Activation::kSilu) return times_sigmoid(x, x);
  if constexpr (kActivation == Activation::kGelu) {
    return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f));
  }
  if constexpr (kActivation == Activation::kGeluTanh) {
    // 0.5 (1 + tanh(t / 2)) is the sigmoid of t.
    return times_sigmoid(x, 1.5957691216057308f * (x + 0.044715f * x * x * x));
  }
  return x;
}

// x where it is small against the limit, which it nears where it is large.
template <int kLimit>
__device__ __forceinline__ float soft_limited(float x) {
  if constexpr (kLimit == 0) return x;
  constexpr float kMost = kLimit;
  return kMost * tanhf(x / kMost);
}

// The output of a gate and of its up, the value that it multiplies. kLimit: the most that both may
// be, and -kLimit the least of ups; 0: any. kGateLimit: of kSitu, whose kLimit is of ups alone.
template <Activation kActivation, int kLimit, int kGateLimit = 0>
__device__ __forceinline__ float activate_gated(float gate, float up) {
  if constexpr (kActivation == Activation::kSitu) {
    return times_sigmoid(soft_limited<kGateLimit>(gate), gate) * soft_limited<kLimit>(up);
  }
  if constexpr (kLimit != 0) {
    constexpr float kMost = kLimit;
    gate = gate > kMost ? kMost : gate;
    up = up > kMost ? kMost : up < -kMost ? -kMost : up;
  }
  if constexpr (kActivation == Activation::kClampedSwiglu) {
    constexpr float kSteepness = 1.702f;  // of gpt-oss
    return (up + 1.0f) * times_sigmoid(gate, kSteepness * gate);
  } else {
    return activate<kActivation>(gate) * up;
  }
}

// By the epilogue of a GEMM's configuration, which is gated.
template <class Config>
__device__ __forceinline__ float gated_output(float gate, float up) {
  constexpr EpilogueConfig kEpilogue = Config::value.epilogue;
  return activate_gated<kEpilogue.activation, kEpilogue.limit, kEpilogue.gate_limit>(gate, up);
}

}  // namespace heddle
