// From a router's logits to each token's experts and routing weights, in FP32.
//
// Floors. Bytes: the logits, once, which up to 64 tokens are less than what a launch takes anyway.
// Operations: of a token's experts the largest is found top_k times, one after the other, which is
// what the phase takes.
//
// A warp has a token, a lane neighbouring experts: lane_experts() of them, in registers. Values are
// compared as integers of the same order (order_of()), whose largest among the lanes is one
// instruction; where several lanes have it, the lowest lane has the lower ids.
// 1. Logits; scores of all experts where those are compared, and what the softmax needs.
// 2. The best groups; experts of the others are out.
// 3. top_k times the best expert, which then is out. Lane i keeps the i-th.
// 4. Scores of the chosen ones, their sum, weights: lane i has those of choice i.
#pragma once

#include "experts/config.h"
#include "experts/parameters.h"
#include "primitives/bits.cuh"
#include "primitives/float.cuh"
#include "primitives/half.cuh"
#include "primitives/memory.cuh"
#include "primitives/sync.cuh"

namespace heddle {

// An integer that is as large among others as the number among numbers: 2 and up, of a NaN 1, so
// that 0 is less than that of any. Both zeros have the same.
__device__ __forceinline__ u32 order_of(float number) {
  const u32 bits = __float_as_uint(number == 0.0f ? 0.0f : number);
  if (number != number) return 1;
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}
// A number of this order.
__device__ __forceinline__ float number_of(u32 order) {
  return __uint_as_float((order >> 31) != 0 ? order & 0x7FFFFFFFu : ~order);
}
__device__ __forceinline__ int first_lane_where(bool condition) {
  return lowest_bit(ballot(condition));
}
__device__ __forceinline__ float total_of_lanes(float value) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) value += shuffle_xor(value, mask);
  return value;
}

__device__ __forceinline__ float exponential(float x) {
  constexpr float kLog2E = 1.4426950408889634f;
  return exp2_fast(kLog2E * x);
}
// log(1 + e^x). Of the logarithm's power series in s = e / (2 + e), at most 1/3, where e = e^-|x|,
// what is left out is less than 2^-26 of the sum.
__device__ __forceinline__ float softplus(float x) {
  const float e = exponential(x < 0.0f ? x : -x);
  const float s = e * reciprocal_fast(2.0f + e);
  const float square = s * s;
  float series = 1.0f / 13;
  series = series * square + 1.0f / 11;
  series = series * square + 1.0f / 9;
  series = series * square + 1.0f / 7;
  series = series * square + 1.0f / 5;
  series = series * square + 1.0f / 3;
  series = series * square + 1.0f;
  return (x < 0.0f ? 0.0f : x) + 2.0f * s * series;
}

// Config::value.layer: top_k and the router.
template <class Config>
struct ExpertChooser {
  static constexpr RouterConfig kRouter = Config::value.layer.router;
  static constexpr int kTopK = Config::value.layer.top_k;
  static constexpr int kWarps = Config::value.threads() / 32;
  static constexpr int kExperts = kRouter.lane_experts();  // of a lane
  static constexpr bool kIsSoftmax = kRouter.scores == RouterScores::kSoftmax;
  // The sum of the exponentials of all logits does not matter where only the chosen ones' are
  // compared and renormalised.
  static constexpr bool kAddsAll =
      kIsSoftmax && (kRouter.compares_scores() || !kRouter.renormalize);

  const MoeParameters& layer;

  __device__ __forceinline__ void run() const {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int warps = static_cast<int>(gridDim.x) * kWarps;
    for (int token = static_cast<int>(blockIdx.x) * kWarps + warp; token < layer.tokens;
         token += warps) {
      choose(token);
    }
  }

