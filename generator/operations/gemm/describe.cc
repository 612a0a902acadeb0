// What a gemm computes and the arrays of its launch, for people.
#include <fmt/format.h>

#include <string>

#include "generator/operations/gemm/gemm.h"
#include "generator/spec/byte_meaning.h"
#include "heddle/row_spec.h"

namespace heddle {
namespace {

std::string describe_gemm(const GemmSpec& spec) {
  const EpilogueSpec& epilogue = spec.epilogue;
  std::string sums =
      fmt::format("X[M, {}] * W[{}, {}]^T", spec.shape.k, spec.shape.n, spec.shape.k);
  if (epilogue.bias) sums += " + bias";
  const std::string function = epilogue.activation == Activation::kNone
                                   ? std::string()
                                   : std::string(to_string(epilogue.activation));
  if (epilogue.gated) {
    sums = fmt::format("{}(gates) * ups of {}", function, sums);
  } else if (!function.empty()) {
    sums = fmt::format("{}({})", function, sums);
  }
  return fmt::format(
      "Y[M, {}] = {}{}{}{}", spec.output_columns(), sums, epilogue.residual ? " + residual" : "",
      spec.output ? fmt::format(", in {}", to_string(*spec.output)) : "",
      !spec.has_byte_output()     ? ""
      : finds_output_scales(spec) ? fmt::format(", and {} scales of its groups of {}",
                                                to_string(spec.output_scale.scale_dtype), kRowGroup)
                                  : " by the launch's scale");
}

// Scales of rows of so many columns, column_major: lines of groups, or words of four of them.
std::string scale_lines(RowScaleDtype dtype, std::int64_t columns) {
  const std::int64_t groups = (columns + kRowGroup - 1) / kRowGroup;
  const bool has_words = dtype == RowScaleDtype::kE8m0;
  return fmt::format("{} [{}, M up to a multiple of 4]{}, of {} columns each", to_string(dtype),
                     has_words ? (groups + 3) / 4 : groups, has_words ? " of 4 bytes" : "",
                     kRowGroup);
}

// The arrays of a launch beside weights and workspace: types and shapes.
std::string describe_arrays(const GemmSpec& spec) {
  const ActivationScaleSpec& x = spec.activation_scale;
  std::string text =
      fmt::format("a launch has: x {} [M, {}]", to_string(spec.activation), spec.shape.k);
  if (x.granularity == RowGranularity::kTensor) text += ", x_scales fp32 [1]";
  if (x.granularity == RowGranularity::kToken) text += ", x_scales fp32 [M]";
  if (x.granularity == RowGranularity::kGroup) {
    text += ", x_scales " + scale_lines(x.scale_dtype, spec.shape.k);
  }
  if (!x.symmetric) text += ", x_zero_points int32 [M]";
  if (spec.pre_scale)
    text += fmt::format(", pre_scale {} [{}]", to_string(spec.activation), spec.shape.k);
  if (spec.act_order) text += fmt::format(", permutation int32 [{}]", spec.shape.k);
  if (spec.epilogue.bias)
    text += fmt::format(", bias {} [{}]", to_string(spec.bias_dtype()), spec.shape.n);
  const std::string y = fmt::format("[M, {}]", spec.output_columns());
  if (spec.epilogue.residual)
    text += fmt::format(", residual {} {}", to_string(spec.residual_dtype()), y);
  text += fmt::format(", y {} {}", to_string(spec.output_dtype()), y);
  if (spec.output_scale.granularity == RowGranularity::kTensor) text += ", y_scales fp32 [1]";
  if (finds_output_scales(spec)) {
    text += ", y_scales " + scale_lines(spec.output_scale.scale_dtype, spec.output_columns());
  }
  return text;
}

}  // namespace

std::string describe(const GemmSpec& gemm) {
  return describe_gemm(gemm) + '\n' + describe_arrays(gemm);
}

}  // namespace heddle
