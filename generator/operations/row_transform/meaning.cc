// The rules between the fields of row_transform.
#include <string>
#include <utility>

#include "generator/operations/row_transform/row_transform.h"
#include "generator/spec/in_quotes.h"

namespace heddle {
namespace {

using Problems = std::vector<Problem>;

constexpr int kStepColumns = 8;  // 16 bytes of 16-bit values

void check_shape(const RowShape& shape, Problems& problems) {
  if (shape.columns % kStepColumns != 0) {
    problems.push_back({"/shape/columns", "rows are read and written 16 bytes at a time",
                        std::to_string(shape.columns), "multiples of 8", ""});
  }
  if (shape.m_min > shape.m_max) {
    problems.push_back(
        {"/shape/m", "the smallest M is larger than the largest",
         '[' + std::to_string(shape.m_min) + ", " + std::to_string(shape.m_max) + ']',
         "[smallest, largest]", ""});
  }
}

// What has no effect without a norm.
void check_no_norm(const RowTransformSpec& spec, Problems& problems) {
  const auto refuse = [&](bool given, const char* pointer, const char* value, const char* allowed) {
    if (given) problems.push_back({pointer, "the spec has no norm", value, allowed, ""});
  };
  refuse(spec.residual, "/residual", "true", "false, or a norm");
  refuse(spec.norm.epsilon.has_value(), "/norm/epsilon", "a number", "none");
  refuse(spec.norm.weight_offset != 0, "/norm/weight_offset", "1", "0");
  refuse(spec.norm.bias, "/norm/bias", "true", "false");
}

void check_norm(const NormSpec& norm, Problems& problems) {
  if (!norm.epsilon) {
    problems.push_back({"/norm/epsilon", "a norm needs an epsilon, and models differ in it", "",
                        "numbers from 1e-12 to 1", ""});
  }
  if (norm.bias && norm.type != NormType::kLayer) {
    problems.push_back({"/norm/bias", "only the norm \"layer\" has a bias", "true", "false", ""});
  }
}

void check_work(const RowTransformSpec& spec, Problems& problems) {
  const bool norm = spec.norm.type != NormType::kNone;
  const bool gate =
      spec.gate.order != GateOrder::kNone || spec.gate.activation != Activation::kNone;
  if (norm && gate) {
    problems.push_back({"/gate", "no kernel normalises and gates", "", "a norm or a gate", ""});
  }
  if (spec.gate.activation == Activation::kClampedSwiglu ||
      spec.gate.activation == Activation::kSitu) {
    problems.push_back({"/gate/activation", "only a gemm's gated epilogue has this function",
                        '"' + std::string(to_string(spec.gate.activation)) + '"',
                        "any other activation", ""});
  }
  if (!norm && !gate && !spec.output.is_quantized()) {
    problems.push_back({"", "the spec asks for nothing", "",
                        "a norm, a gate, an activation or an output of 8 bits", ""});
  }
  if (norm) {
    check_norm(spec.norm, problems);
  } else {
    check_no_norm(spec, problems);
  }
}

// What has no effect on 16 bits.
void check_16_bits(const RowTransformSpec& spec, Problems& problems) {
  const RowOutputSpec& output = spec.output;
  if (output.dtype != row_dtype(spec.input)) {
    problems.push_back(
        {"/output/dtype", "no kernel writes other 16 bits than it reads",
         in_quotes(to_string(output.dtype)),
         in_quotes(to_string(spec.input)) + ", \"int8\", \"fp8_e4m3\" or \"fp8_e5m2\"", ""});
  }
  const auto refuse = [&](bool given, const char* pointer, std::string value, const char* allowed) {
    if (!given) return;
    problems.push_back(
        {pointer, "an output of 16 bits is not quantised", std::move(value), allowed, ""});
  };
  refuse(output.granularity != RowGranularity::kNone, "/output/granularity",
         in_quotes(to_string(output.granularity)), "\"none\"");
  refuse(!output.symmetric, "/output/symmetric", "false", "true");
  refuse(output.scale_dtype != RowScaleDtype::kFp32, "/output/scale_dtype",
         in_quotes(to_string(output.scale_dtype)), "\"fp32\"");
  refuse(output.scale_layout != ScaleLayout::kRowMajor, "/output/scale_layout",
         in_quotes(to_string(output.scale_layout)), "\"row_major\"");
  refuse(output.pre_scale, "/output/pre_scale", "true", "false");
}

void check_8_bits(const RowOutputSpec& output, Problems& problems) {
  const bool integer = output.dtype == RowDtype::kInt8;
  const bool groups = output.granularity == RowGranularity::kGroup;
  const std::string granularity = in_quotes(to_string(output.granularity));
  if (output.granularity == RowGranularity::kNone) {
    problems.push_back({"/output/granularity", "an output of 8 bits needs scales", granularity,
                        "\"tensor\", \"token\" or \"group\"", ""});
    return;
  }
  if (!output.symmetric && !integer) {
    problems.push_back({"/output/symmetric", "FP8 has no zero points", "false", "true", ""});
  } else if (!output.symmetric && output.granularity != RowGranularity::kToken) {
    problems.push_back({"/output/symmetric", "zero points are made per token only", "false",
                        "true, or granularity \"token\"", ""});
  }
  if (output.scale_dtype == RowScaleDtype::kE8m0 && integer) {
    problems.push_back(
        {"/output/scale_dtype", "no GEMM takes int8 by powers of two", "\"e8m0\"", "\"fp32\"", ""});
  } else if (output.scale_dtype == RowScaleDtype::kE8m0 && !groups) {
    problems.push_back({"/output/scale_dtype", "powers of two are made for groups only", "\"e8m0\"",
                        "\"fp32\", or granularity \"group\"", ""});
  }
  if (output.scale_layout == ScaleLayout::kColumnMajor && !groups) {
    problems.push_back({"/output/scale_layout", "only groups have a matrix of scales",
                        "\"column_major\"", "\"row_major\", or granularity \"group\"", ""});
  }
}

}  // namespace

std::vector<Problem> check_meaning(const RowTransformSpec& spec) {
  Problems problems;
  check_shape(spec.shape, problems);
  check_work(spec, problems);
  if (spec.output.is_quantized()) {
    check_8_bits(spec.output, problems);
  } else {
    check_16_bits(spec, problems);
  }
  return problems;
}

}  // namespace heddle
