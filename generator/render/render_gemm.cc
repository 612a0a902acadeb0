#include <fmt/format.h>

#include <algorithm>

#include "generator/plan/next_start.h"
#include "generator/plan/scale_mode.h"
#include "generator/plan/stream_shape.h"
#include "generator/plan/wgmma_stage.h"
#include "generator/render/config.h"
#include "generator/render/decode_text.h"
#include "generator/render/kernel_text.h"

namespace heddle {
namespace {

constexpr std::string_view kTiles = "gemm/gemm_mma.cuh";
constexpr std::string_view kWide = "gemm/gemm_wide.cuh";
constexpr std::string_view kStream = "gemm/gemm_stream.cuh";
constexpr std::string_view kBulk = "gemm/gemm_bulk.cuh";
constexpr std::string_view kWgmma = "gemm/gemm_wgmma.cuh";

std::string_view template_of(const GemmVariant& v) {
  switch (v.kernel) {
    case GemmKernel::kTiles:
      return v.reads_ahead ? kWide : kTiles;
    case GemmKernel::kStream:
      return kStream;
    case GemmKernel::kBulk:
      return kBulk;
    case GemmKernel::kWgmma:
      return kWgmma;
  }
  return {};
}

std::string activation_name(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return "kNone";
    case Activation::kRelu:
      return "kRelu";
    case Activation::kGelu:
      return "kGelu";
    case Activation::kGeluTanh:
      return "kGeluTanh";
    case Activation::kSilu:
      return "kSilu";
  }
  return {};
}

std::string scale_mode_name(ScaleMode mode) {
  switch (mode) {
    case ScaleMode::kAccumulator:
      return "kAccumulator";
    case ScaleMode::kWeight:
      return "kWeight";
    case ScaleMode::kChannel:
      return "kChannel";
  }
  return {};
}

std::string zero_point_name(ZeroPoint zero) {
  switch (zero) {
    case ZeroPoint::kNone:
      return "kNone";
    case ZeroPoint::kInt:
      return "kInt";
    case ZeroPoint::kFloat:
      return "kFloat";
  }
  return {};
}

std::string scale_class(DType dtype) {
  switch (dtype) {
    case DType::kFp16:
      return "Scale16<Fp16>";
    case DType::kBf16:
      return "Scale16<Bf16>";
    case DType::kFp32:
      return "ScaleFp32";
    case DType::kE8m0:
      return "Scale8<E8m0>";
    case DType::kE4m3:
      return "Scale8<E4m3>";
  }
  return {};
}

// What decoding takes off an unsigned code.
int fixed_bias(const WeightSpec& weight) {
  return weight.type == WeightType::kUint ? 1 << (weight.bits - 1) : 0;
}

std::string config_text(const Plan& plan, const GemmVariant& v, const DecodePlan& decode) {
  const GemmSpec& spec = plan.spec.gemm();
  const WeightLayout& layout = plan.layout;
  ConfigWriter config;
  config.number("kBits", spec.weight.bits);
  config.number("kN", spec.shape.n);
  config.number("kChunks", layout.chunks_per_row_block);
  config.number("kRowBlocks", layout.row_blocks);
  config.number("kStages", v.stages);
  config.number("kSharedBytes", v.shared_bytes);
  config.number("kMetaGroup", layout.meta_group);
  config.number("kChunkBytes", layout.chunk_bytes);
  config.number("kScaleOffset", layout.scale_offset);
  config.number("kScaleBytes", layout.scale_bytes);
  config.number("kZeroOffset", layout.zero_offset);
  config.number("kZeroBytes", layout.zero_bytes);
  config.enumerator("kZeroPoint", "ZeroPoint", zero_point_name(spec.weight.zero_point));
  config.number("kChannelOffset", static_cast<std::int64_t>(layout.channel_offset));
  config.number("kChannelBytes", layout.channel_bytes);
  config.number("kChannelZeroOffset", layout.channel_zero_offset);
  config.number("kTensorOffset", static_cast<std::int64_t>(layout.tensor_offset));
  config.flag("kTensorScale", spec.weight.tensor_scale);
  const int of_scale = power_of_scale(spec, v, decode);
  config.number("kResultExponent", decode.result_exponent - of_scale);
  config.number("kScaleExponent", of_scale);
  config.flag("kRowLines", spec.weight.interleave == Interleave::kTrtllm);
  config.enumerator("kScaleMode", "ScaleMode", scale_mode_name(v.scale_mode));
  config.flag("kBias", spec.epilogue.bias);
  config.flag("kResidual", spec.epilogue.residual);
  config.enumerator("kActivation", "Activation", activation_name(spec.epilogue.activation));
  config.type("Value", value_type(spec.activation));
  config.type("Scale", scale_class(spec.weight.scale_dtype));
  // Tensor maps have it for the others.
  if (v.kernel == GemmKernel::kStream || v.kernel == GemmKernel::kTiles) {
    config.number("kK", spec.shape.k);
  }
  if (v.kernel != GemmKernel::kStream) {
    config.number("kTileM", v.tile_m);
    config.number("kCounterBytes", kWorkspaceCounterBytes);
  }
  if (v.kernel == GemmKernel::kWgmma) {
    config.number("kTileN", v.tile_n);
    config.number("kTokens", v.m_max);
    config.flag("kShares", v.shares_tiles);
    config.flag("kSharesInPairs", v.shares_in_pairs);
    config.flag("kSharesFirst", v.shares_first);
    config.number("kCluster", v.cluster);
    config.flag("kSharesRows", v.shares_rows);
    config.number("kStageChunks", v.stage_chunks);
    config.flag("kHalfStages", wgmma_halves(v));
    config.flag("kByWarps", v.by_warps);
    config.number("kWarpgroups", wgmma_warpgroups(v));
    config.number("kStagesAhead", v.stages_ahead);
    config.number("kStepTiles", v.step_tiles);
    config.number("kDecodedSets", v.decoded_sets);
    return config.text(kWgmma);
  }
  config.number("kSplitK", v.split_k);
  config.number("kWarpsK", v.warps_k);
  config.flag("kPreScale", spec.pre_scale && !spec.act_order);
  if (v.kernel == GemmKernel::kStream) {
    config.number("kTokens", stream_tokens(v));
    config.number("kStageChunks", v.stage_chunks);
    config.number("kCluster", v.cluster);
    config.flag("kLetsNextStart", lets_next_start(v, layout, plan.target));
    return config.text(kStream);
  }
  const bool turing = v.path == Path::kTuring;
  config.number("kWarpsN", v.warps_n);
  config.number("kTileN", v.tile_n);
  config.number("kStageK", v.stage_k);
  config.number("kWarpsM", v.warps_m);
  if (v.kernel == GemmKernel::kBulk) {
    config.number("kTokensAlone", most_tokens_alone(layout));
    config.number("kStagesAhead", v.stages_ahead);
    return config.text(kBulk);
  }
  config.number("kFixedBias", fixed_bias(spec.weight));
  config.type("Mma", turing ? "MmaTuring" : "MmaAmpere");
  if (v.reads_ahead) return config.text(kWide);
  config.type("Pipeline", turing ? "RegisterPipeline<Config>" : "AsyncPipeline<Config>");
  return config.text(kTiles);
}

std::string decisions_text(const GemmVariant& v, const DecodePlan& decode) {
  if (v.kernel == GemmKernel::kWgmma) {
    return fmt::format(
        "M {} to {}: tile {} tokens x {} rows, {} stages of {} columns, clusters of {},\n"
        "scale on {}, path {}\n\n"
        "decode plan: {}",
        v.m_min, v.m_max, v.tile_m, v.tile_n, v.stages, v.stage_k, v.cluster,
        to_string(v.scale_mode), to_string(v.path), describe(decode));
  }
  if (v.kernel == GemmKernel::kStream) {
    return fmt::format(
        "M {} to {}: {} stages of {} columns, {} warps along K, {} blocks, split K {},\n"
        "scale on {}, path {}\n\n"
        "decode plan: {}",
        v.m_min, v.m_max, v.stages, v.stage_chunks * WeightLayout::kChunkK, v.warps_k, v.workers,
        v.split_k, to_string(v.scale_mode), to_string(v.path), describe(decode));
  }
  return fmt::format(
      "M {} to {}: tile {} tokens x {} rows, {} stages of {} columns, warps M {} x N {} x K {},\n"
      "split K {}, scale on {}, path {}\n\n"
      "decode plan: {}",
      v.m_min, v.m_max, v.tile_m, v.tile_n, v.stages, v.stage_k, v.warps_m, v.warps_n, v.warps_k,
      v.split_k, to_string(v.scale_mode), to_string(v.path), describe(decode));
}

std::string_view function_of(const GemmVariant& v) {
  if (v.kernel == GemmKernel::kStream) return "gemm_stream";
  return v.reads_ahead ? "gemm_wide" : "gemm_mma";
}

std::string entry_of(const GemmVariant& v) {
  if (v.kernel == GemmKernel::kWgmma) {
    return entry_text(
        v.name, v.threads(), v.blocks_per_sm,
        "const __grid_constant__ heddle::TensorMap tokens,\n"
        "       const heddle::u8* weights, heddle::u8* y, const heddle::u8* bias,\n"
        "       const heddle::u8* residual, heddle::u8* workspace, int m,\n"
        "       int shared_tiles",
        "heddle::gemm_wgmma<heddle::Config, heddle::Decode>(tokens, weights, y, bias, "
        "residual, workspace, m, shared_tiles)");
  }
  if (v.kernel == GemmKernel::kBulk) {
    return entry_text(
        v.name, v.threads(), v.blocks_per_sm,
        "const __grid_constant__ heddle::TensorMap tokens,\n"
        "       const heddle::u8* weights, heddle::u8* y, const heddle::u8* bias,\n"
        "       const heddle::u8* residual, heddle::u8* workspace, int m",
        "heddle::gemm_bulk<heddle::Config, heddle::Decode>(tokens, weights, y, bias, residual, "
        "workspace, m)");
  }
  return entry_text(v.name, v.threads(), v.blocks_per_sm,
                    "const heddle::u8* x, const heddle::u8* weights,\n"
                    "       heddle::u8* y, const heddle::u8* bias, const heddle::u8* residual,\n"
                    "       const heddle::u8* pre_scale, heddle::u8* workspace, int m",
                    fmt::format("heddle::{}<heddle::Config, heddle::Decode>(x, weights, y, bias, "
                                "residual, pre_scale, workspace, m)",
                                function_of(v)));
}

}  // namespace

Source render_gemm(const Plan& plan, const GemmVariant& v) {
  const DecodePlan decode = decode_plan_of(plan, v);
  Source source;
  source.kernel_name = v.name;
  source.threads = v.threads();
  source.dynamic_shared_bytes = v.shared_bytes;
  source.text = kernel_text(plan, decisions_text(v, decode), template_of(v),
                            config_text(plan, v, decode) + '\n' + decode_text(decode), entry_of(v));
  return source;
}

}  // namespace heddle
