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
  return size_field("/shape/head_dim", 8, kLargestHead, slot, "elements per head");
}

// What holds for K and V where their own objects do not say otherwise.
inline constexpr auto kSharedKvFields = std::to_array<Field>(
    {{.pointer = "/kv",
      .kind = FieldKind::kObject,
      .required = true,
      .doc = "how the cache is quantised and laid out"},
     {.pointer = "/kv/dtype",
      .kind = FieldKind::kWord,
      .words = kKvDtypeWords,
      .slot = default_slot(),
      .doc = "type of the codes; int8 where none is given"},
     {.pointer = "/kv/granularity",
      .kind = FieldKind::kWord,
      .words = kKvGranularityWords,
      .slot = default_slot(),
      .doc = "values that share a scale; auto: none for 16 bits, tensor for FP8, group for NVFP4, "
             "else head"},
     {.pointer = "/kv/group_size",
      .min = 8,
      .max = kLargestHead,
      .multiple = 8,
      .also = kNoneGiven,
      .slot = default_slot(),
      .doc =
          "group: elements along head_dim; channel: tokens; 0: the default, and with the others"},
     {.pointer = "/kv/symmetric",
      .kind = FieldKind::kBool,
      .slot = default_slot(),
      .doc = "false: a zero point for each scale; true where none is given"},
     {.pointer = "/kv/scale_dtype",
      .kind = FieldKind::kWord,
      .words = kScaleDTypeWords,
      .slot = default_slot(),
      .doc = "type of the stored scales; else activation.dtype, for tensor fp32, for nvfp4 e4m3"}});

struct KvTensorPointers {
  std::string_view object, dtype, granularity, group_size, symmetric, scale_dtype;
};

// The object of K or V, which is the member kTensor of the KvSpec kKv.
template <auto kKv, auto kTensor>
constexpr std::array<Field, 6> tensor_fields(const KvTensorPointers& at, std::string_view doc) {
  return {{{.pointer = at.object, .kind = FieldKind::kObject, .doc = doc},
           {.pointer = at.dtype,
            .kind = FieldKind::kWord,
            .words = kKvDtypeWords,
            .default_from = "/kv/dtype",
            .slot = slot<kKv, kTensor, &KvTensor::dtype>(),
            .doc = "type of the codes"},
           {.pointer = at.granularity,
            .kind = FieldKind::kWord,
            .words = kKvGranularityWords,
            .default_from = "/kv/granularity",
            .slot = slot<kKv, kTensor, &KvTensor::granularity>(),
            .doc = "values that share a scale"},
           {.pointer = at.group_size,
            .min = 8,
            .max = kLargestHead,
            .multiple = 8,
            .also = kNoneGiven,
            .default_from = "/kv/group_size",
            .slot = slot<kKv, kTensor, &KvTensor::group_size>(),
            .doc = "group: elements along head_dim; channel: tokens"},
           {.pointer = at.symmetric,
            .kind = FieldKind::kBool,
            .default_from = "/kv/symmetric",
            .slot = slot<kKv, kTensor, &KvTensor::symmetric>(),
            .doc = "false: a zero point for each scale"},
           {.pointer = at.scale_dtype,
            .kind = FieldKind::kWord,
            .words = kScaleDTypeWords,
            .default_from = "/kv/scale_dtype",
            .slot = slot<kKv, kTensor, &KvTensor::scale_dtype>(),
            .doc = "type of the stored scales"}}};
}

template <auto kKv>
constexpr std::array<Field, 3> layout_fields() {
  return {
      {{.pointer = "/kv/layout",
        .kind = FieldKind::kWord,
        .words = kKvLayoutWords,
        .slot = slot<kKv, &KvSpec::layout>(),
        .doc = "paged: pages named by a block table; contiguous: one run of tokens per sequence"},
       {.pointer = "/kv/page_size",
        .min = 1,
        .max = kLargestPage,
        .also = kNoneGiven,
        .slot = slot<kKv, &KvSpec::page_size>(),
        .doc = "tokens per page; contiguous: 0"},
       {.pointer = "/kv/order",
        .kind = FieldKind::kWord,
        .words = kKvOrderWords,
        .slot = slot<kKv, &KvSpec::order>(),
        .doc = "order in a page: heads, tokens, elements or tokens, heads, elements"}}};
}

template <auto kKv>
constexpr auto kv_fields() {
  return join_fields(
      kSharedKvFields,
      tensor_fields<kKv, &KvSpec::k>({"/kv/k", "/kv/k/dtype", "/kv/k/granularity",
                                      "/kv/k/group_size", "/kv/k/symmetric", "/kv/k/scale_dtype"},
                                     "K, where it differs"),
      tensor_fields<kKv, &KvSpec::v>({"/kv/v", "/kv/v/dtype", "/kv/v/granularity",
                                      "/kv/v/group_size", "/kv/v/symmetric", "/kv/v/scale_dtype"},
                                     "V, where it differs"),
      layout_fields<kKv>());
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_SPEC_KV_FIELDS_H_
