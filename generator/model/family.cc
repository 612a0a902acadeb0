#include "generator/model/family.h"

#include <cstddef>

namespace heddle {

const std::vector<NamedExpression>& default_names() {
  static const std::vector<NamedExpression> names = {
      {"hidden", "hidden_size ?? n_embd ?? n_embed ?? d_model"},
      {"layers", "num_hidden_layers ?? n_layer ?? num_layers ?? n_layers"},
      {"heads", "num_attention_heads ?? n_head ?? n_heads"},
      {"kv_heads", "num_key_value_heads ?? heads"},
      {"head_dim", "head_dim ?? hidden / heads"},
      {"value_dim", "head_dim"},
      {"inner", "intermediate_size"},
      {"experts", "num_experts ?? num_local_experts ?? n_routed_experts"},
      {"expert_inner", "moe_intermediate_size"},
      {"vocabulary", "vocab_size"},
      {"layers_may_differ", "false"},
      {"class_default_epsilon", "0.000001"},
      {"class_default_base", "10000"},
      {"class_default_kv_heads", "null"},
  };
  return names;
}

const std::vector<RemarkRow>& common_remarks() {
  static const std::vector<RemarkRow> rows = {
      {"!is_causal", "is_causal is false: tokens also see those behind them",
       Consequence::kNoAttention},
      {"use_bidirectional_attention == true || use_bidirectional_attention == 'all'",
       "use_bidirectional_attention: tokens also see those behind them", Consequence::kNoAttention},
      {"add_cross_attention", "add_cross_attention adds modules that attend to an encoder",
       Consequence::kRefusal},
      {"is_encoder_decoder", "is_encoder_decoder: the decoder's layers are those of another class",
       Consequence::kRefusal},
      {"length(per_layer_config) > 0 && !layers_may_differ",
       "per_layer_config: fields of single layers are not known of this model type",
       Consequence::kRefusal},
      {"length(pruned_heads) > 0", "pruned_heads takes rows out of the matrices of some layers",
       Consequence::kRefusal},
  };
  return rows;
}

namespace {

using ExpressionVisit = std::function<void(Expression)>;

// Fields of an expression that is not visited would be unknown: whoever adds a member to a row
// changes its size here, and visits it below.
constexpr std::size_t kText = sizeof(Expression);
constexpr std::size_t kList = sizeof(std::vector<RemarkRow>);
constexpr std::size_t kWord = sizeof(void*);  // an enum or a flag between expressions
static_assert(sizeof(LinearRow) == 8 * kText + 3 * kWord);
static_assert(sizeof(RopeRow) == 8 * kText + kWord);
static_assert(sizeof(AttentionRow) == 20 * kText + 2 * kWord + sizeof(RopeRow));
static_assert(sizeof(ExpertsRow) == 21 * kText);
static_assert(sizeof(NormRow) == 5 * kText + kWord);
static_assert(sizeof(RemarkRow) == 2 * kText + kWord);
static_assert(sizeof(OtherRow) == 3 * kText);
static_assert(sizeof(FamilyRow) == 11 * kText + 9 * kList + sizeof(NormRow));

void visit_all(const LinearRows& rows, const ExpressionVisit& visit) {
  for (const LinearRow& row : rows) {
    for (const Expression text : {row.n, row.k, row.bias, row.when, row.count, row.by_kv_heads}) {
      visit(text);
    }
  }
}

void visit_all(const AttentionRow& row, const ExpressionVisit& visit) {
  for (const Expression text : {row.heads,       row.kv_heads,     row.head_dim,
                                row.value_dim,   row.scale_dim,    row.softcap,
                                row.window,      row.chunk,        row.sinks,
                                row.alibi,       row.alibi_power,  row.alibi_factor,
                                row.gate,        row.qk_norm_when, row.rope.neox_when,
                                row.rope.when,   row.rope.part,    row.rope.class_default_base,
                                row.q_rank,      row.kv_rank,      row.rope_dim,
                                row.index_heads, row.index_tokens}) {
    visit(text);
  }
  for (const Expression text : {row.rope.dim, row.rope.base, row.rope.scaling}) {
    if (!text.empty()) visit(text);
  }
}

void visit_all(const ExpertsRow& row, const ExpressionVisit& visit) {
  for (const Expression text : {row.count,         row.per_token,    row.inner,
                                row.latent,        row.shared,       row.shared_gate,
                                row.scoring,       row.groups,       row.groups_per_token,
                                row.normalised,    row.scale,        row.bias,
                                row.expert_scales, row.hashed,       row.routed,
                                row.clamp_limit,   row.clamp_factor, row.gate_limit,
                                row.weighs_input,  row.plain_shared}) {
    visit(text);
  }
  if (!row.plain_gate.empty()) visit(row.plain_gate);
}

void visit_all(const RemarkRow& row, const ExpressionVisit& visit) {
  visit(row.when);
  for (std::size_t at = row.text.find('{'); at != row.text.npos; at = row.text.find('{', at + 1)) {
    visit(row.text.substr(at + 1, row.text.find('}', at) - at - 1));
  }
}

}  // namespace

void for_each_expression(const FamilyRow& family, const ExpressionVisit& visit) {
  for (const NamedExpression& name : family.names) visit(name.is);
  for (const MixerRow& mixer : family.mixers) {
    visit(mixer.when);
    visit_all(mixer.linears, visit);
    const bool attends =
        mixer.kind == MixerKind::kAttention || mixer.kind == MixerKind::kLatentAttention;
    if (attends) visit_all(mixer.attention, visit);
  }
  for (const FeedForwardRow& feed_forward : family.feed_forwards) {
    visit(feed_forward.when);
    visit_all(feed_forward.linears, visit);
    if (feed_forward.kind == FeedForwardKind::kExperts) visit_all(feed_forward.experts, visit);
  }
  visit_all(family.outside, visit);
  for (const Expression text :
       {Expression("hidden"), Expression("layers"), Expression("vocabulary"), family.norm.epsilon,
        family.norm.class_default_epsilon, family.norm.kind_when, family.norm.parallel,
        family.norm.plain_sum, family.activation, family.plain_gate, family.tied, family.head_bias,
        family.head_width, family.logit_softcap}) {
    visit(text);
  }
  for (const NamedExpression& multiplier : family.multipliers) visit(multiplier.is);
  for (const OtherRow& other : family.others) visit(other.layers);
  for (const RemarkRow& row : common_remarks()) visit_all(row, visit);
  for (const RemarkRow& row : family.remarks) visit_all(row, visit);
}

}  // namespace heddle
