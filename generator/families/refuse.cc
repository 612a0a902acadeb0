#include "generator/families/refuse.h"

#include "generator/families/gemm_config.h"
#include "generator/spec/byte_meaning.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

// Whether streams serve all tokens of the spec, X of eight bits.
bool has_byte_streams(const GemmSpec& spec, const Target& target) {
  return decodes_to_bytes(spec) && has_bulk_copies(target) &&
         spec.shape.m_max <= kMostTokensOfByteStreams;
}

// Schemes of X of eight bits that wgmma alone serves: scales of blocks, and weights of four bits
// times more tokens than streams take.
void refuse_without_wgmma(const GemmSpec& spec, const Target& target, Reasons* reasons) {
  const bool is_decoded = decodes_to_bytes(spec);
  if (!is_decoded && !spec.weight.has_blocks()) return;
  const auto lacks = [&](const char* what) {
    return fmt::format("{}, which {} (sm_{}) lacks", what, target.name, target.arch());
  };
  const bool is_served = has_wgmma(target) || has_byte_streams(spec, target);
  static_assert(kMostTokensOfByteStreams == 16, "the lines below say so");
  if (!is_decoded) {
    reasons->unless(
        is_served, "/weight/group_rows",
        [&] { return lacks("scales of blocks meet the sums of wgmma alone"); },
        spec.weight.group_rows, "1, with a scale for each token or one for all");
  } else if (has_bulk_copies(target)) {
    reasons->unless(
        is_served, "/shape/m/1",
        [&] {
          return lacks("wgmma alone multiplies more than 16 tokens of 8 bits by weights of 4 bits");
        },
        spec.shape.m_max, "at most 16, weights of 8 bits, or activations of 16");
  } else {
    reasons->unless(
        is_served, "/weight/bits",
        [&] { return lacks("weights of 4 bits times X of 8 bits need bulk copies"); },
        spec.weight.bits, "8, or activations of 16 bits");
  }
  const char* const what = is_decoded ? "weights of 4 bits times X of 8 bits" : "scales of blocks";
  reasons->unless(
      !is_served || spec.path == Path::kAuto || spec.path == Path::kHopper, "/path",
      [&] { return fmt::format("{} have kernels of the path hopper alone", what); },
      [&] { return fmt::format("\"{}\"", to_string(spec.path)); }, "\"hopper\", \"auto\"");
}

// Of X of eight bits.
void refuse_bytes(const GemmSpec& spec, const Target& target, Reasons* reasons) {
  const int arch = target.arch();
  const bool is_int8 = spec.activation == DType::kInt8;
  const auto path = [&] { return fmt::format("\"{}\"", to_string(spec.path)); };
  reasons->unless(
      is_int8 || has_fp8_mma(target), "/activation/dtype",
      [&] { return fmt::format("the tensor cores of {} (sm_{}) have no FP8", target.name, arch); },
      [&] { return fmt::format("\"{}\"", to_string(spec.activation)); },
      has_bf16(target) ? "\"int8\", \"fp16\", \"bf16\"" : "\"int8\", \"fp16\"");
  reasons->unless(is_int8 || spec.path != Path::kTuring, "/path",
                  "the matrix instruction of the path turing has no FP8", path,
                  "\"ampere\", \"auto\"");
  refuse_without_wgmma(spec, target, reasons);
  // refuse_pair() says more where there are no bulk copies, refuse_without_wgmma() of weights of 4
  // bits.
  const bool says_more = !has_bulk_copies(target) || decodes_to_bytes(spec);
  reasons->unless(spec.path != Path::kHopper || has_wgmma(target) || says_more, "/path",
                  "activations of 8 bits have kernels of the path hopper on sm_90 alone", path,
                  "\"ampere\", \"auto\"");
}

// Scales of 128 outputs are found by tiles of mma.sync and, of the path hopper, by wgmma alone.
void refuse_output_scales(const GemmSpec& spec, const Target& target, Reasons& reasons) {
  if (!finds_output_scales(spec)) return;
  // refuse_without_wgmma() says more where there are no bulk copies.
  const bool has_streams_alone = decodes_to_bytes(spec) && !has_wgmma(target);
  reasons.unless(
      !has_streams_alone || !has_bulk_copies(target), "/output/granularity",
      [&] {
        return fmt::format(
            "weights of 4 bits times X of 8 bits have streams alone on {} (sm_{}), which find no "
            "scales of 128 outputs",
            target.name, target.arch());
      },
      "\"group\"", "\"tensor\", or Y of 16 bits");
  if (spec.path != Path::kHopper) return;
  const auto unless = [&](bool fine, const char* why) {
    reasons.unless(fine, "/path", why, "\"hopper\"", "\"ampere\", \"auto\"");
  };
  // refuse_pair() says more where there are no bulk copies, refuse_bytes() of X of eight bits.
  unless(has_wgmma(target) || !has_bulk_copies(target) || spec.has_byte_activations(),
         "of the path hopper wgmma finds scales of 128 columns, which sm_90 alone has");
  unless(
      spec.weight.zero_point != ZeroPoint::kFloat,
      "the kernels of the path hopper that find scales of 128 columns have no float zero points");
  unless(!spec.pre_scale || spec.act_order,
         "the kernels of the path hopper that find scales of 128 columns cannot scale those of X");
}

}  // namespace

const char* why_no_output_scales(const GemmSpec& spec) {
  return finds_output_scales(spec) ? "its threads do not meet to find the scale of 128 outputs"
                                   : nullptr;
}

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
  refuse_output_scales(spec, target, reasons);
  if (spec.has_byte_activations()) refuse_bytes(spec, target, &reasons);
  return reasons.take();
}

}  // namespace heddle
