#include "generator/families/scale_mode.h"

#include "generator/families/shared_memory.h"
#include "generator/families/tiles/config.h"
#include "generator/families/warpgroup/stage.h"

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

// Whether the scale takes over the power of two of the codes (DecodeRequest::fold_power).
bool folds_power(const GemmSpec& spec, ScaleMode mode) {
  if (e4m3_scales_e2m1(spec, mode) || scale_takes_power(spec, mode)) return true;
  if (integers_lack_power(spec)) return true;
  // The product with an FP32 scale costs the same with the power of two in it. A bfloat16 without
  // it would be so small that the sums lose bits.
  return decode_request(spec.weight, spec.activation).kind == CodeKind::kFloat &&
         spec.activation == DType::kFp16 && mode != ScaleMode::kWeight;
}

// Whether it does so only where it multiplies weights.
bool weights_alone_fold_power(const GemmSpec& spec) {
  return folds_power(spec, ScaleMode::kWeight) && !folds_power(spec, ScaleMode::kAccumulator);
}

// Whether decoding multiplies by the scale where it meets weights (DecodeRequest::fold_scale).
bool folds_scale(const GemmSpec& spec) {
  return integers_lack_power(spec) && spec.weight.zero_point == ZeroPoint::kNone;
}

// Whether products of wgmma go on while the sums of a group of 64 tokens are scaled: those of four
// warpgroups are others'; those of two are the next group's where two sets of sums take turns, for
// which 64 tokens have registers, and stages of one or two chunks, none of which may be short.
// Codes of eight bits, and 64 rows, were no faster so.
bool multiplies_beside_scaling(const GemmSpec& spec, const WeightLayout& layout,
                               const GemmVariant& v) {
  return v.kernel == GemmKernel::kWgmma && v.tile_m == 64 && v.tile_n > 64 &&
         spec.weight.bits < 8 && (wgmma_has_four(v) || layout.chunks_per_row_block % 2 == 0);
}

}  // namespace

bool scales_weights_exactly(const GemmSpec& spec) {
  const DType scale = spec.weight.scale_dtype;
  // e4m3 fits both 16-bit types, e8m0 the one with as many exponent bits.
  return scale == spec.activation || scale == DType::kE4m3 ||
         (scale == DType::kE8m0 && spec.activation == DType::kBf16);
}

bool has_room_for_partial_sums(const GemmVariant& v) {
  constexpr int kMostRegisters = 64;
  return 2 * 4 * v.row_tiles() * v.token_tiles() <= kMostRegisters;
}

bool has_room_for_bulk_sums(const GemmVariant& v) {
  constexpr int kManyTokens = 32, kManyThreads = 256;  // more threads have fewer registers
  return v.tile_m <= kManyTokens || v.row_tiles() == 1 || v.threads() <= kManyThreads;
}

ScaleMode choose_scale_mode(const GemmSpec& spec, const WeightLayout& layout,
                            const GemmVariant& v) {
  if (layout.groups_per_chunk == 0) return ScaleMode::kChannel;
  // Another scale would have to be rounded before it could meet the weight; a float zero point
  // meets the sums only.
  if (!scales_weights_exactly(spec) || spec.weight.zero_point == ZeroPoint::kFloat) {
    return ScaleMode::kAccumulator;
  }
  // On sums, products with the power of two would take as many operations as those with scales.
  if (weights_alone_fold_power(spec)) return ScaleMode::kWeight;
  // Of weights the scale then costs a few products for each group; so many of sums were no slower.
  if (folds_scale(spec) && v.kernel != GemmKernel::kTiles) {
    const bool few = v.tile_m / 8 * (WeightLayout::kChunkK / layout.meta_group) <= 2;
    return few ? ScaleMode::kAccumulator : ScaleMode::kWeight;
  }
  if (v.kernel == GemmKernel::kBulk && !has_room_for_bulk_sums(v)) return ScaleMode::kWeight;
  // The unit of streams and of wgmma is a whole entry of scales, whatever the tile.
  if (v.kernel != GemmKernel::kTiles) {
    const int of_sums = v.tile_m / 8;
    const int of_weights = layout.meta_group / 16;
    const bool cheaper =
        multiplies_beside_scaling(spec, layout, v) ? of_sums <= of_weights : of_sums < of_weights;
    return cheaper ? ScaleMode::kAccumulator : ScaleMode::kWeight;
  }
  // Per unit of K and row tile: four FMAs for every token tile, or four packed products for every
  // 16 columns. The first also needs twice the registers for sums.
  const bool cheaper = v.token_tiles() < tiles_sizes(layout, v).unit() / 16;
  return cheaper && has_room_for_partial_sums(v) ? ScaleMode::kAccumulator : ScaleMode::kWeight;
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
