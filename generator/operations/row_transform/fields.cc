// The table of row_transform.
#include <limits>

#include "generator/operations/row_transform/row_transform.h"
#include "generator/spec/common_fields.h"

namespace heddle {
namespace {

constexpr Op kOp = Op::kRowTransform;

constexpr auto kRowShape = std::to_array<Field>({
    shape_field("the sizes of Y"),
    size_field("/shape/columns", 1, kLargestSide,
               slot<&RowTransformSpec::shape, &RowShape::columns>(),
               "columns of Y; with a gate X has twice as many"),
    {.pointer = "/shape/m",
     .kind = FieldKind::kTuple,
     .doc = "smallest and largest number of rows to serve"},
    size_field("/shape/m/0", 1, kLargestM, slot<&RowTransformSpec::shape, &RowShape::m_min>(),
               "smallest M"),
    size_field("/shape/m/1", 1, kLargestM, slot<&RowTransformSpec::shape, &RowShape::m_max>(),
               "largest M"),
});

constexpr auto kRowInput = dtype_fields<&RowTransformSpec::input>(
    "/input", "/input/dtype", "what the operation reads", "type of X, residual, weight and bias");

constexpr auto kRowWork = std::to_array<Field>({
    {.pointer = "/residual",
     .kind = FieldKind::kBool,
     .slot = slot<&RowTransformSpec::residual>(),
     .doc = "the norm is of X + residual, which replaces the residual"},
    {.pointer = "/norm", .kind = FieldKind::kObject, .doc = "normalise each row"},
    {.pointer = "/norm/type",
     .kind = FieldKind::kWord,
     .required = true,
     .words = kNormTypeWords,
     .slot = slot<&RowTransformSpec::norm, &NormSpec::type>(),
     .doc = "rms: RMSNorm; layer: LayerNorm"},
    {.pointer = "/norm/epsilon",
     .kind = FieldKind::kNumber,
     .least = 1e-12,
     .most = 1,
     .slot = slot<&RowTransformSpec::norm, &NormSpec::epsilon>(),
     .doc = "added to the mean square or variance; required by a norm"},
    {.pointer = "/norm/weight_offset",
     .min = 0,
     .max = 1,
     .slot = slot<&RowTransformSpec::norm, &NormSpec::weight_offset>(),
     .doc = "added to each weight; 1 for Gemma"},
    {.pointer = "/norm/bias",
     .kind = FieldKind::kBool,
     .slot = slot<&RowTransformSpec::norm, &NormSpec::bias>(),
     .doc = "layer: add a vector"},
    {.pointer = "/gate", .kind = FieldKind::kObject, .doc = "apply a function to each element"},
    {.pointer = "/gate/order",
     .kind = FieldKind::kWord,
     .words = kGateOrderWords,
     .slot = slot<&RowTransformSpec::gate, &GateSpec::order>(),
     .doc = "where the gate's factor is; halves: the second half of a row; interleaved: every odd "
            "element"},
    {.pointer = "/gate/activation",
     .kind = FieldKind::kWord,
     .words = kActivationWords,
     .slot = slot<&RowTransformSpec::gate, &GateSpec::activation>(),
     .doc = "function of X, or of its gates"},
    {.pointer = "/output", .kind = FieldKind::kObject, .doc = "what the operation writes"},
    {.pointer = "/output/dtype",
     .kind = FieldKind::kWord,
     .words = kRowDtypeWords,
     .default_from = "/input/dtype",
     .slot = slot<&RowTransformSpec::output, &RowOutputSpec::dtype>(),
     .doc = "type of Y; of 16 bits only input.dtype"},
    {.pointer = "/output/granularity",
     .kind = FieldKind::kWord,
     .words = kRowGranularityWords,
     .silent_default = true,
     .slot = slot<&RowTransformSpec::output, &RowOutputSpec::granularity>(),
     .doc = "values that share a scale, required by 8 bits; tensor: all, by a given scale; token: "
            "a row; group: 128 columns of a row"},
    {.pointer = "/output/symmetric",
     .kind = FieldKind::kBool,
     .silent_default = true,
     .slot = slot<&RowTransformSpec::output, &RowOutputSpec::symmetric>(),
     .doc = "false: int8 per token also has a zero point for each row"},
    {.pointer = "/output/scale_dtype",
     .kind = FieldKind::kWord,
     .words = kRowScaleDtypeWords,
     .silent_default = true,
     .slot = slot<&RowTransformSpec::output, &RowOutputSpec::scale_dtype>(),
     .doc = "type of the scales; e8m0: powers of two, rounded up, of fp8 in groups"},
    {.pointer = "/output/scale_layout",
     .kind = FieldKind::kWord,
     .words = kScaleLayoutWords,
     .silent_default = true,
     .slot = slot<&RowTransformSpec::output, &RowOutputSpec::scale_layout>(),
     .doc = "order of the scales of groups; row_major: those of a row together; column_major: "
            "those of a group"},
    {.pointer = "/output/pre_scale",
     .kind = FieldKind::kBool,
     .silent_default = true,
     .slot = slot<&RowTransformSpec::output, &RowOutputSpec::pre_scale>(),
     .doc = "multiply each column by its own factor before it is rounded to 8 bits (SmoothQuant)"},
});

constexpr auto kRowTransformFields =
    join_fields(header_fields<kOp>("a norm of each row, or an activation and a gate; 16 or 8 bits"),
                kRowShape, kRowInput, kRowWork);

}  // namespace

const FieldTable& row_transform_fields() {
  static const RowTransformSpec defaults;
  static const FieldTable table{kOp, kRowTransformFields, &defaults};
  return table;
}

}  // namespace heddle
