#include "generator/families/decode_attention/config.h"

#include <algorithm>
#include <utility>

#include "generator/families/blocks_that_fit.h"
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
// With two stages a warp waits for each tile, so an SM has several blocks only where each has
// three.
constexpr int kLeastStages = 2, kUsualStages = 3, kMostStages = 6;
constexpr int kMostRowTiles = 2;
constexpr int kMostCluster = 8;     // blocks: the largest cluster that every kernel may have
constexpr int kMostBlocksOfSm = 4;  // for which the workspace has counters
constexpr int kWideBlocks = 2;      // of an SM; see has_wide()
// Bytes that an SM should have in flight, to reach the memory's rate at its latency.
constexpr int kBytesInFlight = 96 * 1024;

// Registers that a thread needs so that nothing spills, with heads of 128 elements. Those of 64
// need fewer; of larger ones shared memory has room for two blocks at most. Found by compiling for
// each number of blocks of an SM (__launch_bounds__ caps the registers). Again for all candidates:
// build/release/tests/runtime/compile_weight_ops_test --gtest_filter='*CompileAttention*'
struct RegisterNeed {
  // Codes of at most 4 bits, with sums of one or two groups of scales.
  static constexpr int kUsual = 128;
  // Twice the copies of a tile that codes of 8 and 16 bits take, or the product of Q and K's scales
  // per channel, or the sums of up to kSomeGroups groups of INT4 without zero points.
  static constexpr int kMore = 168;
  // A second row tile, or the sums of more groups.
  static constexpr int kMost = 255;

  static constexpr int kFewGroups = 2;
  static constexpr int kSomeGroups = 4;
  // The largest head whose two row tiles fit kMost.
  static constexpr int kTwoRowTilesDim = 128;
};

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
  config.most_cluster = is_hopper(target) ? kMostCluster : 1;
  config.k = tensor_config(spec.kv.k, layout.k, spec);
  config.v = tensor_config(spec.kv.v, layout.v, spec);
  const bool two_fit = spec.shape.head_dim <= RegisterNeed::kTwoRowTilesDim &&
                       most_groups(config) <= RegisterNeed::kFewGroups;
  config.row_tiles =
      two_fit ? std::min(kMostRowTiles,
                         static_cast<int>(device::ceil_div(config.rows(), device::kQueryTile)))
              : 1;
  return config;
}

// The configuration `given` with `warps` warps, `blocks_per_sm` blocks per SM, and as many stages
// as are useful and fit.
AttentionChoice with_stages(const DecodeAttentionConfig& given, const Target& target, int warps,
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
  config.stages = std::min({fitting, std::max(kUsualStages, useful), kMostStages});
  // Where an SM has many blocks, each takes at least two tiles per warp: a single block merges all
  // partial results of a sequence and head.
  config.least_block_tiles = (blocks_per_sm > 2 ? 2 : 1) * warps;
  return choice;
}

bool is_plain_int4(const AttentionTensorConfig& tensor) {
  return tensor.code == device::KvCode::kInt4 && !tensor.zeros;
}

bool scales_query(const DecodeAttentionConfig& c) {
  return c.k.scale_use() == device::ScaleUse::kQuery;
}

int thread_registers(const DecodeAttentionConfig& c) {
  const int groups = most_groups(c);
  if (c.row_tiles > 1) return RegisterNeed::kMost;
  if (groups > RegisterNeed::kFewGroups) {
    const bool fits = is_plain_int4(c.k) && is_plain_int4(c.v) && !scales_query(c) &&
                      groups <= RegisterNeed::kSomeGroups;
    return fits ? RegisterNeed::kMore : RegisterNeed::kMost;
  }
  const int bits = std::max(c.k.code_bits(), c.v.code_bits());
  return bits > 4 || scales_query(c) ? RegisterNeed::kMore : RegisterNeed::kUsual;
}

// The most blocks of kUsualWarps warps that the register file has room for.
int blocks_by_registers(const Target& target, int registers) {
  int blocks = 1;
  while (blocks < kMostBlocksOfSm &&
         register_budget(target, 32 * kUsualWarps, blocks + 1) >= registers) {
    ++blocks;
  }
  return blocks;
}

// Wide blocks hold in kWideBlocks blocks the warps that an SM otherwise has in three or four: long
// sequences then leave fewer partial results to merge, but a barrier waits for more warps. The cost
// model would take them for most forms of caches. They are candidates only for the forms that
// `tools/bench-kv` has measured with them on an H200: codes of 4 bits in place of four blocks; INT4
// with several groups, or with K's scales per channel, in place of three.
bool has_wide(const AttentionChoice& usual) {
  const DecodeAttentionConfig& c = usual.config;
  if (c.most_cluster == 1) return false;
  if (usual.blocks_per_sm == 4) {
    return c.k.code_bits() == 4 && c.v.code_bits() == 4;
  }
  const int groups = most_groups(c);
  const bool measured_scales =
      scales_query(c) ? groups == 1 : groups > 1 && groups <= RegisterNeed::kSomeGroups;
  return usual.blocks_per_sm == 3 && is_plain_int4(c.k) && is_plain_int4(c.v) && measured_scales &&
         c.logits.window == 0;
}

}  // namespace

std::vector<AttentionChoice> attention_choices(const DecodeAttentionSpec& spec,
                                               const Target& target) {
  const DecodeAttentionConfig given = given_by(spec, target);
  const int most_blocks = blocks_by_registers(target, thread_registers(given));
  std::vector<AttentionChoice> choices;
  const auto add = [&](const AttentionChoice& choice, int least_stages) {
    if (choice.config.stages < least_stages) return;
    choices.push_back(choice);
    choices.back().config.most_blocks = target.sm_count * choice.blocks_per_sm;
  };
  bool is_fullest = true;  // no more blocks fit: wide ones have the same warps
  for (int blocks = most_blocks; blocks > 0; --blocks) {
    const AttentionChoice usual = with_stages(given, target, kUsualWarps, blocks);
    add(usual, blocks > 1 ? kUsualStages : kLeastStages);
    if (usual.config.stages < kUsualStages || !std::exchange(is_fullest, false)) continue;
    if (!has_wide(usual)) continue;
    const int warps = kUsualWarps * blocks / kWideBlocks;
    add(with_stages(given, target, warps, kWideBlocks), usual.config.stages);
  }
  for (const int warps : {2, 1}) add(with_stages(given, target, warps, 1), kLeastStages);
  return choices;
}

}  // namespace heddle
