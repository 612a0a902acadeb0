// y = x, activation(x) or activation(gate) * up, in FP32. row_transform.cuh has the floors.
#pragma once

#include "primitives/half.cuh"
#include "row_transform/row_output.cuh"
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

// A vector of Y before it is rounded.
template <class Config>
__device__ __forceinline__ void apply_gate(const GatedVector& v, float (&y)[kVectorElements]) {
  using Value = typename Config::Value;
  constexpr GateOrder kGate = Config::value.gate;
  float first[kVectorElements];
  float second[kVectorElements];
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
}

// What a thread reads of the row that it is at.
template <class Config>
struct GatedRow {
  static constexpr int kBytes = kBytesTogether<Config>;

  const RowTransformParameters& p;
  const RowPlace<Config>& place;
  const u8* x;

  __device__ __forceinline__ GatedRow(const RowTransformParameters& parameters, i64 row,
                                      const RowPlace<Config>& of)
      : p(parameters), place(of) {
    x = place.template begin<const u8, kBytes>(p.x + row * p.x_stride);
  }

  // Vectors `first` to first + kCount - 1 of the thread; zeros behind the end of the row.
  template <int kCount>
  __device__ __forceinline__ void load(int first, GatedVector* v) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      v[i] = {};
      if (place.has(first + i)) {
        v[i] = load_gated<Config>(x + RowPlace<Config>::template behind<kBytes>(first + i));
      }
    }
  }
  // Vector i of Y, by the factors of its columns.
  __device__ __forceinline__ void values(int i, const GatedVector& v,
                                         float (&y)[kVectorElements]) const {
    u32x4 factors{};
    if constexpr (Config::value.output.pre_scale) {
      if (place.has(i)) {
        factors = load_global_16_coherent(place.begin(p.pre_scale) + RowPlace<Config>::behind(i));
      }
    }
    apply_gate<Config>(v, y);
    apply_pre_scale<Config>(factors, y);
  }
};

// The thread's vectors of the block's part of a row, which stay in registers. See write_row().
template <class Config>
struct HeldGates {
  static constexpr int kCount = Config::value.vectors;

  const GatedRow<Config>& row;
  GatedVector v[kCount];

  template <class Take>
  __device__ __forceinline__ void for_each(const Take& take) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      float y[kVectorElements];
      GatedVector waiting = v[i];
      if constexpr (RowOutput<Config>::kByToken && !Config::value.keeps_values()) {
        waiting.first = stay_packed(v[i].first);
      }
      row.values(i, waiting, y);
      take(i, y);
    }
  }
};

// Gates of a row with one scale that no block's registers hold.
template <class Config>
struct LongGates {
  const GatedRow<Config>& row;

  template <class Take>
  __device__ __forceinline__ void for_each(const Take& take) const {
    constexpr int kCount = Config::value.vectors;
    constexpr int kAll =
        static_cast<int>(ceil_div(Config::value.row_vectors(), Config::value.lanes));
    for (int first = 0; first < kAll; first += kCount) {
      GatedVector v[kCount];
      row.template load<kCount>(first, v);
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        float y[kVectorElements];
        row.values(first + i, v[i], y);
        take(first + i, y);
      }
    }
  }
};

template <class Config>
__device__ __forceinline__ void gate_rows(const RowTransformParameters& p) {
  extern __shared__ __align__(128) u8 shared_memory[];
  RowReduce<Config> reduce(shared_address(shared_memory));
  begin_rows<Config>();
  const RowScale given = given_row_scale<Config>(p);
  for_each_row<Config>(p.m, [&](i64 row, const RowPlace<Config>& place) {
    const GatedRow<Config> here(p, row, place);
    RowOutput<Config> output(p, row, place, given);
    if constexpr (Config::value.takes_rows() && !Config::value.in_registers) {
      write_row(output, reduce, LongGates<Config>{here});
    } else {
      HeldGates<Config> held{here};
      here.template load<Config::value.vectors>(0, held.v);
      write_held_row(output, reduce, held);
    }
  });
}

}  // namespace heddle
