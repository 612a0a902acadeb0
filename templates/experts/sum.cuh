// Adds what a token's experts have made of it, in the order of its choices, and rounds once. Bytes:
// the FP32 outputs of all rows, once. A warp has some groups of a token's columns at a time, of
// which a lane has four each; lane i finds where the row of choice i lies, of the next columns
// while these are added.
#pragma once

#include "experts/assignments.cuh"
#include "experts/workspace.cuh"
#include "primitives/bits.cuh"
#include "primitives/dependent_launch.cuh"
#include "primitives/half.cuh"
#include "primitives/sync.cuh"

namespace heddle {

// Results: where the second product's outputs are, [rows][hidden], and which row is an
// assignment's.
template <class Config, class Results = MoeWorkspace<Config>>
struct ExpertSum {
  using Value = typename Config::Value;
  static constexpr ExpertLayer kLayer = Config::value.layer;
  static constexpr i64 kHidden = kLayer.hidden;
  static constexpr int kChoices = kLayer.choices();
  static constexpr int kGroups = kLayer.sum_groups(Config::value.threads());
  static constexpr int kParts =  // of a token
      static_cast<int>(ceil_div(kHidden, kGroups* kLayer.kSumGroup));
  static constexpr int kWarps = Config::value.threads() / 32;
  // Rows whose values are on their way together.
  static constexpr int kAtOnce = kChoices < 8 ? kChoices : 8;

  const MoeParameters& layer;
  Results results;

  // Rows and weights are there before the second product has ended (phases.cuh).
  __device__ __forceinline__ void run() const {
    const i64 units = static_cast<i64>(layer.tokens) * kParts;
    // Few units are in as many blocks.
    const i64 stride = static_cast<i64>(gridDim.x) * kWarps;
    i64 unit = static_cast<i64>(threadIdx.x) / 32 * gridDim.x + blockIdx.x;
    Choice next;
    if (unit < units) next = choice_of(unit);
    wait_for_predecessor();
    for (; unit < units; unit += stride) {
      const Choice own = next;
      if (unit + stride < units) next = choice_of(unit + stride);
      sum(unit / kParts, static_cast<int>(unit % kParts) * kGroups * kLayer.kSumGroup + 4 * lane(),
          own);
    }
  }

 private:
  // Choice `lane` of a token.
  struct Choice {
    int row = -1;    // of the second product's outputs
    u32 weight = 0;  // FP32
  };

  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % 32; }

  __device__ __forceinline__ Choice choice_of(i64 unit) const {
    Choice choice;
    if (lane() < kChoices) {
      const int assignment = static_cast<int>(unit / kParts) * kChoices + lane();
      choice.row = results.row_of(assignment);
      if (!kLayer.weighs_input) choice.weight = Assignments<Config>{layer}.weight_of(assignment);
    }
    return choice;
  }

  // Columns of the lane, four of each group from `column` on, which may be beyond the last one.
  __device__ __forceinline__ void sum(i64 token, int column, const Choice& own) const {
    constexpr f32x4 kNothing = {0, 0, 0, 0};
    f32x4 sum[kGroups];
#pragma unroll
    for (f32x4& v : sum) v = kNothing;
#pragma unroll
    for (int begin = 0; begin < kChoices; begin += kAtOnce) {
      int rows[kAtOnce];
      f32x4 values[kAtOnce][kGroups];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        rows[i] = begin + i < kChoices
                      ? static_cast<int>(broadcast(static_cast<u32>(own.row), begin + i))
                      : -1;
        const u8* const row = results.outputs() + 4 * (rows[i] * kHidden + column);
#pragma unroll
        for (int group = 0; group < kGroups; ++group) {
          values[i][group] = kNothing;
          if (rows[i] >= 0 && is_inside(column, group)) {
            values[i][group] = load_global_floats_l2(row + 4 * group * kLayer.kSumGroup);
          }
        }
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (rows[i] < 0) continue;
        const u32 bits = broadcast(own.weight, begin + i);
        const float weight = kLayer.weighs_input ? 1.0f : float_from_bits(bits);
#pragma unroll
        for (int group = 0; group < kGroups; ++group) add(weight, values[i][group], sum[group]);
      }
    }
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      if (!is_inside(column, group)) continue;
      store(2 * (token * kHidden + column + group * kLayer.kSumGroup), sum[group]);
    }
  }
  static __device__ __forceinline__ bool is_inside(int column, int group) {
    return column + group * kLayer.kSumGroup < kHidden;
  }
  static __device__ __forceinline__ void add(float weight, f32x4 values, f32x4& sum) {
    sum.x += weight * values.x;
    sum.y += weight * values.y;
    sum.z += weight * values.z;
    sum.w += weight * values.w;
  }

  __device__ __forceinline__ void store(i64 offset, f32x4 sum) const {
    if constexpr (kLayer.residual) {
      const u64 residual = load_global_8_l2(layer.residual + offset);
      const u32 low = static_cast<u32>(residual);
      const u32 high = static_cast<u32>(residual >> 32);
      sum.x += Value::low_to_float(low);
      sum.y += Value::high_to_float(low);
      sum.z += Value::low_to_float(high);
      sum.w += Value::high_to_float(high);
    }
    store_global_8(layer.y + offset, Value::from_floats(sum.x, sum.y),
                   Value::from_floats(sum.z, sum.w));
  }
};

}  // namespace heddle
