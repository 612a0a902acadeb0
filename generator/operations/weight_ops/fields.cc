// The tables of the operations that read or make packed weights.
#include "generator/operations/weight_ops/weight_ops.h"
#include "generator/spec/common_fields.h"

namespace heddle {
namespace {

constexpr auto kMatrixShape = std::to_array<Field>(
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
      .doc = "heddle: packed weights; else a checkpoint's tensors"},
     {.pointer = "/source/act_order",
      .kind = FieldKind::kBool,
      .slot = slot<&WeightOpSpec::act_order>(),
      .doc = "the columns' groups are out of order (GPTQ's g_idx)"}});

constexpr auto kMatrixOutput = dtype_fields<&WeightOpSpec::dtype>(
    "/output", "/output/dtype", "what the operation writes", "type of W[N,K], row-major");
constexpr auto kMatrixInput = dtype_fields<&WeightOpSpec::dtype>(
    "/input", "/input/dtype", "what the operation reads", "type of W[N,K], row-major");

// It is the field of a gemm: packed weights have the order that this gemm reads.
constexpr auto kEpilogueFields =
    std::to_array<Field>({{.pointer = "/epilogue",
                           .kind = FieldKind::kObject,
                           .doc = "that of the gemm that the packed weights are for"},
                          {.pointer = "/epilogue/gated",
                           .kind = FieldKind::kBool,
                           .silent_default = true,
                           .slot = slot<&WeightOpSpec::gated>(),
                           .doc = "the packed weights are for a gemm with epilogue.gated"}});

constexpr auto kDequantizeFields =
    join_fields(header_fields<Op::kDequantize>(
                    "packed weights or a checkpoint's tensors to W[N,K] in FP16 or BF16"),
                kMatrixShape, weight_fields<"/weight", &WeightOpSpec::weight>("/output/dtype"),
                kSourceFields, kMatrixOutput, kEpilogueFields);

constexpr auto kRepackFields = join_fields(
    header_fields<Op::kRepack>("a checkpoint's tensors to packed weights"), kMatrixShape,
    weight_fields<"/weight", &WeightOpSpec::weight>(""), kSourceFields, kEpilogueFields);

constexpr auto kQuantizeWeightFields = join_fields(
    header_fields<Op::kQuantizeWeight>("W[N,K] in FP16 or BF16 to packed weights"), kMatrixShape,
    weight_fields<"/weight", &WeightOpSpec::weight>("/input/dtype"), kMatrixInput, kEpilogueFields);

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
