#include "runtime/launch/decode_attention_launch.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "decode_attention/config.h"
#include "generator/families/configuration.h"
#include "generator/families/decode_attention/config.h"
#include "generator/kv/sequence_limits.h"
#include "generator/operations/launch_size.h"
#include "heddle/weights.h"
#include "runtime/launch/byte_pointers.h"
#include "runtime/launch/kernel_state.h"
#include "runtime/launch/kv_append_launch.h"

namespace heddle {
namespace {

using device::DecodeAttentionConfig;

// Tokens that a sequence may have.
std::int64_t capacity_of(const KvSpec& kv, const KvCache& cache) noexcept {
  const bool paged = kv.layout == KvLayout::kPaged;
  return std::min(paged ? cache.table_stride * kv.page_size : cache.page_tokens,
                  kMostSequenceTokens);
}

// Checks what a launch asks of a contiguous cache.
void check_contiguous(const Plan& plan, const DecodeAttentionArgs& args) {
  const auto& config = config_of<DecodeAttentionConfig>(plan.kernels.front());
  const bool pairs = config.k.has_pairs() || config.v.has_pairs();
  if (!pairs || args.cache.page_tokens % 2 == 0) return;
  refuse_launch("launch.size", fmt::format("cache.page_tokens = {}: scales of 16 bits lie in pairs "
                                           "of tokens, an odd number has half a pair",
                                           args.cache.page_tokens));
}

}  // namespace

void validate(const Plan& plan, const DecodeAttentionArgs& args) {
  validate(plan, plan.max_workspace_bytes(), args);
}

void validate(const Plan& plan, std::size_t workspace_bytes, const DecodeAttentionArgs& args) {
  const DecodeAttentionSpec& spec = plan.spec.decode_attention();
  check_sequences(args.sequences, 0);
  const AttentionShape& shape = spec.shape;
  const std::int64_t queries = args.sequences * shape.query_len * shape.heads;
  const std::size_t query_bytes = byte_count(queries * shape.head_dim, bytes_of(spec.activation));
  const std::size_t head_bytes = byte_count(shape.heads, sizeof(float));
  check_required(args.q, query_bytes, "q");
  check_required(args.out, query_bytes, "out");
  check_required(args.lengths, byte_count(args.sequences, sizeof(std::int32_t)), "lengths",
                 kNumberAlignment);
  check_wanted(args.slopes, spec.alibi == Alibi::kGiven, head_bytes, "slopes", kNumberAlignment);
  check_wanted(args.sink_logits, spec.sink_logits, head_bytes, "sink_logits", kNumberAlignment);
  check_wanted(args.log_sum_exp, spec.log_sum_exp, byte_count(queries, sizeof(float)),
               "log_sum_exp", kNumberAlignment);
  validate(spec.kv, {shape.kv_heads, shape.head_dim}, args.cache, args.sequences);
  if (spec.kv.layout == KvLayout::kContiguous) check_contiguous(plan, args);
  check_tokens(spec, args.sequences, capacity_of(spec.kv, args.cache));
  check_workspace(args.workspace, workspace_bytes);
}

AttentionParameters decode_attention_parameters(const Plan& plan,
                                                const DecodeAttentionArgs& args) noexcept {
  const KvSpec& kv = plan.spec.decode_attention().kv;
  const KvCache& cache = args.cache;
  const auto number = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  return {.q = bytes(args.q),
          .k = bytes(cache.k.codes),
          .v = bytes(cache.v.codes),
          .k_scales = bytes(cache.k.scales),
          .v_scales = bytes(cache.v.scales),
          .k_given = floats(cache.k.given),
          .v_given = floats(cache.v.given),
          .block_table = integers(cache.block_table),
          .lengths = integers(args.lengths),
          .slopes = floats(args.slopes),
          .sinks = floats(args.sink_logits),
          .out = bytes(args.out),
          .log_sums = floats(args.log_sum_exp),
          .workspace = bytes(args.workspace),
          .k_residual = bytes(cache.k.residual),
          .residual_slots = integers(cache.residual_slots),
          .sequences = number(args.sequences),
          .table_width = number(cache.table_stride),
          .pages = number(cache.pages),
          .capacity = number(capacity_of(kv, cache)),
          .residual_slot_count = number(cache.residual_slot_count)};
}

LaunchSize decode_attention_size(const Plan& plan, const DecodeAttentionArgs& args) noexcept {
  return {capacity_of(plan.spec.decode_attention().kv, args.cache), args.sequences};
}

void launch(const Kernel::State& state, const DecodeAttentionArgs& args, Stream stream) {
  const Plan& plan = state.plan;
  validate(plan, state.max_workspace_bytes, args);
  if (args.sequences == 0) return;
  const AttentionParameters parameters = decode_attention_parameters(plan, args);
  ArgumentList arguments;
  arguments.set(KernelArgument::kParameters, &parameters);
  const LaunchSize size = decode_attention_size(plan, args);
  state.launch(plan.kernel_for(size.size), size, arguments, stream);
}

}  // namespace heddle
