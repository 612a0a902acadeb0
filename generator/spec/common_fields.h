// What the tables of several operations share.
#ifndef HEDDLE_GENERATOR_SPEC_COMMON_FIELDS_H_
#define HEDDLE_GENERATOR_SPEC_COMMON_FIELDS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "generator/spec/fields.h"
#include "generator/spec/weight_meaning.h"
#include "generator/spec/words.h"

namespace heddle {

inline constexpr std::int64_t kLargestSide = 1 << 20;
inline constexpr std::int64_t kLargestM = std::numeric_limits<std::int32_t>::max();
inline constexpr std::int64_t kSpecialGroups[] = {kPerChannel, kPerTensor};
inline constexpr std::int64_t kAlsoGroupRows[] = {kBlockRows};
inline constexpr int kMostFields = 32;  // codes of one bit in a word

inline constexpr int kPlainWeightBits = 16;
inline constexpr std::int64_t kAlsoBits[] = {kPlainWeightBits};
// Weights that were not quantised: what there is of scales has no field then.
inline constexpr std::string_view kTypesWithoutScales[] = {"fp16", "bf16"};
// Scales in two levels: those of groups are integers.
inline constexpr std::string_view kTypesOfChannelScales[] = {"fp16", "bf16", "fp32"};

// A pointer as a template argument.
template <std::size_t kSize>
struct Pointer {
  char text[kSize] = {};

  constexpr Pointer(const char (&literal)[kSize]) {  // NOLINT(google-explicit-constructor)
    for (std::size_t i = 0; i < kSize; ++i) text[i] = literal[i];
  }
};

// The pointer of a member of the object `kObject`, "/weight" and "/bits", as static text.
template <Pointer kObject, Pointer kMember>
class MemberPointer {
  static constexpr std::size_t kObjectSize = sizeof(kObject.text) - 1;
  static constexpr std::size_t kSize = kObjectSize + sizeof(kMember.text) - 1;
  static constexpr std::array<char, kSize> kText = [] {
    std::array<char, kSize> text{};
    for (std::size_t i = 0; i < kSize; ++i) {
      text[i] = i < kObjectSize ? kObject.text[i] : kMember.text[i - kObjectSize];
    }
    return text;
  }();

