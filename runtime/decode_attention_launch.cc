#include "runtime/decode_attention_launch.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "generator/plan/attention_tile.h"
#include "heddle/kv_cache.h"
#include "runtime/kernel_state.h"
#include "runtime/kv_append_launch.h"

namespace heddle {
namespace {

constexpr std::size_t kNumberAlignment = 4;
// Lengths and what follows from them stay far below 2^31.
constexpr std::int64_t kMostTokens = std::int64_t{1} << 30;

// Of all sequences: the kernel counts them in 32 bits.
constexpr std::int64_t kMostTokensOfAll = (std::int64_t{1} << 31) - 1;

static_assert(sizeof(DecodeAttentionParameters) == 152, "the kernel's struct is the same");

std::int64_t tiles_of(std::int64_t tokens) noexcept {
  return (tokens + kAttentionTile - 1) / kAttentionTile;
}

// Tokens that a sequence may have.
std::int64_t capacity_of(const KvSpec& kv, const KvCache& cache) noexcept {
  const bool paged = kv.layout == KvLayout::kPaged;
  return std::min(paged ? cache.table_stride * kv.page_size : cache.page_tokens, kMostTokens);
}

// Before their lengths are known on the device every sequence counts as full.
void check_tokens(const DecodeAttentionSpec& spec, const DecodeAttentionArgs& args) {
  const std::int64_t capacity = capacity_of(spec.kv, args.cache);
  const std::int64_t tiles = args.sequences * tiles_of(capacity);
  if (tiles * kAttentionTile > kMostTokensOfAll) {
    refuse_launch("launch.size",
                  fmt::format("{} sequences of up to {} tokens are more than {} tokens together",
                              args.sequences, capacity, kMostTokensOfAll));
  }
  // And their tiles once for each head of K and V and eight rows of its queries.
  const std::int64_t rows =
      std::int64_t{spec.shape.heads} / spec.shape.kv_heads * spec.shape.query_len;
  const std::int64_t work = tiles * spec.shape.kv_heads * ((rows + 7) / 8);
  if (work <= kMostTokensOfAll) return;
  refuse_launch(
      "launch.size",
      fmt::format("{} sequences of up to {} tokens are {} tiles of {} tokens for all heads, "
                  "more than {}",
                  args.sequences, capacity, work, kAttentionTile, kMostTokensOfAll));
}

void check_workspace(std::size_t needed, const DecodeAttentionArgs& args) {
  check_required(args.workspace, "workspace");
  if (args.workspace_bytes >= needed) return;
  refuse_launch("launch.workspace", fmt::format("workspace has {} bytes; a launch needs {}",
                                                args.workspace_bytes, needed));
}

// Whether scales of two bytes are copied in words of two tokens.
bool has_pairs(const KvTensor& tensor, const KvTensorLayout& layout,
               const DecodeAttentionSpec& spec) {
  return layout.scale_row_bytes == 2 &&
         (tensor.granularity == KvGranularity::kToken || spec.kv.order == KvOrder::kHnd ||
          spec.shape.kv_heads == 1);
}

// Of a contiguous cache.
void check_contiguous(const DecodeAttentionSpec& spec, const DecodeAttentionArgs& args) {
  const KvCacheLayout layout = kv_cache_layout(spec.kv, spec.shape.kv_heads, spec.shape.head_dim);
  const bool pairs = has_pairs(spec.kv.k, layout.k, spec) || has_pairs(spec.kv.v, layout.v, spec);
  if (!pairs || args.cache.page_tokens % 2 == 0) return;
  refuse_launch("launch.size", fmt::format("cache.page_tokens = {}: scales of 16 bits lie in pairs "
                                           "of tokens, an odd number has half a pair",
                                           args.cache.page_tokens));
}

// Blocks that share each sequence and head, a power of two; 1: blocks take equal parts of all. A
// team is a cluster: all of them and those of the next launch, which starts before this one has
// ended, must find room, and clusters of more than two do not reach every SM.
int team_of(const AttentionTile& tile, std::int64_t tiles_of_sequence, std::int64_t items,
            int sequences) noexcept {
  // Beyond these more blocks are faster.
  constexpr int kMostTilesOfSm = 16;
  constexpr int kMostTilesOfWarp = 8;
  const int sms = tile.blocks / tile.blocks_per_sm;
  if (tile.blocks_per_sm == 1 || sequences > kMostTeamSequences ||
      tiles_of_sequence * items > kMostTilesOfSm * sms) {
    return 1;
  }
  const auto fits = [&](int team) {
    const std::int64_t blocks = items * team;
    return blocks <= sms && 2 * blocks <= (team > 2 ? tile.blocks * 9 / 10 : tile.blocks);
  };
  int team = tile.most_team;
  while (team > 1 && (!fits(team) || tiles_of_sequence <= tile.warps * team / 2)) team /= 2;
  return tiles_of_sequence <= kMostTilesOfWarp * tile.warps * team ? team : 1;
}

// Where blocks take equal parts of all: whether pairs of them do. Of long sequences there are half
// as many parts to merge then, and neighbouring tiles are read at the same time.
bool takes_pairs(const AttentionTile& tile, std::int64_t tiles_of_sequence,
                 int sequences) noexcept {
  return tile.most_team > 1 && tile.blocks_per_sm > 1 && sequences <= kMostTeamSequences &&
         tiles_of_sequence >= kLongTiles;
}

}  // namespace

void validate(const Plan& plan, const DecodeAttentionArgs& args) {
  check_op(plan, Op::kDecodeAttention);
  validate(plan, plan.max_workspace_bytes(), args);
}

void validate(const Plan& plan, std::size_t workspace_bytes, const DecodeAttentionArgs& args) {
  check_op(plan, Op::kDecodeAttention);
  const DecodeAttentionSpec& spec = plan.spec.decode_attention();
  if (args.sequences < 0 || args.sequences > kMostSequences) {
    refuse_launch("launch.size", fmt::format("sequences = {} is not between 0 and {}",
                                             args.sequences, kMostSequences));
  }
  check_required(args.q, "q");
  check_required(args.out, "out");
  check_required(args.lengths, "lengths", kNumberAlignment);
  check_wanted(args.slopes, spec.alibi == Alibi::kGiven, "slopes", kNumberAlignment);
  check_wanted(args.sink_logits, spec.sink_logits, "sink_logits", kNumberAlignment);
  check_wanted(args.log_sum_exp, spec.log_sum_exp, "log_sum_exp", kNumberAlignment);
  validate(spec.kv, args.cache, args.sequences, spec.shape.kv_heads);
  if (spec.kv.layout == KvLayout::kContiguous) check_contiguous(spec, args);
  check_tokens(spec, args);
  check_workspace(workspace_bytes, args);
}

DecodeAttentionParameters decode_attention_parameters(const Plan& plan,
                                                      const DecodeAttentionArgs& args) noexcept {
  const KvSpec& kv = plan.spec.decode_attention().kv;
  const KvCache& cache = args.cache;
  const auto number = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  return {args.q,
          cache.k.codes,
          cache.v.codes,
          cache.k.scales,
          cache.v.scales,
          cache.k.given,
          cache.v.given,
          cache.block_table,
          args.lengths,
          args.slopes,
          args.sink_logits,
          args.out,
          args.log_sum_exp,
          args.workspace,
          cache.k.residual,
          cache.residual_slots,
          number(args.sequences),
          number(cache.table_stride),
          number(cache.pages),
          number(capacity_of(kv, cache)),
          number(cache.residual_slot_count),
          0};
}

std::size_t decode_attention_kernel(const std::vector<AttentionTile>& tiles,
                                    const DecodeAttentionParameters& parameters) noexcept {
  const bool is_long = tiles_of(parameters.capacity) >= kLongTiles;
  return is_long ? tiles.size() - 1 : 0;
}

AttentionGrid decode_attention_grid(const Plan& plan, const AttentionTile& tile,
                                    const DecodeAttentionParameters& parameters) noexcept {
  const AttentionShape& shape = plan.spec.decode_attention().shape;
  const auto ceil_of = [](std::int64_t count, int size) { return (count + size - 1) / size; };
  const std::int64_t rows = std::int64_t{shape.heads / shape.kv_heads} * shape.query_len;
  const std::int64_t of_sequence = tiles_of(parameters.capacity);
  const std::int64_t items =
      std::int64_t{parameters.sequences} * shape.kv_heads * ceil_of(rows, 8 * tile.row_tiles);
  const std::int64_t tiles = of_sequence * items;
  const int least = of_sequence <= tile.warps ? tile.warps : tile.least_share;
  const int team = team_of(tile, of_sequence, items, parameters.sequences);
  if (team > 1) return {static_cast<int>(items) * team, team};
  const int blocks =
      static_cast<int>(std::clamp<std::int64_t>(ceil_of(tiles, least), 1, tile.blocks));
  if (blocks % 2 == 0 && takes_pairs(tile, of_sequence, parameters.sequences)) return {blocks, 2};
  return {blocks, 1};
}

void Kernel::launch(const DecodeAttentionArgs& args, Stream stream) const {
  validate(plan(), state_->max_workspace_bytes, args);
  if (args.sequences == 0) return;
  DecodeAttentionParameters parameter = decode_attention_parameters(plan(), args);
  void* parameters[] = {&parameter};
  const std::vector<AttentionTile>& tiles = state_->attention_tiles;
  const std::size_t number = decode_attention_kernel(tiles, parameter);
  const TileKernel& kernel = plan().tile_kernels[number];
  const AttentionGrid grid = decode_attention_grid(plan(), tiles[number], parameter);
  const LaunchConfig config(
      {static_cast<unsigned int>(grid.blocks), 1, 1, static_cast<unsigned int>(grid.team)},
      kernel.threads, kernel.shared_bytes, stream, plan().target.arch() >= 90);
  state_->kernels[number].launch(config, parameters);
}

}  // namespace heddle
