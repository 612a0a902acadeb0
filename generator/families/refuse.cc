#include "generator/families/refuse.h"

#include "generator/target/capabilities.h"

namespace heddle {

const char* why_no_output_scales(const GemmSpec& spec) {
  return spec.output_scale.granularity == RowGranularity::kGroup
             ? "its threads do not meet to find the scale of 128 outputs"
             : nullptr;
}

namespace {

// Scales of 128 outputs are found by the warpgroup family alone.
void refuse_output_scales(const GemmSpec& spec, const Target& target, Reasons& reasons) {
  if (why_no_output_scales(spec) == nullptr) return;
  const auto unless = [&](bool fine, const char* why) {
    reasons.unless(fine, "/output/granularity", why, "\"group\"",
                   "\"tensor\", or an output of 16 bits and a row_transform behind the gemm");
  };
  unless(has_wgmma(target),
         "the kernels that find scales of 128 columns are those of wgmma, which sm_90 alone has");
  unless(spec.path == Path::kAuto || spec.path == Path::kHopper,
         "the kernels that find scales of 128 columns are of the path hopper");
  unless(spec.weight.zero_point != ZeroPoint::kFloat,
         "the kernels that find scales of 128 columns have no float zero points");
  unless(!spec.pre_scale || spec.act_order,
         "the kernels that find scales of 128 columns cannot scale those of X");
}

}  // namespace

std::vector<Problem> refuse_pair(const GemmSpec& spec, const Target& target) {
  Reasons reasons;
  const int arch = target.arch();
  reasons.unless(has_tensor_cores(target), "",
                 fmt::format("target {} has no tensor core path", target.name),
                 fmt::format("sm_{}", arch), "sm_75 and up");
  reasons.unless(spec.activation != DType::kBf16 || has_bf16(target), "/activation/dtype",
                 fmt::format("the tensor cores of {} (sm_{}) have no bfloat16", target.name, arch),
                 "\"bf16\"", "\"fp16\"");
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
  const bool bytes = spec.has_byte_activations();
  reasons.unless(
      !bytes || has_wgmma(target), "/activation/dtype",
      fmt::format("activations of 8 bits are multiplied by wgmma, which {} (sm_{}) lacks",
                  target.name, arch),
      fmt::format("\"{}\"", to_string(spec.activation)),
      has_bf16(target) ? "\"fp16\", \"bf16\"" : "\"fp16\"");
  reasons.unless(!bytes || spec.path == Path::kAuto || spec.path == Path::kHopper, "/path",
                 "activations of 8 bits are multiplied by wgmma, which is of the path hopper",
                 fmt::format("\"{}\"", to_string(spec.path)), "\"hopper\", \"auto\"");
  refuse_output_scales(spec, target, reasons);
  return reasons.take();
}

}  // namespace heddle
