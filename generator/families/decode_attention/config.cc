#include "generator/families/decode_attention/config.h"

#include <algorithm>
#include <utility>

#include "generator/families/kv_granularity.h"
#include "generator/families/scale_type.h"
#include "generator/families/shared_memory.h"
#include "generator/target/capabilities.h"
#include "heddle/kv_cache.h"

namespace heddle {
namespace {

using device::AttentionTensorConfig;
using device::DecodeAttentionConfig;

constexpr int kUsualWarps = 4;
constexpr int kLeastStages = 2;
// Where an SM has several blocks: with two stages warps wait for each tile, and fewer warps with
// more stages are faster.
constexpr int kStagesOfMany = 3;
constexpr int kMostStages = 6;
constexpr int kMostRowTiles = 2;
constexpr int kMostTeam = 8;   // blocks of a cluster
constexpr int kFewBlocks = 2;  // of an SM, as wide as serve long sequences
// Up to this head_dim and number of groups registers hold two row tiles.
constexpr int kRowTileDim = 128;
constexpr int kRowTileGroups = 2;
constexpr int kFewGroups = 4;
// What an SM should have on its way, to reach the memory's rate at its latency.
constexpr int kBytesInFlight = 96 * 1024;

device::KvCode code_of(KvDtype dtype) {
  switch (dtype) {
    case KvDtype::kInt8:
      return device::KvCode::kInt8;
    case KvDtype::kInt4:
      return device::KvCode::kInt4;
    case KvDtype::kInt2:
      return device::KvCode::kInt2;
    case KvDtype::kFp8E4m3:
      return device::KvCode::kE4m3;
    case KvDtype::kFp8E5m2:
      return device::KvCode::kE5m2;
    case KvDtype::kNvfp4:
      return device::KvCode::kE2m1;
    case KvDtype::kFp16:
    case KvDtype::kBf16:
      break;
  }
  return device::KvCode::kHalf;
}

AttentionTensorConfig tensor_config(const KvTensor& tensor, const KvTensorLayout& layout,
                                    const DecodeAttentionSpec& spec) {
  AttentionTensorConfig config{};
  config.head_dim = spec.shape.head_dim;
  config.code = code_of(tensor.dtype);
  config.granularity = kv_granularity(tensor.granularity);
  config.group_size = tensor.group_size;
  config.scales =
      tensor.granularity == KvGranularity::kGroup ? spec.shape.head_dim / tensor.group_size : 1;
  config.zeros = !tensor.symmetric;
  config.scale_type = scale_type(tensor.scale_dtype.value_or(DType::kFp32));
  config.row_bytes = layout.row_bytes;
  config.entry_bytes = layout.scale_row_bytes;
  config.by_token = tensor.granularity == KvGranularity::kToken || spec.kv.order == KvOrder::kHnd ||
                    spec.shape.kv_heads == 1;
  return config;
}

int most_groups(const DecodeAttentionConfig& config) {
  return std::max(config.k.groups(), config.v.groups());
}

// What follows from the spec; one warp, and no stages yet.
DecodeAttentionConfig given_by(const DecodeAttentionSpec& spec, const Target& target) {
  const KvCacheLayout layout = kv_cache_layout(spec.kv, spec.shape.kv_heads, spec.shape.head_dim);
  DecodeAttentionConfig config{};
  config.heads = {spec.shape.heads, spec.shape.kv_heads, device::ValueRows::kOwn};
  config.logits.scale_dim = spec.scale_dim > 0 ? spec.scale_dim : spec.shape.head_dim;
  config.logits.softcap = static_cast<int>(spec.softcap);
  config.logits.alibi = spec.alibi;
  config.logits.window = static_cast<int>(spec.window);
  config.logits.sink_tokens = spec.sink_tokens;
  config.logits.sink_logits = spec.sink_logits;
  config.pages.paged = spec.kv.layout == KvLayout::kPaged;
  config.pages.page_size = std::max(1, spec.kv.page_size);
  config.pages.nhd = spec.kv.order == KvOrder::kNhd;
  config.query_len = spec.shape.query_len;
  config.log_sums = spec.log_sum_exp;
  config.dependent = has_dependent_launch(target);
  config.most_team = is_hopper(target) ? kMostTeam : 1;
  config.k = tensor_config(spec.kv.k, layout.k, spec);
  config.v = tensor_config(spec.kv.v, layout.v, spec);
  const bool two_fit = spec.shape.head_dim <= kRowTileDim && most_groups(config) <= kRowTileGroups;
  config.row_tiles =
      two_fit ? std::min(kMostRowTiles,
                         static_cast<int>(device::ceil_div(config.rows(), device::kQueryTile)))
              : 1;
  return config;
}

// The configuration `given` with `warps` warps, `blocks_per_sm` blocks per SM, and as many stages
// as are useful and fit.
AttentionChoice filled(const DecodeAttentionConfig& given, const Target& target, int warps,
                       int blocks_per_sm) {
  AttentionChoice choice{given, blocks_per_sm};
  DecodeAttentionConfig& config = choice.config;
  config.warps = warps;
  const int room = std::min(target.shared_per_sm / blocks_per_sm - kReservedSharedBytes,
                            target.shared_per_block) -
                   config.ring_offset();
  const int fitting = room / (warps * config.stage_bytes());
  const int in_flight = blocks_per_sm * warps * config.stage_bytes();
  const int useful = 1 + static_cast<int>(device::ceil_div(kBytesInFlight, in_flight));
  config.stages = std::min({fitting, std::max(3, useful), kMostStages});
  // Where an SM has many blocks, each takes at least two tiles per warp: a single block merges all
  // the parts of an item.
  config.least_share = (blocks_per_sm > 2 ? 2 : 1) * warps;
  return choice;
}

// INT4 without zero points whose sums of up to four groups, or Q with K's scales per channel, need
// the 168 registers that twelve warps of an SM leave a thread.
bool suits_twelve_warps(const DecodeAttentionSpec& spec, int groups) {
  const auto is_int4 = [](const KvTensor& tensor) {
    return tensor.dtype == KvDtype::kInt4 && tensor.symmetric;
  };
  const bool channel = spec.kv.k.granularity == KvGranularity::kChannel;
  return is_int4(spec.kv.k) && is_int4(spec.kv.v) &&
         (channel ? groups == 1 : groups > 1 && groups <= kFewGroups);
}

// Blocks of four warps that an SM has registers for: 128 of a thread with 4, 168 with 3. Codes of 8
// bits and sums of many groups take more.
int most_blocks_per_sm(const DecodeAttentionSpec& spec, int row_tiles, int groups) {
  if (row_tiles > 1) return 2;
  if (groups > kRowTileGroups) return suits_twelve_warps(spec, groups) ? 3 : 2;
  // Q and its product with scales.
  if (spec.kv.k.granularity == KvGranularity::kChannel) return 3;
  return std::max(kv_bits(spec.kv.k.dtype), kv_bits(spec.kv.v.dtype)) > 4 ? 3 : 4;
}

// Whether blocks of twice as many warps, or half as many again, have been measured in place of
// these, with the same warps to an SM.
bool has_wide(const DecodeAttentionSpec& spec, const AttentionChoice& usual) {
  if (usual.config.most_team == 1) return false;
  if (usual.blocks_per_sm == 3) {
    return suits_twelve_warps(spec, most_groups(usual.config)) && spec.window == 0;
  }
  return usual.blocks_per_sm == 4 && kv_bits(spec.kv.k.dtype) == 4 && kv_bits(spec.kv.v.dtype) == 4;
}

}  // namespace

std::vector<AttentionChoice> attention_choices(const DecodeAttentionSpec& spec,
                                               const Target& target) {
  const DecodeAttentionConfig given = given_by(spec, target);
  const int most_blocks = most_blocks_per_sm(spec, given.row_tiles, most_groups(given));
  std::vector<AttentionChoice> choices;
  const auto add = [&](const AttentionChoice& choice, int least_stages) {
    if (choice.config.stages < least_stages) return;
    choices.push_back(choice);
    choices.back().config.most_blocks = target.sm_count * choice.blocks_per_sm;
  };
  bool may_widen = true;
  for (int blocks = most_blocks; blocks > 0; --blocks) {
    const AttentionChoice usual = filled(given, target, kUsualWarps, blocks);
    add(usual, blocks > 1 ? kStagesOfMany : kLeastStages);
    if (usual.config.stages < kStagesOfMany || !std::exchange(may_widen, false)) continue;
    if (!has_wide(spec, usual)) continue;
    const int warps = kUsualWarps * blocks / kFewBlocks;
    add(filled(given, target, warps, kFewBlocks), usual.config.stages);
  }
  for (const int warps : {2, 1}) add(filled(given, target, warps, 1), kLeastStages);
  return choices;
}

}  // namespace heddle
