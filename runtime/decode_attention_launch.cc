#include "runtime/decode_attention_launch.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "generator/families/decode_attention/attention_tile.h"
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

LaunchSize decode_attention_size(const Plan& plan, const DecodeAttentionArgs& args) noexcept {
  return {capacity_of(plan.spec.decode_attention().kv, args.cache), args.sequences};
}

void Kernel::launch(const DecodeAttentionArgs& args, Stream stream) const {
  validate(plan(), state_->max_workspace_bytes, args);
  if (args.sequences == 0) return;
  const DecodeAttentionParameters parameters = decode_attention_parameters(plan(), args);
  ArgumentList arguments;
  arguments.set(KernelArgument::kParameters, &parameters);
  const LaunchSize size = decode_attention_size(plan(), args);
  state_->launch(plan().kernel_for(size.size), size, arguments, stream);
}

}  // namespace heddle
