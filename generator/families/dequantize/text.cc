#include "generator/families/dequantize/text.h"

#include <fmt/format.h>

#include "generator/families/value_type.h"
#include "generator/render/config.h"
#include "generator/render/decode_text.h"

namespace heddle {
namespace {

std::string entry_function(CheckpointFormat format) {
  switch (format) {
    case CheckpointFormat::kHeddle:
      return "dequantize_packed";
    case CheckpointFormat::kAwq:
      return "dequantize_awq";
    case CheckpointFormat::kGptq:
    case CheckpointFormat::kGptqV2:
      break;
  }
  return "dequantize_gptq";
}

std::string_view template_of(CheckpointFormat format) {
  switch (format) {
    case CheckpointFormat::kHeddle:
      return "dequantize/dequantize_packed.cuh";
    case CheckpointFormat::kAwq:
      return "dequantize/dequantize_awq.cuh";
    case CheckpointFormat::kGptq:
    case CheckpointFormat::kGptqV2:
      break;
  }
  return "dequantize/dequantize_gptq.cuh";
}

std::string scale_struct(DType dtype) {
  switch (dtype) {
    case DType::kFp16:
      return "ScaleFp16";
    case DType::kBf16:
      return "ScaleBf16";
    case DType::kFp32:
      return "ScaleFp32";
    case DType::kE8m0:
      return "ScaleE8m0";
    case DType::kE4m3:
      break;
  }
  return "ScaleE4m3";
}

// What the decode plan has subtracted from an unsigned code although the spec says nothing of it.
int code_bias(const WeightSpec& weight) {
  return weight.type == WeightType::kUint ? 1 << (weight.bits - 1) : 0;
}

void add_common(const WeightOpSpec& spec, const TileKernel& kernel, ConfigWriter& config) {
  const WeightSpec& weight = spec.weight;
  const bool float_zero = weight.zero_point == ZeroPoint::kFloat;
  config.number("kBits", weight.bits);
  config.number("kN", spec.shape.n);
  config.number("kK", spec.shape.k);
  config.number("kTileRows", kernel.tile_rows);
  config.number("kTileColumns", kernel.tile_columns);
  config.flag("kHasZeros", weight.zero_point == ZeroPoint::kInt);
  config.flag("kFloatZero", float_zero);
  config.number("kCodeBias", code_bias(weight));
  config.flag("kPackedScale",
              weight.scale_dtype == spec.dtype && !float_zero && !weight.tensor_scale);
  config.flag("kExactProduct", weight.scale_dtype != DType::kFp32 && !float_zero);
  config.flag("kTensorScale", weight.tensor_scale);
  config.type("Value", value_type(spec.dtype));
  config.type("Scale", scale_struct(weight.scale_dtype));
}

void add_packed(const WeightOpSpec& spec, const WeightLayout& layout, ConfigWriter& config) {
  config.number("kRowBlocks", layout.row_blocks);
  config.number("kChunks", layout.chunks_per_row_block);
  config.number("kChunkBytes", layout.chunk_bytes);
  config.number("kMetaGroup", layout.meta_group);
  config.flag("kPerChannel", layout.groups_per_chunk == 0);
  config.number("kScaleOffset", layout.scale_offset);
  config.number("kScaleBytes", layout.scale_bytes);
  config.number("kZeroOffset", layout.zero_offset);
  config.number("kZeroBytes", layout.zero_bytes);
  config.number("kChannelOffset", static_cast<std::int64_t>(layout.channel_offset));
  config.number("kChannelBytes", layout.channel_bytes);
  config.number("kChannelZeroOffset", layout.channel_zero_offset);
  config.number("kTensorOffset", static_cast<std::int64_t>(layout.tensor_offset));
  config.flag("kTrtllm", spec.weight.interleave == Interleave::kTrtllm);
  config.flag("kPermuted", spec.act_order);
}

void add_checkpoint(const WeightOpSpec& spec, ConfigWriter& config) {
  const bool one_group = spec.weight.group_size == kPerChannel;
  config.number("kGroupSize", one_group ? spec.shape.k : spec.weight.group_size);
  if (spec.format == CheckpointFormat::kAwq) return;
  // Version 1 stores zero points less one.
  config.number("kZeroBias", spec.format == CheckpointFormat::kGptq ? 1 : 0);
  config.flag("kActOrder", spec.act_order);
}

}  // namespace

KernelText dequantize_text(const Plan& plan, const TileKernel& kernel) {
  const WeightOpSpec& spec = plan.spec.weight_op();
  const std::string function = entry_function(spec.format);
  const std::string_view path = template_of(spec.format);
  ConfigWriter config;
  add_common(spec, kernel, config);
  if (spec.format == CheckpointFormat::kHeddle) {
    add_packed(spec, plan.layout, config);
  } else {
    add_checkpoint(spec, config);
  }
  return {path,
          fmt::format("tiles of {} rows x {} columns\n\ndecode plan: {}", kernel.tile_rows,
                      kernel.tile_columns, describe(plan.decode)),
          config.text(path) + '\n' + decode_text(plan.decode),
          function + "<heddle::Config, heddle::Decode>",
          {}};
}

}  // namespace heddle
