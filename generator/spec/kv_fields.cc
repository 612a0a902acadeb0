// The tables of the operations on a key-value cache.
#include "generator/spec/common_fields.h"

namespace heddle {
namespace {

constexpr std::int64_t kMostHeads = 1024;
constexpr std::int64_t kLargestHead = 512;
constexpr std::int64_t kLargestPage = 256;
constexpr std::int64_t kLongestSequence = std::int64_t{1} << 30;
// A logit is a difference of two numbers of about this size in FP32: 5e-4 are lost at most.
constexpr std::int64_t kMostSoftcap = 10000;
constexpr std::int64_t kLargestBase = std::int64_t{1} << 40;
constexpr std::int64_t kUsual[] = {0};

constexpr Field kv_heads_field(Slot slot) {
  return size_field("/shape/kv_heads", 1, kMostHeads, slot, "heads of K and V");
}
constexpr Field head_dim_field(Slot slot) {
  return size_field("/shape/head_dim", 8, kLargestHead, slot, "elements of a head");
}

constexpr auto kAppendShape =
    std::to_array<Field>({shape_field("the sizes of one token's K, and of its V"),
                          kv_heads_field(slot<&KvAppendSpec::shape, &KvShape::kv_heads>()),
                          head_dim_field(slot<&KvAppendSpec::shape, &KvShape::head_dim>())});

constexpr auto kAttentionShape = std::to_array<Field>(
    {shape_field("the sizes of the operation"),
     size_field("/shape/heads", 1, kMostHeads,
                slot<&DecodeAttentionSpec::shape, &AttentionShape::heads>(),
                "heads of Q, a multiple of those of K and V"),
     kv_heads_field(slot<&DecodeAttentionSpec::shape, &AttentionShape::kv_heads>()),
     head_dim_field(slot<&DecodeAttentionSpec::shape, &AttentionShape::head_dim>()),
     {.pointer = "/shape/query_len",
      .min = 1,
      .max = 8,
      .slot = slot<&DecodeAttentionSpec::shape, &AttentionShape::query_len>(),
      .doc = "queries of each sequence: its last tokens, each of which sees those up to itself"}});

// What holds for K and V where their own objects do not say otherwise.
constexpr auto kSharedFields =
    std::to_array<Field>({{.pointer = "/kv",
                           .kind = FieldKind::kObject,
                           .required = true,
                           .doc = "how the cache is quantised and laid out"},
                          {.pointer = "/kv/dtype",
                           .kind = FieldKind::kWord,
                           .words = kKvDtypeWords,
                           .slot = default_slot(),
                           .doc = "type of the codes of K and V"},
                          {.pointer = "/kv/granularity",
                           .kind = FieldKind::kWord,
                           .words = kKvGranularityWords,
                           .slot = default_slot(),
                           .doc = "which values of K, and of V, share a scale"},
                          {.pointer = "/kv/group_size",
                           .min = 8,
                           .max = kLargestHead,
                           .multiple = 8,
                           .also = kUsual,
                           .slot = default_slot(),
                           .doc = "values of a group of K, and of V"},
                          {.pointer = "/kv/symmetric",
                           .kind = FieldKind::kBool,
                           .slot = default_slot(),
                           .doc = "whether K and V have no zero points"},
                          {.pointer = "/kv/scale_dtype",
                           .kind = FieldKind::kWord,
                           .words = kDTypeWords,
                           .slot = default_slot(),
                           .doc = "type of the stored scales of K and V"}});

struct TensorPointers {
  std::string_view object, dtype, granularity, group_size, symmetric, scale_dtype;
};

// The object of K or V, which is the member kTensor of the KvSpec kKv.
template <auto kKv, auto kTensor>
constexpr std::array<Field, 6> tensor_fields(const TensorPointers& at, std::string_view doc) {
  return {
      {{.pointer = at.object, .kind = FieldKind::kObject, .doc = doc},
       {.pointer = at.dtype,
        .kind = FieldKind::kWord,
        .words = kKvDtypeWords,
        .default_from = "/kv/dtype",
        .slot = slot<kKv, kTensor, &KvTensor::dtype>(),
        .doc = "type of the codes; int8 where neither is given"},
       {.pointer = at.granularity,
        .kind = FieldKind::kWord,
        .words = kKvGranularityWords,
        .default_from = "/kv/granularity",
        .slot = slot<kKv, kTensor, &KvTensor::granularity>(),
        .doc = "which values share a scale; auto: none of 16-bit values, tensor of FP8, group of "
               "NVFP4, else head"},
       {.pointer = at.group_size,
        .min = 8,
        .max = kLargestHead,
        .multiple = 8,
        .also = kUsual,
        .default_from = "/kv/group_size",
        .slot = slot<kKv, kTensor, &KvTensor::group_size>(),
        .doc =
            "group: values along head_dim; channel: tokens; 0: the usual one, and with all other "
            "granularities"},
       {.pointer = at.symmetric,
        .kind = FieldKind::kBool,
        .default_from = "/kv/symmetric",
        .slot = slot<kKv, kTensor, &KvTensor::symmetric>(),
        .doc = "false: integer codes with a zero point beside each scale; true where neither is "
               "given"},
       {.pointer = at.scale_dtype,
        .kind = FieldKind::kWord,
        .words = kDTypeWords,
        .default_from = "/kv/scale_dtype",
        .slot = slot<kKv, kTensor, &KvTensor::scale_dtype>(),
        .doc =
            "type of the stored scales; the activation's where neither is given, fp32 of tensor, "
            "e4m3 of nvfp4"}}};
}

template <auto kKv>
constexpr std::array<Field, 3> layout_fields() {
  return {{{.pointer = "/kv/layout",
            .kind = FieldKind::kWord,
            .words = kKvLayoutWords,
            .slot = slot<kKv, &KvSpec::layout>(),
            .doc = "contiguous: a run of tokens for each sequence; paged: pages that a block table "
                   "names"},
           {.pointer = "/kv/page_size",
            .min = 1,
            .max = kLargestPage,
            .also = kUsual,
            .slot = slot<kKv, &KvSpec::page_size>(),
            .doc = "tokens of a page; 0 with contiguous"},
           {.pointer = "/kv/order",
            .kind = FieldKind::kWord,
            .words = kKvOrderWords,
            .slot = slot<kKv, &KvSpec::order>(),
            .doc = "inside a page: hnd: heads, tokens, elements; nhd: tokens, heads, elements"}}};
}

template <auto kKv>
constexpr auto kv_fields() {
  return join_fields(
      kSharedFields,
      tensor_fields<kKv, &KvSpec::k>({"/kv/k", "/kv/k/dtype", "/kv/k/granularity",
                                      "/kv/k/group_size", "/kv/k/symmetric", "/kv/k/scale_dtype"},
                                     "what holds for K"),
      tensor_fields<kKv, &KvSpec::v>({"/kv/v", "/kv/v/dtype", "/kv/v/granularity",
                                      "/kv/v/group_size", "/kv/v/symmetric", "/kv/v/scale_dtype"},
                                     "what holds for V"),
      layout_fields<kKv>());
}

constexpr auto kRopeFields = std::to_array<Field>(
    {{.pointer = "/rope", .kind = FieldKind::kObject, .doc = "rotary position embeddings of K"},
     {.pointer = "/rope/pairing",
      .kind = FieldKind::kWord,
      .required = true,
      .words = kRopePairingWords,
      .slot = slot<&KvAppendSpec::rope, &RopeSpec::pairing>(),
      .doc = "what is turned together: neox: elements i and i + dim / 2; gptj: 2i and 2i + 1"},
     {.pointer = "/rope/dim",
      .min = 16,
      .max = kLargestHead,
      .multiple = 16,
      .also = kUsual,
      .slot = slot<&KvAppendSpec::rope, &RopeSpec::dim>(),
      .doc = "elements that are turned, the first ones of a head; 0: all"},
     {.pointer = "/rope/source",
      .kind = FieldKind::kWord,
      .words = kRopeSourceWords,
      .slot = slot<&KvAppendSpec::rope, &RopeSpec::source>(),
      .doc = "of the angles: base: position / base^(2i / dim); table: given with each launch"},
     {.pointer = "/rope/base",
      .min = 2,
      .max = kLargestBase,
      .slot = slot<&KvAppendSpec::rope, &RopeSpec::base>(),
      .doc = "rope_theta of the model"}});

constexpr auto kScoreFields = std::to_array<Field>(
    {{.pointer = "/scale_dim",
      .min = 1,
      .max = std::int64_t{1} << 40,
      .also = kUsual,
      .slot = slot<&DecodeAttentionSpec::scale_dim>(),
      .doc = "logits are divided by its square root; 0: head_dim"},
     {.pointer = "/alibi",
      .kind = FieldKind::kWord,
      .words = kAlibiWords,
      .slot = slot<&DecodeAttentionSpec::alibi>(),
      .doc = "a bias of slope * distance; standard: the paper's slopes; given: with each launch"},
     {.pointer = "/window",
      .max = kLongestSequence,
      .slot = slot<&DecodeAttentionSpec::window>(),
      .doc = "tokens that a query sees, itself and those just before it; 0: all"},
     {.pointer = "/sink_tokens",
      .max = kLongestSequence,
      .slot = slot<&DecodeAttentionSpec::sink_tokens>(),
      .doc = "first tokens of a sequence that are seen beside the window"},
     {.pointer = "/sink_logits",
      .kind = FieldKind::kBool,
      .slot = slot<&DecodeAttentionSpec::sink_logits>(),
      .doc = "one logit more per head in the softmax, which has no value; given with each launch"},
     {.pointer = "/softcap",
      .max = kMostSoftcap,
      .slot = slot<&DecodeAttentionSpec::softcap>(),
      .doc = "logits become softcap * tanh(logit / softcap), before the bias; 0: they stay"},
     {.pointer = "/log_sum_exp",
      .kind = FieldKind::kBool,
      .slot = slot<&DecodeAttentionSpec::log_sum_exp>(),
      .doc = "also write the logarithm of each softmax's sum, FP32"}});

constexpr auto kAppendFields = join_fields(
    header_fields<Op::kKvAppend>("the operation: K and V of new tokens into the cache"),
    kAppendShape, activation_fields<&KvAppendSpec::activation>("type of the new K and V"),
    kv_fields<&KvAppendSpec::kv>(), kRopeFields);

constexpr auto kAttentionFields = join_fields(
    header_fields<Op::kDecodeAttention>("the operation: attention of each sequence's last tokens"),
    kAttentionShape,
    activation_fields<&DecodeAttentionSpec::activation>("type of Q and the output"),
    kv_fields<&DecodeAttentionSpec::kv>(), kScoreFields);

}  // namespace

const FieldTable& kv_append_fields() {
  static const KvAppendSpec defaults;
  static const FieldTable table{Op::kKvAppend, kAppendFields, &defaults};
  return table;
}

const FieldTable& decode_attention_fields() {
  static const DecodeAttentionSpec defaults;
  static const FieldTable table{Op::kDecodeAttention, kAttentionFields, &defaults};
  return table;
}

}  // namespace heddle
