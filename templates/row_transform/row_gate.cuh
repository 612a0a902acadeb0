// y = activation(x), or activation(gate) * up, in FP32 and rounded once. row_transform.cuh has the
// floors.
#pragma once

#include "primitives/half.cuh"
#include "row_transform/row_place.cuh"
#include "steps/activation.cuh"

namespace heddle {

// The two vectors of X that become a vector of Y; without a gate only the first one counts.
struct GatedVector {
  u32x4 first, second;
};

// Bytes of X that become 16 of Y and lie together.
template <class Config>
constexpr int kBytesTogether = Config::value.gate == GateOrder::kInterleaved ? 32 : 16;

template <class Config>
__device__ __forceinline__ GatedVector load_gated(const u8* x) {
  constexpr GateOrder kGate = Config::value.gate;
  constexpr int kToSecond = kGate == GateOrder::kHalves ? 2 * Config::value.columns : 16;
  GatedVector v{};
  v.first = load_global_16_coherent(x);
  if constexpr (kGate != GateOrder::kNone) v.second = load_global_16_coherent(x + kToSecond);
  return v;
}

template <class Config>
__device__ __forceinline__ u32x4 apply_gate(const GatedVector& v) {
  using Value = typename Config::Value;
  constexpr GateOrder kGate = Config::value.gate;
  float first[kVectorElements];
  float second[kVectorElements];
  float y[kVectorElements];
  widen_vector<Value>(v.first, first);
  widen_vector<Value>(v.second, second);
#pragma unroll
  for (int i = 0; i < kVectorElements; ++i) {
    constexpr int kHalf = kVectorElements / 2;
    float gate = first[i];
    float up = second[i];
    if constexpr (kGate == GateOrder::kInterleaved) {
      gate = i < kHalf ? first[2 * i % kVectorElements] : second[2 * i % kVectorElements];
      up = i < kHalf ? first[2 * i % kVectorElements + 1] : second[2 * i % kVectorElements + 1];
    }
    constexpr Activation kActivation = Config::value.activation;
    if constexpr (kGate == GateOrder::kNone) {
      y[i] = activate<kActivation>(gate);
    } else {
      y[i] = activate_gated<kActivation, 0>(gate, up);
    }
  }
  return round_vector<Value>(y);
}

template <class Config>
__device__ __forceinline__ void gate_rows(const RowTransformParameters& p) {
  constexpr int kCount = Config::value.vectors;
  begin_rows<Config>();
  for_each_row<Config>(p.m, [&](i64 row, const RowPlace<Config>& place) {
    constexpr int kBytes = kBytesTogether<Config>;
    const u8* x = place.template begin<const u8, kBytes>(p.x + row * p.x_stride);
    u8* y = place.begin(p.y + row * p.y_stride);
    GatedVector v[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (place.has(i)) v[i] = load_gated<Config>(x + RowPlace<Config>::template behind<kBytes>(i));
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (place.has(i)) store_global_16(y + RowPlace<Config>::behind(i), apply_gate<Config>(v[i]));
    }
  });
}

}  // namespace heddle
