#include "generator/plan/scale_power.h"

#include "generator/plan/default_tile.h"

namespace heddle {
namespace {

// An e2m1 times an e4m3 is exact in both 16-bit types, with as large a power of two as fits.
bool e4m3_scales_e2m1(const GemmSpec& spec, ScaleMode mode) {
  return mode == ScaleMode::kWeight && spec.weight.type == WeightType::kE2m1 &&
         spec.weight.scale_dtype == DType::kE4m3;
}

// A scale with as many exponent bits as the weights' type takes a power of two with it: from FP16
// those from 256 on have no room for it, with which the largest e4m3 is past FP16's range anyway.
bool scale_takes_power(const GemmSpec& spec, ScaleMode mode) {
  if (mode != ScaleMode::kWeight) return false;
  const WeightSpec& weight = spec.weight;
  const bool is_bf16 = spec.activation == DType::kBf16;
  const bool fits =
      weight.scale_dtype == spec.activation || (is_bf16 && weight.scale_dtype == DType::kE8m0);
  return fits &&
         (weight.type == WeightType::kE4m3 || (weight.type == WeightType::kE2m1 && is_bf16));
}

// Integers of b bits lack 2^(b - 2) at most: a bfloat16 scale that has no room for it makes the
// largest code infinite anyway, and an FP16 scale has less. Float zero points count in whole units.
bool integers_lack_power(const GemmSpec& spec) {
  return decode_request(spec.weight, spec.activation).kind == CodeKind::kInteger &&
         spec.activation == DType::kBf16 && spec.weight.zero_point != ZeroPoint::kFloat;
}

}  // namespace

bool weights_alone_fold_power(const GemmSpec& spec) {
  return folds_power(spec, ScaleMode::kWeight) && !folds_power(spec, ScaleMode::kAccumulator);
}

bool folds_power(const GemmSpec& spec, ScaleMode mode) {
  if (e4m3_scales_e2m1(spec, mode) || scale_takes_power(spec, mode)) return true;
  if (integers_lack_power(spec)) return true;
  // The product with an FP32 scale costs the same with the power of two in it. A bfloat16 without
  // it would be so small that the sums lose bits.
  return decode_request(spec.weight, spec.activation).kind == CodeKind::kFloat &&
         spec.activation == DType::kFp16 && mode != ScaleMode::kWeight;
}

bool folds_scale(const GemmSpec& spec) {
  return integers_lack_power(spec) && spec.weight.zero_point == ZeroPoint::kNone;
}

void settle_scale(const GemmSpec& spec, const WeightLayout& layout, GemmVariant& v) {
  v.scale_mode = choose_scale_mode(spec, layout, v);
  v.fold_scale = v.scale_mode == ScaleMode::kWeight && folds_scale(spec);
  v.fold_power = !v.fold_scale && folds_power(spec, v.scale_mode);
}

int power_of_scale(const GemmSpec& spec, const GemmVariant& v, const DecodePlan& decode) {
  if (v.fold_scale) return 0;  // half of it is in the plan's own factors
  // Of FP16's 2^8 all, of bfloat16's half: it holds both factors then, up to scales of 2^64.
  if (scale_takes_power(spec, v.scale_mode)) {
    return spec.activation == DType::kFp16 ? decode.result_exponent : decode.result_exponent / 2;
  }
  if (integers_lack_power(spec)) {
    return v.scale_mode == ScaleMode::kWeight ? decode.result_exponent : 0;
  }
  if (!e4m3_scales_e2m1(spec, v.scale_mode)) return 0;
  return spec.activation == DType::kFp16 ? 7 : 119;  // 448 times that is finite
}

}  // namespace heddle
