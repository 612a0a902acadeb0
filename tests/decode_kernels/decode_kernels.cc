#include "tests/decode_kernels/decode_kernels.h"

#include <fmt/format.h>

#include "generator/decode/decode_text.h"
#include "generator/decode/requests.h"
#include "generator/render/digest.h"
#include "generator/render/template_text.h"

namespace heddle {
namespace {

constexpr std::size_t kKernelsPerSource = 24;

std::string kernel_text(const DecodeKernel& kernel) {
  const DecodePlan& plan = kernel.plan;
  return fmt::format(
      "// {0}\n"
      "namespace heddle::{1}_plan {{\n"
      "struct Config {{\n  using Value = {2};\n}};\n"
      "{3}}}  // namespace heddle::{1}_plan\n\n"
      "extern \"C\" __global__ void {1}(const heddle::u32* words, const heddle::u32* group_words,\n"
      "                                 heddle::u32* out, heddle::u32 runs) {{\n"
      "  heddle::decode_runs<heddle::{1}_plan::Decode, {4}, {5}, {6}>(words, group_words, out, "
      "runs);\n"
      "}}\n\n",
      kernel.plan_name, kernel.entry, plan.request.dtype == DType::kBf16 ? "Bf16" : "Fp16",
      decode_text(plan), plan.words * kernel.units_per_run(), plan.group_words,
      kernel.units_per_run());
}

Source empty_source(std::size_t index, const std::string& arch) {
  Source source;
  source.kernel_name = fmt::format("decode_kernels_{}", index);
  source.arch = arch;
  source.text = expand_includes(kDecodeRunsText);
  return source;
}

}  // namespace

DecodeKernels every_decode_kernel(const std::string& arch) {
  DecodeKernels all;
  for (const NamedDecodeRequest& named : every_decode_request()) {
    const std::size_t index = all.kernels.size();
    if (index % kKernelsPerSource == 0) {
      all.sources.push_back(empty_source(all.sources.size(), arch));
    }
    DecodeKernel kernel;
    kernel.plan_name = fmt::format("{} to {}", named.name, to_string(named.request.dtype));
    kernel.entry = fmt::format("decode_{}", index);
    kernel.plan = derive_decode_plan(named.request);
    kernel.source = all.sources.size() - 1;
    all.sources.back().text += kernel_text(kernel);
    all.kernels.push_back(std::move(kernel));
  }
  for (Source& source : all.sources) {
    source.file_name = fmt::format("{}_{}.cu", source.kernel_name, content_digest(source.text));
  }
  return all;
}

}  // namespace heddle
