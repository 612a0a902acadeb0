#include <cstdint>

#include "bindings.h"
#include "heddle/operations.h"
#include "kernels.h"

namespace heddle::python {
namespace {

Launch check_gemm(const GemmKernel& kernel, nb::handle x, nb::handle weights, nb::handle y,
                  nb::handle bias, nb::handle residual, nb::handle pre_scale,
                  nb::handle permutation, nb::handle workspace, nb::handle x_scales,
                  nb::handle x_zero_points, Number x_scale_stride, nb::handle y_scales, Number m) {
  const GemmSpec& spec = kernel.plan().spec.gemm();
  const auto [n, k] = std::pair(spec.shape.n, spec.shape.k);
  const Element in = element_of(spec.activation);
  const Element out = element_of(spec.output_dtype());
  Arguments arguments(kernel.kernel());
  GemmArgs args;
  args.m = arguments.size_of(x, "x", m, "m");
  const std::int64_t columns = spec.output_columns();
  args.x = arguments.dense(x, {"x", in, {args.m, k}});
  args.weights = arguments.dense(
      weights,
      {"weights", Element::kByte, {static_cast<std::int64_t>(kernel.plan().layout.total_bytes)}});
  args.y = arguments.dense(y, {"y", out, {args.m, columns}, true, true});
  args.bias =
      arguments.dense(bias, {"bias", element_of(spec.bias_dtype()), {n}, spec.epilogue.bias});
  args.residual = arguments.dense(
      residual,
      {"residual", element_of(spec.residual_dtype()), {args.m, columns}, spec.epilogue.residual});
  args.pre_scale = arguments.dense(pre_scale, {"pre_scale", in, {k}, spec.pre_scale});
  args.permutation =
      arguments.dense(permutation, {"permutation", Element::kInt32, {k}, spec.act_order});
  args.x_scale_stride = x_scale_stride.value_or(0);
  if (spec.activation_scale.granularity == RowGranularity::kGroup) {
    const bool fp32 = spec.activation_scale.scale_dtype == RowScaleDtype::kFp32;
    args.x_scales =
        arguments.memory(x_scales, "x_scales", fp32 ? Element::kFp32 : Element::kAny, false);
  } else {
    const bool of_tokens = spec.activation_scale.granularity == RowGranularity::kToken;
    args.x_scales = arguments.dense(x_scales, {"x_scales",
                                               Element::kFp32,
                                               {of_tokens ? args.m : 1},
                                               spec.has_byte_activations(),
                                               false,
                                               sizeof(float)});
  }
  args.x_zero_points = arguments.dense(x_zero_points, {"x_zero_points",
                                                       Element::kInt32,
                                                       {args.m},
                                                       !spec.activation_scale.symmetric,
                                                       false,
                                                       sizeof(std::int32_t)});
  if (spec.output_scale.granularity == RowGranularity::kGroup) {
    const bool fp32 = spec.output_scale.scale_dtype == RowScaleDtype::kFp32;
    args.y_scales =
        arguments.memory(y_scales, "y_scales", fp32 ? Element::kFp32 : Element::kAny, true);
  } else {
    args.y_scales = arguments.dense(
        y_scales, {"y_scales", Element::kFp32, {1}, spec.has_byte_output(), false, sizeof(float)});
  }
  args.workspace = arguments.memory(workspace, "workspace", Element::kAny, true);
  return make_launch(kernel, args, &arguments);
}

}  // namespace

void bind_gemm(nb::module_& m) {
  auto type = bind_handle<GemmKernel>(
      m, "GemmKernel", "Y[M, N] = X[M, K] * W[N, K]^T with quantised W, and what its spec adds.");
  type.def("workspace_bytes", &GemmKernel::workspace_bytes, nb::arg("m"),
           "Bytes that a launch with M needs. Raises UsageError outside of shape.m.");
  add_launches(
      type, &check_gemm,
      "x: object, weights: object, y: object, bias: object = None, residual: object = None, "
      "pre_scale: object = None, permutation: object = None, workspace: object = None, x_scales: "
      "object = None, x_zero_points: object = None, x_scale_stride: int | None = None, "
      "y_scales: object = None, m: int | None = None",
      "Checks the arguments of a launch. Every array is dense and aligned to 16 bytes, "
      "x_scales, unless they are of groups, x_zero_points and y_scales to 4.\n\n"
      "x: [M, K] of activation.dtype. weights: [bytes] uint8, from pack_weights() or a checkpoint. "
      "y: [M, N], with a gated epilogue [M, N / 2], of output.dtype. bias: [N] of "
      "activation.dtype, with activations of 8 bits of output.dtype, where both have 8 bits "
      "float32. "
      "residual: as y; it may be y; where y has 8 bits of bias's type. pre_scale: [K] of "
      "activation.dtype. permutation: [K] int32. "
      "workspace: zeroed memory of workspace_bytes(m). x_scales: float32, [M] or, of granularity "
      "tensor, [1], or, of groups, as row_transform writes them column_major, lines x_scale_stride "
      "apart, without it dense; x_zero_points: [M] int32; of activations of 8 bits. y_scales, of "
      "y of 8 bits: float32, [1], read, or, of groups, written as x_scales are read, dense. m: "
      "only where x is a DeviceMemory.",
      nb::arg("x").none(), nb::arg("weights").none(), nb::arg("y").none(),
      nb::arg("bias") = nb::none(), nb::arg("residual") = nb::none(),
      nb::arg("pre_scale") = nb::none(), nb::arg("permutation") = nb::none(),
      nb::arg("workspace") = nb::none(), nb::arg("x_scales") = nb::none(),
      nb::arg("x_zero_points") = nb::none(), nb::arg("x_scale_stride") = nb::none(),
      nb::arg("y_scales") = nb::none(), nb::arg("m") = nb::none());
}

}  // namespace heddle::python
