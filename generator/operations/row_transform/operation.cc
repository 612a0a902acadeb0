// row_transform as an Operation.
#include "generator/operations/operation.h"

#include <fmt/format.h>

#include <string>

#include "generator/operations/row_transform/row_transform.h"
#include "generator/spec/words.h"
#include "heddle/gemm_spec.h"
#include "row_transform/parameters.h"

namespace heddle {
namespace {

// Where Y has 8 bits.
std::string describe_scales(const RowOutputSpec& output) {
  if (!output.is_quantized()) return {};
  std::string text =
      fmt::format("; Y {}in {}", output.pre_scale ? "by factors of its columns, " : "",
                  to_string(output.dtype));
  switch (output.granularity) {
    case RowGranularity::kNone:
      break;
    case RowGranularity::kTensor:
      return text + " by a given scale";
    case RowGranularity::kToken:
      text += ", a scale";
      if (!output.symmetric) text += " and a zero point";
      return text + " for each row";
    case RowGranularity::kGroup:
      return text + fmt::format(", a scale in {} for each {} columns of a row, {}",
                                to_string(output.scale_dtype), kRowGroup,
                                to_string(output.scale_layout));
  }
  return text;
}

std::string describe_work(const RowTransformSpec& spec) {
  const std::string y = fmt::format("Y[M, {}] = ", spec.shape.columns);
  const std::string in = fmt::format(" in {}", to_string(spec.input));
  if (spec.norm.type != NormType::kNone) {
    const char* of = spec.residual ? "(X + residual), which replaces the residual," : "(X)";
    return fmt::format("{}{} norm{}{}", y, to_string(spec.norm.type), of, in);
  }
  const std::string_view activation =
      spec.gate.activation == Activation::kNone ? "" : to_string(spec.gate.activation);
  if (spec.gate.order == GateOrder::kNone && activation.empty()) return y + 'X' + in;
  if (spec.gate.order == GateOrder::kNone) return fmt::format("{}{}(X){}", y, activation, in);
  return fmt::format("{}{}(gates) * the others of X[M, {}], {},{}", y, activation, spec.x_columns(),
                     to_string(spec.gate.order), in);
}

class RowTransform final : public OperationOn<RowTransformSpec> {
 public:
  const FieldTable& fields() const override { return row_transform_fields(); }
  void generalise(void* fields) const override {
    of(fields).shape.m_min = 1;
    of(fields).shape.m_max = kDefaultMaxM;
  }
  std::vector<Problem> problems(const void* fields) const override {
    return check_meaning(of(fields));
  }
  OutputUse output(const void* fields) const override {
    return {to_string(of(fields).output.dtype), "", of(fields).shape.columns};
  }
  SizeKind size_kind() const noexcept override { return SizeKind::kRows; }
  MRange sizes(const void* fields) const override {
    return {of(fields).shape.m_min, of(fields).shape.m_max};
  }
  void set_sizes(void* fields, const MRange& m) const override {
    of(fields).shape.m_min = m.min;
    of(fields).shape.m_max = m.max;
  }
  std::size_t parameter_bytes() const noexcept override {
    return sizeof(device::RowTransformParameters);
  }
  std::string describe(const void* fields) const override {
    return describe_work(of(fields)) + describe_scales(of(fields).output);
  }
};

}  // namespace

const Operation& row_transform_operation() {
  static const RowTransform operation;
  return operation;
}

}  // namespace heddle
