#include "generator/families/quantize_weight/text.h"

#include <string_view>

#include "generator/decode/float16.h"
#include "generator/families/packing_kernel.h"
#include "generator/families/quantize_weight/quantize_span.h"
#include "generator/families/value_type.h"
#include "generator/layout/rounding_rule.h"
#include "generator/render/config.h"
#include "generator/render/scale_type.h"

namespace heddle {
namespace {

constexpr std::string_view kTemplate = "quantize/quantize_weight.cuh";

std::string config_text(const Plan& plan, const TileKernel& kernel) {
  const WeightOpSpec& spec = plan.spec.weight_op();
  const RoundingRule rule = rounding_rule(spec.weight);
  const Span span = quantize_span(plan.layout, spec.weight);
  ConfigWriter config;
  add_packing_members(plan, kernel, config);
  config.number("kSpanChunks", span.chunks);
  config.number("kStepChunks", span.step_chunks);
  config.number("kGroups", span.groups);
  config.flag("kFloatCodes", rule.is_float);
  // Integer codes have no use for these, but SmallFloat wants some format.
  config.number("kExponentBits", rule.is_float ? rule.code_float.exponent_bits : 1);
  config.number("kMantissaBits", rule.code_float.mantissa_bits);
  config.number("kLargestCode", rule.code_float.largest);
  config.flag("kAsymmetric", rule.asymmetric);
  config.number("kLow", rule.low);
  config.number("kHigh", rule.high);
  config.number("kBias", rule.bias);
  config.number("kDivisor", rule.divisor);
  config.number("kInfinity", float16_format(spec.dtype).exponent_mask());
  config.number("kNanScale", nan_scale(spec.weight.scale_dtype));
  config.enumerator("kScaleType", "ScaleType", scale_type_name(spec.weight.scale_dtype));
  config.type("Value", value_type(spec.dtype));
  return config.text(kTemplate);
}

}  // namespace

KernelText quantize_weight_text(const Plan& plan, const TileKernel& kernel) {
  return packing_text(plan, kernel, kTemplate, config_text(plan, kernel),
                      "quantize_weight<heddle::Config, heddle::Encode>");
}

}  // namespace heddle
