// What the tables of the operations on a key-value cache share.
#ifndef HEDDLE_GENERATOR_SPEC_KV_FIELDS_H_
#define HEDDLE_GENERATOR_SPEC_KV_FIELDS_H_

#include "generator/spec/common_fields.h"

namespace heddle {

inline constexpr std::int64_t kMostHeads = 1024;
inline constexpr std::int64_t kLargestHead = 512;
inline constexpr std::int64_t kLargestPage = 256;
inline constexpr std::int64_t kLongestSequence = std::int64_t{1} << 30;
inline constexpr std::int64_t kNoneGiven[] = {0};

constexpr Field kv_heads_field(Slot slot) {
  return size_field("/shape/kv_heads", 1, kMostHeads, slot, "heads of K and V");
}
constexpr Field head_dim_field(Slot slot) {
  return size_field("/shape/head_dim", 8, kLargestHead, slot, "elements of a head");
}

// What holds for K and V where their own objects do not say otherwise.
inline constexpr auto kSharedKvFields =
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
                           .also = kNoneGiven,
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

struct KvTensorPointers {
  std::string_view object, dtype, granularity, group_size, symmetric, scale_dtype;
};

// The object of K or V, which is the member kTensor of the KvSpec kKv.
template <auto kKv, auto kTensor>
constexpr std::array<Field, 6> tensor_fields(const KvTensorPointers& at, std::string_view doc) {
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
        .also = kNoneGiven,
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
            .also = kNoneGiven,
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
      kSharedKvFields,
      tensor_fields<kKv, &KvSpec::k>({"/kv/k", "/kv/k/dtype", "/kv/k/granularity",
                                      "/kv/k/group_size", "/kv/k/symmetric", "/kv/k/scale_dtype"},
                                     "what holds for K"),
      tensor_fields<kKv, &KvSpec::v>({"/kv/v", "/kv/v/dtype", "/kv/v/granularity",
                                      "/kv/v/group_size", "/kv/v/symmetric", "/kv/v/scale_dtype"},
                                     "what holds for V"),
      layout_fields<kKv>());
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_SPEC_KV_FIELDS_H_
