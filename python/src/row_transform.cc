#include <cstdint>

#include "bindings.h"
#include "heddle/operations.h"
#include "kernels.h"

namespace heddle::python {
namespace {

Element output_element(RowDtype dtype) {
  switch (dtype) {
    case RowDtype::kFp16:
      return Element::kFp16;
    case RowDtype::kBf16:
      return Element::kBf16;
    case RowDtype::kInt8:
      return Element::kByte;
    case RowDtype::kFp8E4m3:
      return Element::kE4m3;
    case RowDtype::kFp8E5m2:
      break;
  }
  return Element::kE5m2;
}

// What a Y of 8 bits has beside its codes. Scales of groups have no one shape: the kernel checks
// their bytes.
void check_scales(const RowTransformSpec& spec, nb::handle tensor_scale, nb::handle scales,
                  nb::handle zero_points, Arguments* arguments, RowTransformArgs* args) {
  const RowOutputSpec& output = spec.output;
  const bool by_tensor = output.granularity == RowGranularity::kTensor;
  const bool by_token = output.granularity == RowGranularity::kToken;
  args->tensor_scale = arguments->dense(
      tensor_scale, {"tensor_scale", Element::kFp32, {1}, by_tensor, false, sizeof(float)});
  if (output.granularity == RowGranularity::kGroup) {
    const bool words = output.scale_dtype == RowScaleDtype::kE8m0 &&
                       output.scale_layout == ScaleLayout::kColumnMajor;
    const Element element = words                                        ? Element::kAny
                            : output.scale_dtype == RowScaleDtype::kE8m0 ? Element::kE8m0
                                                                         : Element::kFp32;
    args->scales = arguments->memory(scales, "scales", element, true);
  } else {
    args->scales = arguments->dense(scales, {"scales", Element::kFp32, {args->m}, by_token, true});
  }
  args->zero_points = arguments->dense(
      zero_points, {"zero_points", Element::kInt32, {args->m}, !output.symmetric, true});
}

Launch check_rows(const RowTransformKernel& kernel, nb::handle x, nb::handle y, nb::handle residual,
                  nb::handle weight, nb::handle bias, nb::handle pre_scale, nb::handle tensor_scale,
                  nb::handle scales, nb::handle zero_points, Number m, Number x_stride,
                  Number y_stride, Number scale_stride) {
  const RowTransformSpec& spec = kernel.plan().spec.row_transform();
  const std::int64_t columns = spec.shape.columns;
  const Element in = element_of(spec.input);
  const bool has_norm = spec.norm.type != NormType::kNone;
  Arguments arguments(kernel.kernel());
  RowTransformArgs args;
  args.m = arguments.size_of(x, "x", m, "m");
  args.x = arguments.rows(x, {"x", in, {args.m, spec.x_columns()}}, x_stride, &args.x_stride);
  args.y =
      arguments.rows(y, {"y", output_element(spec.output.dtype), {args.m, columns}, true, true},
                     y_stride, &args.y_stride);
  args.residual =
      arguments.dense(residual, {"residual", in, {args.m, columns}, spec.residual, true});
  args.weight = arguments.dense(weight, {"weight", in, {columns}, has_norm});
  args.bias = arguments.dense(bias, {"bias", in, {columns}, spec.norm.bias});
  args.pre_scale = arguments.dense(pre_scale, {"pre_scale", in, {columns}, spec.output.pre_scale});
  args.scale_stride = scale_stride.value_or(0);
  check_scales(spec, tensor_scale, scales, zero_points, &arguments, &args);
  return make_launch(kernel, args, &arguments);
}

}  // namespace

void bind_row_transform(nb::module_& m) {
  auto type = bind_handle<RowTransformKernel>(m, "RowTransformKernel",
                                              "A norm, an activation or a gate on rows.");
  add_launches(
      type, &check_rows,
      "x: object, y: object, residual: object = None, weight: object = None, bias: object = None, "
      "pre_scale: object = None, tensor_scale: object = None, scales: object = None, "
      "zero_points: object = None, m: int | None = None, x_stride: int | None = None, "
      "y_stride: int | None = None, scale_stride: int | None = None",
      "Checks the arguments of a launch. Memory is aligned to 16 bytes.\n\n"
      "x: [M, columns], with a gate [M, 2 * columns], of input.dtype. y: [M, columns] of "
      "output.dtype; it may be x. Rows of both may be parts of wider ones. residual: [M, columns], "
      "read and replaced by X + residual. weight, bias: [columns]. m, x_stride, y_stride "
      "(elements): only of a DeviceMemory.\n\n"
      "Of a y of 8 bits: pre_scale: [columns] of input.dtype. tensor_scale: one float32, read. "
      "scales: written; with granularity token [M] float32, with group the memory of a matrix "
      "whose lines are scale_stride scales apart; without scale_stride they are dense. "
      "zero_points: [M] int32, written.",
      nb::arg("x").none(), nb::arg("y").none(), nb::arg("residual") = nb::none(),
      nb::arg("weight") = nb::none(), nb::arg("bias") = nb::none(),
      nb::arg("pre_scale") = nb::none(), nb::arg("tensor_scale") = nb::none(),
      nb::arg("scales") = nb::none(), nb::arg("zero_points") = nb::none(),
      nb::arg("m") = nb::none(), nb::arg("x_stride") = nb::none(), nb::arg("y_stride") = nb::none(),
      nb::arg("scale_stride") = nb::none());
}

}  // namespace heddle::python
