// Of an assignment its token, its expert and its routing weight. A token's first top_k assignments
// are what its router has chosen; those behind them are to the shared experts, whatever its ids.
#pragma once

#include "experts/config.h"
#include "experts/parameters.h"
#include "primitives/bits.cuh"
#include "primitives/memory.cuh"
#include "steps/activation.cuh"

namespace heddle {

// Config::value.layer is the layer.
template <class Config>
struct Assignments {
  static constexpr ExpertLayer kLayer = Config::value.layer;
  static constexpr int kChoices = kLayer.choices();

  const MoeParameters& layer;

  __device__ __forceinline__ int count() const { return layer.tokens * kChoices; }
  static __device__ __forceinline__ int token_of(int assignment) { return assignment / kChoices; }

  // The expert's place among those of this device; -1 where it is not one of them, whatever the id.
  __device__ __forceinline__ int expert_of(int assignment) const {
    if constexpr (kLayer.shared_experts > 0) {
      const int choice = assignment % kChoices;
      if (choice >= kLayer.top_k) return kLayer.local_experts + choice - kLayer.top_k;
    }
    const int id = static_cast<int>(load_global_4_l2(layer.ids + chosen(assignment)));
    const i64 local = static_cast<i64>(id) - kLayer.first_expert;
    return local >= 0 && local < kLayer.local_experts ? static_cast<int>(local) : -1;
  }

  // FP32.
  __device__ __forceinline__ u32 weight_of(int assignment) const {
    if constexpr (kLayer.shared_experts > 0) {
      if (assignment % kChoices >= kLayer.top_k) return shared_weight(token_of(assignment));
    }
    return load_global_4_l2(layer.routing_weights + chosen(assignment));
  }

 private:
  // Where ids and routing weights have an assignment to a chosen expert.
  static __device__ __forceinline__ i64 chosen(int assignment) {
    if constexpr (kLayer.shared_experts == 0) return assignment;
    return static_cast<i64>(token_of(assignment)) * kLayer.top_k + assignment % kChoices;
  }
  __device__ __forceinline__ u32 shared_weight(int token) const {
    if constexpr (!kLayer.shared_gate) return bits_of_float(1.0f);
    const float gate = float_from_bits(load_global_4_l2(layer.shared_gates + token));
    return bits_of_float(times_sigmoid(1.0f, gate));
  }
};

}  // namespace heddle
