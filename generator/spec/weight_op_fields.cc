// The tables of the operations that read or make packed weights.
#include "generator/spec/common_fields.h"

namespace heddle {
namespace {

constexpr auto kShapeFields = std::to_array<Field>(
    {shape_field("the sizes of W"),
     size_field("/shape/n", 1, kLargestSide, slot<&WeightOpSpec::shape, &MatrixShape::n>(),
                "rows of W"),
     size_field("/shape/k", 1, kLargestSide, slot<&WeightOpSpec::shape, &MatrixShape::k>(),
                "columns of W")});

constexpr auto kSourceFields = std::to_array<Field>(
    {{.pointer = "/source", .kind = FieldKind::kObject, .doc = "what the operation reads"},
     {.pointer = "/source/format",
      .kind = FieldKind::kWord,
      .words = kCheckpointFormatWords,
      .slot = slot<&WeightOpSpec::format>(),
      .doc = "heddle: packed weights; awq, gptq, gptq_v2: a checkpoint's tensors"},
     {.pointer = "/source/act_order",
      .kind = FieldKind::kBool,
      .slot = slot<&WeightOpSpec::act_order>(),
      .doc = "the checkpoint's columns are of groups out of order (GPTQ's g_idx)"}});

constexpr auto kOutputFields = dtype_fields<&WeightOpSpec::dtype>(
    "/output", "/output/dtype", "what the operation writes", "type of W[N,K], row-major");
constexpr auto kInputFields = dtype_fields<&WeightOpSpec::dtype>(
    "/input", "/input/dtype", "what the operation reads", "type of W[N,K], row-major");

// The same field as a gemm's: packed weights have the order that this gemm reads.
constexpr auto kEpilogueFields = std::to_array<Field>(
    {{.pointer = "/epilogue",
      .kind = FieldKind::kObject,
      .doc = "that of the gemm that the packed weights are for"},
     {.pointer = "/epilogue/gated",
      .kind = FieldKind::kBool,
      .silent_default = true,
      .slot = slot<&WeightOpSpec::gated>(),
      .doc = "packed weights have 8 rows of W's first half, gates, and their 8 of the second in "
             "each row block"}});

constexpr auto kDequantizeFields =
    join_fields(header_fields<Op::kDequantize>("the operation: packed codes to W[N,K]"),
                kShapeFields, weight_fields<&WeightOpSpec::weight>("/output/dtype"), kSourceFields,
                kOutputFields, kEpilogueFields);

constexpr auto kRepackFields = join_fields(
    header_fields<Op::kRepack>("the operation: a checkpoint's tensors to Heddle's "
                               "packed weights"),
    kShapeFields, weight_fields<&WeightOpSpec::weight>(""), kSourceFields, kEpilogueFields);

constexpr auto kQuantizeWeightFields =
    join_fields(header_fields<Op::kQuantizeWeight>("the operation: W[N,K] to packed weights, each "
                                                   "code the nearest"),
                kShapeFields, weight_fields<&WeightOpSpec::weight>("/input/dtype"), kInputFields,
                kEpilogueFields);

const WeightOpSpec& defaults() {
  static const WeightOpSpec spec;
  return spec;
}

}  // namespace

const FieldTable& dequantize_fields() {
  static const FieldTable table{Op::kDequantize, kDequantizeFields, &defaults()};
  return table;
}

const FieldTable& repack_fields() {
  static const FieldTable table{Op::kRepack, kRepackFields, &defaults()};
  return table;
}

const FieldTable& quantize_weight_fields() {
  static const FieldTable table{Op::kQuantizeWeight, kQuantizeWeightFields, &defaults()};
  return table;
}

}  // namespace heddle
