#include "generator/operations/gemm/output_meaning.h"

#include <string>
#include <utility>

#include "generator/spec/in_quotes.h"

namespace heddle {
namespace {

void check_no_scale(const OutputScaleSpec& scale, Problems& problems) {
  const auto refuse = [&](const char* pointer, std::string value, const char* allowed) {
    problems.push_back(
        {pointer, "only an output of 8 bits is quantised", std::move(value), allowed, ""});
  };
  if (scale.granularity != RowGranularity::kNone) {
    refuse("/output/granularity", in_quotes(to_string(scale.granularity)), "\"none\"");
  }
  if (scale.scale_dtype != RowScaleDtype::kFp32) {
    refuse("/output/scale_dtype", in_quotes(to_string(scale.scale_dtype)), "\"fp32\"");
  }
}

void check_granularity(RowGranularity granularity, Problems& problems) {
  const auto refuse = [&](const char* why, const char* allowed) {
    problems.push_back(
        {"/output/granularity", why, in_quotes(to_string(granularity)), allowed, ""});
  };
  constexpr const char* kSecondPass =
      "\"tensor\", \"group\", or an output of 16 bits and a row_transform behind the gemm";
  switch (granularity) {
    case RowGranularity::kTensor:
    case RowGranularity::kGroup:
      return;
    case RowGranularity::kNone:
      return refuse("an output of 8 bits needs scales", "\"tensor\" or \"group\"");
    case RowGranularity::kToken:
      return refuse(
          "the scale of a row depends on all of its outputs, which many thread blocks "
          "compute",
          kSecondPass);
  }
}

}  // namespace

void check_output_scale(const GemmSpec& gemm, Problems& problems) {
  // With X of eight bits an output without a type is refused for that.
  if (!gemm.output || !is_byte(*gemm.output)) {
    return check_no_scale(gemm.output_scale, problems);
  }
  check_granularity(gemm.output_scale.granularity, problems);
  if (gemm.output_scale.scale_dtype == RowScaleDtype::kFp32) return;
  const auto refuse = [&](const char* why, const char* allowed) {
    problems.push_back({"/output/scale_dtype", why, "\"e8m0\"", allowed, ""});
  };
  if (gemm.output == DType::kInt8) {
    refuse("no gemm takes int8 by powers of two", "\"fp32\"");
  } else if (gemm.output_scale.granularity != RowGranularity::kGroup) {
    refuse("powers of two are made for groups only", "\"fp32\", or granularity \"group\"");
  }
}

}  // namespace heddle
