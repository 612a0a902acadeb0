#include "generator/families/gemm_family.h"

#include <fmt/format.h>

#include "generator/decode/requests.h"
#include "generator/families/kernel_name.h"
#include "generator/families/refuse.h"
#include "generator/families/tile_fields.h"
#include "generator/spec/byte_meaning.h"
#include "generator/spec/in_quotes.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

constexpr std::int64_t kSteps[] = {1,   2,   4,   8,   16,  32,  48,   64,   96,
                                   128, 160, 192, 256, 384, 512, 1024, 2048, 4096};

bool lacks_fp8(const GemmSpec& spec, const Target& target) {
  return spec.has_byte_activations() && spec.activation != DType::kInt8 && !has_fp8_mma(target);
}

}  // namespace

bool GemmFamily::takes_operands_of(const Spec& spec) const {
  return spec.gemm().has_byte_activations() ? multiplies_bytes() : multiplies_halves();
}

std::string GemmFamily::other_operands() const {
  return multiplies_halves() ? "it multiplies values of 16 bits" : "it multiplies codes of 8 bits";
}

bool GemmFamily::owns(const Spec& spec) const {
  const GemmSpec& gemm = spec.gemm();
  return owns_tiles_without_path() && gemm.path == Path::kAuto && sets_any(gemm.tile);
}

std::vector<std::int64_t> token_steps(std::int64_t m_min, std::int64_t m_max) {
  std::vector<std::int64_t> steps;
  for (const std::int64_t step : kSteps) {
    if (step >= m_min && step < m_max) steps.push_back(step);
  }
  steps.push_back(m_max);
  return steps;
}

std::vector<std::int64_t> GemmFamily::steps(const Plan& /*plan*/, const MRange& m) const {
  return token_steps(m.min, m.max);
}

std::string GemmFamily::kernel_name(const Plan& plan, const PlannedKernel& kernel) const {
  return gemm_kernel_name(gemm_request(plan).spec, {kernel.size_min, kernel.size_max},
                          name_of_any_shape(kernel));
}

std::vector<Problem> GemmFamily::target_problems(const Spec& asked, const Target& target) const {
  const GemmSpec& spec = asked.gemm();
  Reasons reasons;
  const int arch = target.arch();
  reasons.unless(has_tensor_cores(target), "",
                 fmt::format("target {} has no tensor core path", target.name),
                 fmt::format("sm_{}", arch), "sm_75 and up");
  reasons.unless(spec.activation != DType::kBf16 || has_bf16(target), "/activation/dtype",
                 fmt::format("the tensor cores of {} (sm_{}) have no bfloat16", target.name, arch),
                 "\"bf16\"", "\"fp16\"");
  reasons.unless(
      !lacks_fp8(spec, target), "/activation/dtype",
      [&] { return fmt::format("the tensor cores of {} (sm_{}) have no FP8", target.name, arch); },
      in_quotes(to_string(spec.activation)),
      has_bf16(target) ? "\"int8\", \"fp16\", \"bf16\"" : "\"int8\", \"fp16\"");
  reasons.unless(
      spec.output_dtype() != DType::kBf16 || spec.activation == DType::kBf16 || has_bf16(target),
      "/output/dtype", fmt::format("{} (sm_{}) has no bfloat16", target.name, arch), "\"bf16\"",
      "\"fp16\", \"fp32\"");
  reasons.unless(spec.path != Path::kAmpere || has_async_copies(target), "/path",
                 fmt::format("{} (sm_{}) has no cp.async and no mma.m16n8k16", target.name, arch),
                 "\"ampere\"", "\"turing\", \"auto\"");
  reasons.unless(
      spec.path != Path::kHopper || has_bulk_copies(target), "/path",
      fmt::format("{} (sm_{}) has no bulk copies", target.name, arch), "\"hopper\"",
      has_async_copies(target) ? "\"turing\", \"ampere\", \"auto\"" : "\"turing\", \"auto\"");
  return reasons.take();
}

std::vector<Problem> GemmFamily::operand_problems(const Spec& asked, const Target& target) const {
  const GemmSpec& spec = asked.gemm();
  if (!spec.has_byte_activations() || lacks_fp8(spec, target)) return {};
  return {{"/activation/dtype", "other families multiply values of 16 bits",
           in_quotes(to_string(spec.activation)),
           has_bf16(target) ? "\"fp16\", \"bf16\"" : "\"fp16\"", ""}};
}

void GemmFamily::prepare(Plan& plan) const {
  const GemmSpec& gemm = gemm_request(plan).spec;
  if (!gemm.has_byte_activations() || decodes_to_bytes(gemm)) {
    plan.decode = derive_decode_plan(decode_request(gemm.weight, gemm.activation));
  }
  plan.layout = weight_layout(gemm);
}

}  // namespace heddle
