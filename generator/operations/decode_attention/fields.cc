// The table of decode_attention.
#include "generator/operations/decode_attention/decode_attention.h"
#include "generator/spec/kv_fields.h"

namespace heddle {
namespace {

constexpr Op kOp = Op::kDecodeAttention;

// A logit is a difference of two numbers of about this size in FP32: 5e-4 are lost at most.
constexpr std::int64_t kMostSoftcap = 10000;

constexpr auto kAttentionShape = std::to_array<Field>(
    {shape_field("the sizes of the operation"),
     size_field("/shape/heads", 1, kMostHeads,
                slot<&DecodeAttentionSpec::shape, &AttentionShape::heads>(),
                "heads of Q, a multiple of kv_heads"),
     kv_heads_field(slot<&DecodeAttentionSpec::shape, &AttentionShape::kv_heads>()),
     head_dim_field(slot<&DecodeAttentionSpec::shape, &AttentionShape::head_dim>()),
     {.pointer = "/shape/query_len",
      .min = 1,
      .max = 8,
      .slot = slot<&DecodeAttentionSpec::shape, &AttentionShape::query_len>(),
      .doc = "queries per sequence: its last tokens"}});

constexpr auto kScoreFields = std::to_array<Field>(
    {{.pointer = "/scale_dim",
      .min = 1,
      .max = std::int64_t{1} << 40,
      .also = kNoneGiven,
      .slot = slot<&DecodeAttentionSpec::scale_dim>(),
      .doc = "logits are divided by its square root; 0: head_dim"},
     {.pointer = "/alibi",
      .kind = FieldKind::kWord,
      .words = kAlibiWords,
      .slot = slot<&DecodeAttentionSpec::alibi>(),
      .doc = "bias slope * distance; given: slopes are an argument of the launch"},
     {.pointer = "/window",
      .max = kLongestSequence,
      .slot = slot<&DecodeAttentionSpec::window>(),
      .doc = "tokens that a query sees, the last of which is its own; 0: all"},
     {.pointer = "/sink_tokens",
      .max = kLongestSequence,
      .slot = slot<&DecodeAttentionSpec::sink_tokens>(),
      .doc = "first tokens of a sequence, seen in addition to the window"},
     {.pointer = "/sink_logits",
      .kind = FieldKind::kBool,
      .slot = slot<&DecodeAttentionSpec::sink_logits>(),
      .doc = "one more logit per head in the softmax, without a value"},
     {.pointer = "/softcap",
      .max = kMostSoftcap,
      .slot = slot<&DecodeAttentionSpec::softcap>(),
      .doc = "logits become softcap * tanh(logit / softcap); 0: they do not"},
     {.pointer = "/log_sum_exp",
      .kind = FieldKind::kBool,
      .slot = slot<&DecodeAttentionSpec::log_sum_exp>(),
      .doc = "also write the log of each softmax's sum, FP32"}});

constexpr auto kAttentionFields = join_fields(
    header_fields<kOp>("attention of each sequence's last tokens over the cache"), kAttentionShape,
    activation_fields<&DecodeAttentionSpec::activation>("type of Q and the output"),
    kv_fields<&DecodeAttentionSpec::kv>(), kScoreFields);

}  // namespace

const FieldTable& decode_attention_fields() {
  static const DecodeAttentionSpec defaults;
  static const FieldTable table{kOp, kAttentionFields, &defaults};
  return table;
}

}  // namespace heddle
