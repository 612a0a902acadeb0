// The table of row_transform.
#include <limits>

#include "generator/spec/common_fields.h"

namespace heddle {
namespace {

constexpr std::int64_t kLargestM = std::numeric_limits<std::int32_t>::max();

constexpr auto kShapeFields = std::to_array<Field>({
    shape_field("the sizes of Y"),
    size_field("/shape/columns", 1, kLargestSide,
               slot<&RowTransformSpec::shape, &RowShape::columns>(),
               "columns of Y; X has as many, or twice as many with a gate"),
    {.pointer = "/shape/m",
     .kind = FieldKind::kTuple,
     .doc = "smallest and largest number of rows that the kernel must serve"},
    size_field("/shape/m/0", 1, kLargestM, slot<&RowTransformSpec::shape, &RowShape::m_min>(),
               "smallest M"),
    size_field("/shape/m/1", 1, kLargestM, slot<&RowTransformSpec::shape, &RowShape::m_max>(),
               "largest M"),
});

constexpr auto kInputFields =
    dtype_fields<&RowTransformSpec::input>("/input", "/input/dtype", "what the operation reads",
                                           "type of X, the residual, weight and bias");

constexpr auto kWorkFields = std::to_array<Field>({
    {.pointer = "/residual",
     .kind = FieldKind::kBool,
     .slot = slot<&RowTransformSpec::residual>(),
     .doc = "the norm is of X + residual, rounded to the type of X; this sum replaces the "
            "residual"},
    {.pointer = "/norm", .kind = FieldKind::kObject, .doc = "normalise each row"},
    {.pointer = "/norm/type",
     .kind = FieldKind::kWord,
     .required = true,
     .words = kNormTypeWords,
     .slot = slot<&RowTransformSpec::norm, &NormSpec::type>(),
     .doc = "rms: by the root of the mean square; layer: by mean and variance; none: not"},
    {.pointer = "/norm/epsilon",
     .kind = FieldKind::kNumber,
     .least = 1e-12,
     .most = 1,
     .slot = slot<&RowTransformSpec::norm, &NormSpec::epsilon>(),
     .doc = "added to the mean square or the variance; every norm needs one"},
    {.pointer = "/norm/weight_offset",
     .min = 0,
     .max = 1,
     .slot = slot<&RowTransformSpec::norm, &NormSpec::weight_offset>(),
     .doc = "added to each weight: 1 where a checkpoint stores weights less one, as Gemma's do"},
    {.pointer = "/norm/bias",
     .kind = FieldKind::kBool,
     .slot = slot<&RowTransformSpec::norm, &NormSpec::bias>(),
     .doc = "layer: add a vector of as many values as there are columns"},
    {.pointer = "/gate", .kind = FieldKind::kObject, .doc = "apply a function to each element"},
    {.pointer = "/gate/order",
     .kind = FieldKind::kWord,
     .words = kGateOrderWords,
     .slot = slot<&RowTransformSpec::gate, &GateSpec::order>(),
     .doc = "what multiplies the activation: halves: the second half of a row of X; interleaved: "
            "every other element; none: nothing"},
    {.pointer = "/gate/activation",
     .kind = FieldKind::kWord,
     .words = kActivationWords,
     .slot = slot<&RowTransformSpec::gate, &GateSpec::activation>(),
     .doc = "the function of X, or of its gates"},
    {.pointer = "/output", .kind = FieldKind::kObject, .doc = "what the operation writes"},
    {.pointer = "/output/dtype",
     .kind = FieldKind::kWord,
     .words = kDTypeWords,
     .default_from = "/input/dtype",
     .slot = slot<&RowTransformSpec::output>(),
     .doc = "type of Y; so far that of X"},
});

constexpr auto kRowTransformFields = join_fields(
    header_fields<Op::kRowTransform>("the operation: a norm, or an activation and a gate, of rows"),
    kShapeFields, kInputFields, kWorkFields);

}  // namespace

const FieldTable& row_transform_fields() {
  static const RowTransformSpec defaults;
  static const FieldTable table{Op::kRowTransform, kRowTransformFields, &defaults};
  return table;
}

}  // namespace heddle
