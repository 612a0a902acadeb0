#include "generator/families/scale_mode.h"

#include <algorithm>

#include "generator/ceil_div.h"
#include "generator/decode/requests.h"
#include "generator/spec/weight_meaning.h"

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
  return spec.activation == DType::kBf16 && spec.weight.zero_point != ZeroPoint::kFloat &&
         is_integer(spec.weight.type);
}

// Whether the scale takes over the power of two of the codes (DecodeRequest::fold_power).
bool folds_power(const GemmSpec& spec, ScaleMode mode) {
  if (e4m3_scales_e2m1(spec, mode) || scale_takes_power(spec, mode)) return true;
  if (integers_lack_power(spec)) return true;
  // The product with an FP32 scale costs the same with the power of two in it. A bfloat16 without
  // it would be so small that the sums lose bits.
  return spec.activation == DType::kFp16 && mode != ScaleMode::kWeight &&
         decode_request(spec.weight, spec.activation).kind == CodeKind::kFloat;
}

// Whether it does so only where it multiplies weights.
bool weights_alone_fold_power(const GemmSpec& spec) {
  return folds_power(spec, ScaleMode::kWeight) && !folds_power(spec, ScaleMode::kAccumulator);
}

// The part of the decode plan's power of two that scales take over where they multiply weights; the
// sums take the rest.
int power_of_scale(const GemmSpec& spec, ScaleMode mode, const DecodePlan& decode) {
  if (decode.request.fold_scale) return 0;  // half of it is in the plan's own factors
  // FP16 scales take all of 2^8. BF16 scales take half of it: both factors are finite then, up to
  // scales of 2^64.
  if (scale_takes_power(spec, mode)) {
    return spec.activation == DType::kFp16 ? decode.result_exponent : decode.result_exponent / 2;
  }
  if (integers_lack_power(spec)) return mode == ScaleMode::kWeight ? decode.result_exponent : 0;
  if (!e4m3_scales_e2m1(spec, mode)) return 0;
  return spec.activation == DType::kFp16 ? 7 : 119;  // 448 times that is finite
}

// Those of the spec, in whole tiles of the matrix instruction; no tile has more.
int most_tokens(const GemmSpec& spec) {
  constexpr std::int64_t kMostOfTile = 256;
  return static_cast<int>(ceil_div(std::min(spec.shape.m_max, kMostOfTile), 8) * 8);
}

// Codes are multiplied as they are.
bool decodes_nothing(const GemmRequest& gemm) { return gemm.decode.elements() == 0; }

}  // namespace

bool scales_weights_exactly(const GemmSpec& spec) {
  const DType scale = spec.weight.scale_dtype;
  // e4m3 fits both 16-bit types, e8m0 the one with as many exponent bits.
  return scale == spec.activation || scale == DType::kE4m3 ||
         (scale == DType::kE8m0 && spec.activation == DType::kBf16);
}

bool folds_scale(const GemmSpec& spec) {
  return integers_lack_power(spec) && spec.weight.zero_point == ZeroPoint::kNone;
}

ScaleMode scale_mode_of_bytes(const GemmSpec& spec) {
  if (spec.weight.has_blocks()) return ScaleMode::kBlock;
  if (spec.weight.has_two_levels()) return ScaleMode::kTwoLevels;
  const int group = spec.weight.group_size;
  return group == kPerChannel || group == kPerTensor ? ScaleMode::kProduct : ScaleMode::kGroup;
}

std::optional<ScaleMode> scale_mode_of_types(const GemmSpec& spec, const WeightLayout& layout) {
  if (spec.has_byte_activations()) return scale_mode_of_bytes(spec);
  if (!spec.weight.has_scales()) return ScaleMode::kNone;
  if (layout.groups_per_chunk == 0) return ScaleMode::kChannel;
  // Another scale would have to be rounded before it could meet the weight; a float zero point
  // meets the sums only.
  if (!scales_weights_exactly(spec) || spec.weight.zero_point == ZeroPoint::kFloat) {
    return ScaleMode::kAccumulator;
  }
  // On sums, products with the power of two would take as many operations as those with scales.
  if (weights_alone_fold_power(spec)) return ScaleMode::kWeight;
  return std::nullopt;
}

ScaleMode scale_mode_of_entries(const GemmSpec& spec, const WeightLayout& layout, int tokens,
                                bool sums_are_hidden) {
  if (const auto mode = scale_mode_of_types(spec, layout)) return *mode;
  if (spec.batch_invariant) {
    tokens = most_tokens(spec);
    sums_are_hidden = false;
  }
  const int of_sums = tokens / 8;
  // Scaling the weights then costs a few products for each group. Scaling at most two sums of a
  // chunk is no slower.
  if (folds_scale(spec)) {
    const bool few = of_sums * layout.groups_per_chunk <= 2;
    return few ? ScaleMode::kAccumulator : ScaleMode::kWeight;
  }
  const int of_weights = WeightLayout::kChunkK / 16 / layout.groups_per_chunk;  // k tiles
  const bool cheaper = sums_are_hidden ? of_sums <= of_weights : of_sums < of_weights;
  return cheaper ? ScaleMode::kAccumulator : ScaleMode::kWeight;
}

DecodePlan decode_plan_of(const GemmRequest& gemm, ScaleMode mode) {
  const GemmSpec& spec = gemm.spec;
  if (mode == ScaleMode::kNone || spec.has_byte_activations()) return gemm.decode;
  DecodeRequest request = gemm.decode.request;
  request.fold_scale = mode == ScaleMode::kWeight && folds_scale(spec);
  request.fold_power = !request.fold_scale && folds_power(spec, mode);
  return request.fold_scale || request.fold_power ? derive_decode_plan(request) : gemm.decode;
}

device::Scaling scaling_of(const GemmRequest& gemm, ScaleMode mode) {
  if (decodes_nothing(gemm)) return {mode, 0, 0};
  if (gemm.decode.makes_bytes()) return {mode, gemm.decode.result_exponent, 0};
  const DecodePlan decode = decode_plan_of(gemm, mode);
  const int of_scale = power_of_scale(gemm.spec, mode, decode);
  return {mode, decode.result_exponent - of_scale, of_scale};
}

std::string_view to_string(ScaleMode mode) noexcept {
  switch (mode) {
    case ScaleMode::kAccumulator:
      return "accumulator";
    case ScaleMode::kWeight:
      return "weight";
    case ScaleMode::kChannel:
      return "channel";
    case ScaleMode::kProduct:
      return "product";
    case ScaleMode::kBlock:
      return "block";
    case ScaleMode::kGroup:
      return "group";
    case ScaleMode::kTwoLevels:
      return "two levels";
    case ScaleMode::kNone:
      return "none";
  }
  return "";
}

std::string scale_text(ScaleMode mode) {
  if (mode == ScaleMode::kNone) return "no scales";
  if (mode == ScaleMode::kProduct) return "scales of token and row on the sums";
  if (mode == ScaleMode::kBlock) return "scales of token and block on the sums of 128 columns";
  if (mode == ScaleMode::kGroup) return "scales of groups on their sums, of tokens on all of them";
  if (mode == ScaleMode::kTwoLevels) {
    return "integer scales of groups on weights, of token and row on the sums";
  }
  return "scale on " + std::string(to_string(mode));
}

}  // namespace heddle
