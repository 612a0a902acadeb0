#include "generator/families/dequantize/dequantize_config.h"

#include "generator/families/packed_layout.h"

namespace heddle {
namespace {

using device::kDequantizeWarps;

// How many warps lie side by side along `size`, where one takes `of_one`: a power of two that
// leaves no warp without work if possible.
int warps_along(std::int64_t size, int of_one) {
  int warps = 1;
  while (warps < kDequantizeWarps && warps * of_one < size) warps *= 2;
  return warps;
}

device::MatrixTiles tiles_of(const MatrixShape& shape, int rows, int columns) {
  return {static_cast<int>(shape.n), static_cast<int>(shape.k), rows, columns};
}

device::ZeroKind zero_kind(ZeroPoint zero) {
  switch (zero) {
    case ZeroPoint::kNone:
      return device::ZeroKind::kNone;
    case ZeroPoint::kInt:
      return device::ZeroKind::kInt;
    case ZeroPoint::kFloat:
      break;
  }
  return device::ZeroKind::kFloat;
}

device::ScaleProduct scale_product(const WeightOpSpec& spec) {
  const WeightSpec& weight = spec.weight;
  if (weight.zero_point == ZeroPoint::kFloat) return device::ScaleProduct::kToOdd;
  if (weight.scale_dtype == spec.dtype && !weight.tensor_scale) {
    return device::ScaleProduct::kPacked;
  }
  return weight.scale_dtype == DType::kFp32 ? device::ScaleProduct::kToOdd
                                            : device::ScaleProduct::kExact;
}

device::WeightScaling scaling_of(const WeightOpSpec& spec) {
  const WeightSpec& weight = spec.weight;
  device::WeightScaling scaling{};
  scaling.zero = zero_kind(weight.zero_point);
  scaling.code_bias = weight.type == WeightType::kUint ? 1 << (weight.bits - 1) : 0;
  scaling.product = scale_product(spec);
  scaling.tensor_scale = weight.tensor_scale;
  return scaling;
}

// A warp has a chunk.
device::MatrixTiles tiles_of_chunks(const MatrixShape& shape) {
  const int along_k = warps_along(shape.k, device::Chunk::kColumns);
  return tiles_of(shape, device::Chunk::kRows * (kDequantizeWarps / along_k),
                  device::Chunk::kColumns * along_k);
}

device::DequantizeSwizzledConfig swizzled_config(const Plan& plan) {
  const WeightOpSpec& spec = plan.spec.weight_op();
  device::DequantizeSwizzledConfig config{};
  config.tiles = tiles_of_chunks(spec.shape);
  config.scaling = scaling_of(spec);
  config.packed = packed_layout(spec, plan.layout);
  return config;
}

device::DequantizePackedConfig packed_config(const Plan& plan) {
  const WeightOpSpec& spec = plan.spec.weight_op();
  device::DequantizePackedConfig config{};
  config.tiles = tiles_of_chunks(spec.shape);
  config.scaling = scaling_of(spec);
  config.packed = packed_layout(spec, plan.layout);
  config.permuted = spec.act_order;
  return config;
}

int group_size(const WeightOpSpec& spec) {
  return spec.weight.group_size == kPerChannel ? static_cast<int>(spec.shape.k)
                                               : spec.weight.group_size;
}

device::DequantizeGptqConfig gptq_config(const Plan& plan) {
  const WeightOpSpec& spec = plan.spec.weight_op();
  device::DequantizeGptqConfig config{};
  config.scaling = scaling_of(spec);
  config.bits = spec.weight.bits;
  config.unit = plan.decode.elements();
  config.group_size = group_size(spec);
  config.group_offset = spec.weight.group_offset;
  config.zero_bias = spec.format == CheckpointFormat::kGptq ? 1 : 0;
  config.act_order = spec.act_order;
  config.tiles = tiles_of(spec.shape, config.kWarpRows * kDequantizeWarps, config.warp_columns());
  return config;
}

// Warps side by side along N read whole lines.
device::DequantizeAwqConfig awq_config(const Plan& plan) {
  const WeightOpSpec& spec = plan.spec.weight_op();
  device::DequantizeAwqConfig config{};
  const int along_n = warps_along(spec.shape.n, config.kWarpRows);
  config.tiles = tiles_of(spec.shape, config.kWarpRows * along_n,
                          config.kWarpColumns * (kDequantizeWarps / along_n));
  config.scaling = scaling_of(spec);
  config.group_size = group_size(spec);
  config.group_offset = spec.weight.group_offset;
  return config;
}

}  // namespace

DequantizeConfig dequantize_config(const Plan& plan) {
  switch (plan.spec.weight_op().format) {
    case CheckpointFormat::kHeddle:
      if (plan.spec.weight().interleave == Interleave::kSwizzle128b) return swizzled_config(plan);
      return packed_config(plan);
    case CheckpointFormat::kAwq:
      return awq_config(plan);
    case CheckpointFormat::kGptq:
    case CheckpointFormat::kGptqV2:
      break;
  }
  return gptq_config(plan);
}

}  // namespace heddle
