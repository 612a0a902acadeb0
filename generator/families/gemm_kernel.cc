#include "generator/families/gemm_kernel.h"

#include <fmt/format.h>

#include "generator/decode/decode_text.h"
#include "generator/families/value_type.h"

namespace heddle {

KernelText gemm_text(const Plan& plan, const PlannedKernel& kernel, std::string_view template_path,
                     const std::string& config, std::string_view function) {
  const DecodePlan decode = kernel.family->decode_plan(plan, kernel);
  KernelText text;
  text.template_path = template_path;
  text.decisions =
      fmt::format("{}\n\ndecode plan: {}", kernel.family->describe(kernel), describe(decode));
  // With X of eight bits Config::Value is the bias's type alone.
  const bool is_own = gemm_request(plan).spec.has_byte_activations() && !decode.makes_bytes();
  const std::string value = is_own ? value_type(decode.request.dtype) : "Config::Value";
  text.definitions = config + '\n' + decode_text(decode, value);
  text.function = fmt::format("{}<heddle::Config, heddle::Decode>", function);
  return text;
}

}  // namespace heddle