 public:
  static constexpr std::string_view value{kText.data(), kText.size()};
};

// Conditions on the members of an object that has weights.
template <Pointer kObject>
inline constexpr Condition kWithoutScales{MemberPointer<kObject, "/type">::value,
                                          kTypesWithoutScales};
template <Pointer kObject>
inline constexpr Condition kInTwoLevels{MemberPointer<kObject, "/channel_scale">::value,
                                        kTypesOfChannelScales};

// One array of all the parts' fields.
template <std::size_t... kSizes>
constexpr auto join_fields(const std::array<Field, kSizes>&... parts) {
  std::array<Field, (kSizes + ...)> all{};
  std::size_t at = 0;
  const auto append = [&](const auto& part) {
    for (const Field& field : part) all[at++] = field;
  };
  (append(parts), ...);
  return all;
}

// The version, the operation and the label.
template <Op kOp>
constexpr std::array<Field, 3> header_fields(std::string_view op_doc) {
  return {{{.pointer = "/heddle",
            .required = true,
            .min = kSpecVersion,
            .max = kSpecVersion,
            .slot = fixed_slot<kSpecVersion>(),
            .doc = "version of the spec language"},
           {.pointer = "/op",
            .kind = FieldKind::kWord,
            .required = true,
            .is_operation = true,
            .slot = fixed_slot<static_cast<std::int64_t>(kOp)>(),
            .doc = op_doc},
           {.pointer = "/name",
            .kind = FieldKind::kLabel,
            .min = 1,
            .max = 64,
            .doc = "label in tables and messages"}}};
}

constexpr Field shape_field(std::string_view doc) {
  return {.pointer = "/shape", .kind = FieldKind::kObject, .required = true, .doc = doc};
}

// A size that has no default, a multiple of `least`.
constexpr Field size_field(std::string_view pointer, std::int64_t least, std::int64_t most,
                           Slot slot, std::string_view doc) {
  return {.pointer = pointer,
          .required = true,
          .min = least,
          .max = most,
          .multiple = least,
          .slot = slot,
          .doc = doc};
}

// An object that names the 16-bit type kDType of what is read or written.
template <auto kDType>
constexpr std::array<Field, 2> dtype_fields(std::string_view object, std::string_view dtype,
                                            std::string_view object_doc,
                                            std::string_view dtype_doc) {
  return {{{.pointer = object, .kind = FieldKind::kObject, .required = true, .doc = object_doc},
           {.pointer = dtype,
            .kind = FieldKind::kWord,
            .required = true,
            .words = kActivationDTypeWords,
            .slot = slot<kDType>(),
            .doc = dtype_doc}}};
}

template <auto kDType>
constexpr std::array<Field, 2> activation_fields(std::string_view dtype_doc) {
  return dtype_fields<kDType>("/activation", "/activation/dtype",
                              "the 16-bit side of the operation", dtype_doc);
}

// Members of an EpilogueSpec; kEpilogue: the member of the operation's struct.
template <auto kEpilogue>
constexpr Field activation_function_field() {
  return {.pointer = "/epilogue/activation",
          .kind = FieldKind::kWord,
          .words = kActivationWords,
          .slot = slot<kEpilogue, &EpilogueSpec::activation>(),
          .doc =
              "function applied after the bias; relu2: relu squared; clamped_swiglu: gpt-oss's; "
              "situ: Kimi K3's"};
}
inline constexpr std::int64_t kNoLimit[] = {0};
inline constexpr int kLargestLimit = 65536;
template <auto kEpilogue>
constexpr Field limit_field() {
  return {
      .pointer = "/epilogue/limit",
      .min = 1,
      .max = kLargestLimit,
      .also = kNoLimit,
      .silent_default = true,
      .slot = slot<kEpilogue, &EpilogueSpec::limit>(),
      .doc =
          "bound of gates and ups: required by clamped_swiglu; gated silu and situ may have one"};
}
template <auto kEpilogue>
constexpr Field gate_limit_field() {
  return {.pointer = "/epilogue/gate_limit",
          .min = 1,
          .max = kLargestLimit,
          .also = kNoLimit,
          .silent_default = true,
          .slot = slot<kEpilogue, &EpilogueSpec::gate_limit>(),
          .doc = "situ, which requires it: bound of gates"};
}

// Whether a token's outputs depend on the launch's other tokens; kBatchInvariant: the member.
template <auto kBatchInvariant>
constexpr std::array<Field, 1> batch_invariant_fields() {
  return {{{.pointer = "/batch_invariant",
            .kind = FieldKind::kBool,
            .silent_default = true,
            .slot = slot<kBatchInvariant>(),
            .doc = "a token has the same bits of Y whatever other tokens a launch has"}}};
}

// The object at `kObject`, "/weight", which is the member kWeight of the operation's struct, or a
// member of a member. `scale_default`: the field whose type the scales have where none is given.
template <Pointer kObject, auto... kWeight>
constexpr std::array<Field, 12> weight_fields(
    std::string_view scale_default, std::string_view doc = "how W is quantised and stored") {
  return {
      {{.pointer = MemberPointer<kObject, "">::value,
        .kind = FieldKind::kObject,
        .required = true,
        .doc = doc},
       {.pointer = MemberPointer<kObject, "/bits">::value,
        .required = true,
        .min = 1,
        .max = 8,
        .also = kAlsoBits,
        .implied_where = &kWithoutScales<kObject>,
        .implied = kPlainWeightBits,
        .slot = slot<kWeight..., &WeightSpec::bits>(),
        .doc = "bits of one code; 16 with fp16 and bf16, where it may be left out"},
       {.pointer = MemberPointer<kObject, "/type">::value,
        .kind = FieldKind::kWord,
        .words = kWeightTypeWords,
        .slot = slot<kWeight..., &WeightSpec::type>(),
        .doc = "uint: unsigned codes; int: two's complement; eXmY: floats with X exponent and Y "
               "mantissa bits; nf4: a table of 16 values; fp16, bf16: not quantised"},
       {.pointer = MemberPointer<kObject, "/group_size">::value,
        .min = kGroupStep,
        .max = kLargestSide,
        .multiple = kGroupStep,
        .also = kSpecialGroups,
        .no_field_where = &kWithoutScales<kObject>,
        .slot = slot<kWeight..., &WeightSpec::group_size>(),
        .doc =
            "weights along K that share a scale; -1: one scale per row of W; 0: one for all of W"},
       {.pointer = MemberPointer<kObject, "/group_offset">::value,
        .min = 0,
        .max = kLargestSide - kGroupStep,
        .multiple = kGroupStep,
        .silent_default = true,
        .no_field_where = &kWithoutScales<kObject>,
        .slot = slot<kWeight..., &WeightSpec::group_offset>(),
        .doc = "column of the first group at which W, a shard of a larger matrix, begins"},
       {.pointer = MemberPointer<kObject, "/group_rows">::value,
        .min = 1,
        .max = 1,
        .also = kAlsoGroupRows,
        .silent_default = true,
        .no_field_where = &kWithoutScales<kObject>,
        .slot = slot<kWeight..., &WeightSpec::group_rows>(),
        .doc = "rows of W that share a scale; 128 of blocks, whose group_size is 128"},
       {.pointer = MemberPointer<kObject, "/zero_point">::value,
        .kind = FieldKind::kWord,
        .words = kZeroPointWords,
        .no_field_where = &kWithoutScales<kObject>,
        .slot = slot<kWeight..., &WeightSpec::zero_point>(),
        .doc = "per scale; int: a code; float: a number of scale_dtype"},
       {.pointer = MemberPointer<kObject, "/scale_dtype">::value,
        .kind = FieldKind::kWord,
        .words = kWeightScaleDTypeWords,
        .default_from = scale_default,
        .default_otherwise = static_cast<std::int64_t>(DType::kFp32),
        .no_default = "int8",
        .no_field_where = &kWithoutScales<kObject>,
        .implied_where = &kInTwoLevels<kObject>,
        .implied = static_cast<std::int64_t>(DType::kInt8),
        .slot = slot<kWeight..., &WeightSpec::scale_dtype>(),
        .doc = "type of the stored scales; e8m0: powers of two; int8: with channel_scale, by "
               "default"},
       {.pointer = MemberPointer<kObject, "/channel_scale">::value,
        .kind = FieldKind::kWord,
        .words = kChannelScaleWords,
        .silent_default = true,
        .no_field_where = &kWithoutScales<kObject>,
        .slot = optional_type_slot<kWeight..., &WeightSpec::channel_scale>(),
        .doc = "type of a second scale, of each row, over group scales of 1 to 127"},
       {.pointer = MemberPointer<kObject, "/tensor_scale">::value,
        .kind = FieldKind::kBool,
        .no_field_where = &kWithoutScales<kObject>,
        .slot = slot<kWeight..., &WeightSpec::tensor_scale>(),
        .doc = "an FP32 factor for all of W (NVFP4)"},
       {.pointer = MemberPointer<kObject, "/interleave">::value,
        .kind = FieldKind::kWord,
        .words = kInterleaveWords,
        .slot = slot<kWeight..., &WeightSpec::interleave>(),
        .doc = "order of the packed codes; fragment: that of the matrix instruction, with "
               "activations of 8 bits swizzle_128b or, of 4 bits, byte_fragment"},
       {.pointer = MemberPointer<kObject, "/permutation">::value,
        .kind = FieldKind::kList,
        .max = kMostFields - 1,
        .list = list_slot<kWeight..., &WeightSpec::permutation>(),
        .doc = "with interleave permutation: field i of a word holds element permutation[i]"}}};
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_SPEC_COMMON_FIELDS_H_