 private:
  struct Choice {
    int id;
    float value;  // the logit or, where they are compared, the score
  };
  // What the softmax of a token's logits is made of.
  struct Softmax {
    float most;
    float factor;  // 1 / the sum of the exponentials
  };

  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % 32; }
  static __device__ __forceinline__ int expert_of(int index) { return lane() * kExperts + index; }

  __device__ __forceinline__ void choose(int token) const {
    float values[kExperts];  // logits or, where they are compared, scores
    u32 orders[kExperts];    // 0: out
#pragma unroll
    for (int i = 0; i < kExperts; ++i) {
      const bool exists = expert_of(i) < kRouter.experts;
      values[i] = exists ? logit(token, expert_of(i)) : 0.0f;
      orders[i] = exists ? order_of(values[i]) : 0;
    }
    const Softmax softmax = softmax_of(values, orders);
    if constexpr (kRouter.compares_scores()) {
#pragma unroll
      for (int i = 0; i < kExperts; ++i) {
        if (expert_of(i) >= kRouter.experts) continue;
        values[i] = score(values[i], softmax);
        orders[i] = order_of(values[i] + correction(expert_of(i)));
      }
    }
    if constexpr (kRouter.groups > 1) leave_groups_out(orders);

    Choice own{};
    u32 best = largest(orders);
#pragma unroll 1
    for (int choice = 0; choice < kTopK; ++choice) {
      const u32 most = max_of_lanes(best);
      const int owner = first_lane_where(best == most);
      Choice chosen{};
      if (lane() == owner) {
        chosen = take(most, values, orders);
        best = largest(orders);
      }
      const u32 id = broadcast(static_cast<u32>(chosen.id), owner);
      const u32 value = broadcast(__float_as_uint(chosen.value), owner);
      if (lane() == choice) own = {static_cast<int>(id), __uint_as_float(value)};
    }
    store(token, own.id, kRouter.compares_scores() ? own.value : score(own.value, softmax));
  }

  // A NaN becomes the lowest number, infinities the largest ones: so a difference is a number.
  __device__ __forceinline__ float logit(int token, int expert) const {
    const i64 at = static_cast<i64>(token) * kRouter.experts + expert;
    float value;
    if constexpr (kRouter.logits == LogitType::kFp32) {
      value = float_from_bits(load_global_4_l2(layer.logits + 4 * at));
    } else if constexpr (kRouter.logits == LogitType::kFp16) {
      value = Fp16::low_to_float(load_global_2_l2(layer.logits + 2 * at));
    } else {
      value = Bf16::low_to_float(load_global_2_l2(layer.logits + 2 * at));
    }
    constexpr float kLargest = 3.402823466e+38f;
    return clamp(value != value ? -kLargest : value, -kLargest, kLargest);
  }

  __device__ __forceinline__ float correction(int expert) const {
    if constexpr (!kRouter.correction_bias) return 0.0f;
    return float_from_bits(load_global_4_l2(layer.correction_bias + expert));
  }

  static __device__ __forceinline__ Softmax softmax_of(const float (&values)[kExperts],
                                                       const u32 (&orders)[kExperts]) {
    if constexpr (!kIsSoftmax) return {};
    Softmax softmax{number_of(max_of_lanes(largest(orders))), 1.0f};
    if constexpr (kAddsAll) {
      float sum = 0.0f;
#pragma unroll
      for (int i = 0; i < kExperts; ++i) {
        if (orders[i] != 0) sum += exponential(values[i] - softmax.most);
      }
      softmax.factor = divide(1.0f, total_of_lanes(sum));
    }
    return softmax;
  }

  static __device__ __forceinline__ float score(float logit, const Softmax& softmax) {
    if constexpr (kIsSoftmax) {
      return exponential(logit - softmax.most) * softmax.factor;
    } else if constexpr (kRouter.scores == RouterScores::kSigmoid) {
      return divide(1.0f, 1.0f + exponential(-logit));
    } else {
      return square_root(softplus(logit));
    }
  }

  // Lane g has the score of group g, until the group is chosen.
  static __device__ __forceinline__ void leave_groups_out(u32 (&orders)[kExperts]) {
    u32 of_group = 0;
#pragma unroll 1
    for (int group = 0; group < kRouter.groups; ++group) {
      const u32 score = score_of_group(group, orders);
      if (lane() == group) of_group = score;
    }
    u32 chosen = 0;
#pragma unroll 1
    for (int i = 0; i < kRouter.top_groups; ++i) {
      const int group = first_lane_where(of_group == max_of_lanes(of_group));
      chosen |= 1u << group;
      if (lane() == group) of_group = 0;
    }
#pragma unroll
    for (int i = 0; i < kExperts; ++i) {
      if ((chosen >> (expert_of(i) / kRouter.group_experts()) & 1) == 0) orders[i] = 0;
    }
  }

  static __device__ __forceinline__ u32 score_of_group(int group, const u32 (&orders)[kExperts]) {
    u32 first = 0;
    u32 second = 0;
#pragma unroll
    for (int i = 0; i < kExperts; ++i) {
      const u32 order = expert_of(i) / kRouter.group_experts() == group ? orders[i] : 0;
      second = order > first ? first : order > second ? order : second;
      first = order > first ? order : first;
    }
    const u32 best = max_of_lanes(first);
    if constexpr (kRouter.group_score == GroupScore::kMax) return best;
    const int owner = first_lane_where(first == best);
    const u32 next = max_of_lanes(lane() == owner ? second : first);
    return order_of(number_of(best) + number_of(next));
  }

  // As a tree, whose levels wait less for each other than the links of a chain.
  static __device__ __forceinline__ u32 largest(const u32 (&orders)[kExperts]) {
    u32 most[kExperts];
#pragma unroll
    for (int i = 0; i < kExperts; ++i) most[i] = orders[i];
#pragma unroll
    for (int step = 1; step < kExperts; step *= 2) {
#pragma unroll
      for (int i = 0; i + step < kExperts; i += 2 * step) {
        most[i] = most[i + step] > most[i] ? most[i + step] : most[i];
      }
    }
    return most[0];
  }

  // The lane's first expert of this order, which then is out.
  static __device__ __forceinline__ Choice take(u32 order, const float (&values)[kExperts],
                                                u32 (&orders)[kExperts]) {
    Choice choice{};
    int index = 0;
#pragma unroll
    for (int i = kExperts - 1; i >= 0; --i) {
      if (orders[i] == order) {
        index = i;
        choice.value = values[i];
      }
    }
#pragma unroll
    for (int i = 0; i < kExperts; ++i) {
      if (i == index) orders[i] = 0;
    }
    choice.id = expert_of(index);
    return choice;
  }

  // All lanes: what lane i has is of choice i.
  __device__ __forceinline__ void store(int token, int id, float score) const {
    float weight = score;
    if constexpr (kRouter.renormalize) {
      weight = divide(score, total_of_lanes(lane() < kTopK ? score : 0.0f) + 1e-20f);
    }
    if (lane() >= kTopK) return;
    weight *= float_from_bits(static_cast<u32>(kRouter.scaling_bits));
    if constexpr (kRouter.expert_scales) {
      weight *= float_from_bits(load_global_4_l2(layer.expert_scales + id));
    }
    const i64 at = static_cast<i64>(token) * kTopK + lane();
    store_global_4(layer.chosen_ids + at, static_cast<u32>(id));
    store_global_4(layer.chosen_weights + at, __float_as_uint(weight));
  }
};

// The phase of a layer that has logits; there is no such phase of another.
template <class Config>
__device__ __forceinline__ void choose_experts(const MoeParameters& layer) {
  if constexpr (Config::value.layer.router.chooses()) ExpertChooser<Config>{layer}.run();
}

}  // namespace heddle
