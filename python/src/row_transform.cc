#include "heddle/row_transform.h"

#include <cstdint>
#include <optional>

#include "bindings.h"
#include "kernels.h"

namespace heddle::python {
namespace {

using Number = std::optional<std::int64_t>;

Launch check(const RowTransformKernel& kernel, nb::handle x, nb::handle y, nb::handle residual,
             nb::handle weight, nb::handle bias, Number m, Number x_stride, Number y_stride) {
  const RowTransformSpec& spec = kernel.plan().spec.row_transform();
  const std::int64_t columns = spec.shape.columns;
  const Element in = element_of(spec.input);
  const bool has_norm = spec.norm.type != NormType::kNone;
  Arguments arguments(kernel.kernel());
  RowTransformArgs args;
  args.m = arguments.size_of(x, "x", m, "m");
  args.x = arguments.rows(x, {"x", in, {args.m, spec.x_columns()}}, x_stride, &args.x_stride);
  args.y = arguments.rows(y, {"y", element_of(spec.output), {args.m, columns}, true, true},
                          y_stride, &args.y_stride);
  args.residual =
      arguments.dense(residual, {"residual", in, {args.m, columns}, spec.residual, true});
  args.weight = arguments.dense(weight, {"weight", in, {columns}, has_norm});
  args.bias = arguments.dense(bias, {"bias", in, {columns}, spec.norm.bias});
  return make_launch(kernel, args, &arguments);
}

}  // namespace

void bind_row_transform(nb::module_& m) {
  auto type = bind_handle<RowTransformKernel>(m, "RowTransformKernel",
                                              "A norm, an activation or a gate on rows.");
  add_launches(
      type, &check,
      "x: object, y: object, residual: object = None, weight: object = None, bias: object = None, "
      "m: int | None = None, x_stride: int | None = None, y_stride: int | None = None",
      "Checks the arguments of a launch. Memory is aligned to 16 bytes.\n\n"
      "x: [M, columns], with a gate [M, 2 * columns], of input.dtype. y: [M, columns] of "
      "output.dtype; it may be x. Rows of both may be parts of wider ones. residual: [M, columns], "
      "read and replaced by X + residual. weight, bias: [columns]. m, x_stride, y_stride "
      "(elements): only of a DeviceMemory.",
      nb::arg("x").none(), nb::arg("y").none(), nb::arg("residual") = nb::none(),
      nb::arg("weight") = nb::none(), nb::arg("bias") = nb::none(), nb::arg("m") = nb::none(),
      nb::arg("x_stride") = nb::none(), nb::arg("y_stride") = nb::none());
}

}  // namespace heddle::python
