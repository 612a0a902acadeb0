#include "generator/families/decode_attention/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "generator/families/configuration.h"
#include "generator/families/decode_attention/attention_tile.h"
#include "generator/families/value_type.h"
#include "generator/render/config.h"
#include "generator/render/kv_granularity.h"

namespace heddle {
namespace {

constexpr std::string_view kTemplate = "attention/decode_attention.cuh";

std::string code_name(KvDtype dtype) {
  switch (dtype) {
    case KvDtype::kInt8:
      return "kInt8";
    case KvDtype::kInt4:
      return "kInt4";
    case KvDtype::kInt2:
      return "kInt2";
    case KvDtype::kFp8E4m3:
      return "kE4m3";
    case KvDtype::kFp8E5m2:
      return "kE5m2";
    case KvDtype::kNvfp4:
      return "kE2m1";
    default:
      return "kHalf";
  }
}

std::string scale_type(const KvTensor& tensor) {
  const DType type = tensor.scale_dtype.value_or(DType::kFp32);
  if (type == DType::kE4m3) return "ScaleE4m3";
  return type == DType::kFp32 ? "ScaleFloat" : fmt::format("ScaleHalf<{}>", value_type(type));
}

void add_tensor(const KvTensor& tensor, const std::string& name, ConfigWriter& config) {
  config.enumerator("k" + name + "Code", "KvCode", code_name(tensor.dtype));
  config.enumerator("k" + name + "Granularity", "KvGranularity",
                    kv_granularity_name(tensor.granularity));
  config.number("k" + name + "Group", tensor.group_size);
  config.flag("k" + name + "Zeros", !tensor.symmetric);
  config.type(name + "ScaleType", scale_type(tensor));
}

std::string config_text(const DecodeAttentionSpec& spec, const Target& target,
                        const AttentionTile& tile) {
  ConfigWriter config;
  config.number("kHeads", spec.shape.heads);
  config.number("kKvHeads", spec.shape.kv_heads);
  config.number("kHeadDim", spec.shape.head_dim);
  config.number("kQueryLen", spec.shape.query_len);
  config.number("kRowTiles", tile.row_tiles);
  config.number("kScaleDim", spec.scale_dim > 0 ? spec.scale_dim : spec.shape.head_dim);
  add_tensor(spec.kv.k, "Key", config);
  add_tensor(spec.kv.v, "Value", config);
  config.flag("kPaged", spec.kv.layout == KvLayout::kPaged);
  config.number("kPageSize", std::max(1, spec.kv.page_size));
  config.flag("kNhd", spec.kv.order == KvOrder::kNhd);
  config.number("kMaxSequences", kMostSequences);
  config.number("kWindow", spec.window);
  config.number("kSinkTokens", spec.sink_tokens);
  config.flag("kSinkLogits", spec.sink_logits);
  config.flag("kAlibi", spec.alibi != Alibi::kNone);
  config.flag("kGivenSlopes", spec.alibi == Alibi::kGiven);
  config.number("kSoftcap", spec.softcap);
  config.flag("kLogSums", spec.log_sum_exp);
  config.flag("kDependent", target.arch() >= 90);
  config.number("kWarps", tile.warps);
  config.number("kStages", tile.stages);
  config.number("kMostBlocks", attention_tile(spec, target).blocks);
  config.number("kLeastShare", tile.least_share);
  config.number("kSharedBytes", tile.shared_bytes);
  config.number("kMostTeam", tile.most_team);
  config.number("kMostTeamSequences", kMostTeamSequences);
  config.type("Value", value_type(spec.activation));
  return config.text(kTemplate);
}

}  // namespace

KernelText decode_attention_text(const Plan& plan, const PlannedKernel& kernel) {
  std::string decisions;
  for (const std::string& reason : plan.reasons) decisions += reason + '\n';
  return {kTemplate, decisions,
          config_text(plan.spec.decode_attention(), plan.target, config_of<AttentionTile>(kernel)),
          "decode_attention<heddle::Config>", "AttentionArguments"};
}

}  // namespace heddle
