// What the renderers of all operations share.
#ifndef HEDDLE_GENERATOR_RENDER_KERNEL_TEXT_H_
#define HEDDLE_GENERATOR_RENDER_KERNEL_TEXT_H_

#include <string>
#include <string_view>

#include "heddle/plan.h"
#include "heddle/source.h"

namespace heddle {

// "Fp16" or "Bf16"; of a type without 16 bits nothing is ever computed in it: "Fp16".
std::string value_type(DType dtype);

// The text of a kernel: the banner with what was decided (`decisions`, some lines), the template
// with its includes, what the spec adds inside of namespace heddle (Config, Decode), the entry.
std::string kernel_text(const Plan& plan, const std::string& decisions,
                        std::string_view template_path, const std::string& definitions,
                        const std::string& entry);

// "extern "C" __global__ ... name(parameters) { heddle::function<heddle::Config...>(arguments); }".
// `parameters`: of the kernel, as in "const heddle::u8* x, int m".
std::string entry_text(const std::string& name, int threads, int blocks_per_sm,
                       const std::string& parameters, const std::string& call);

// One renderer for each kind of kernel.
Source render_gemm(const Plan& plan, const GemmVariant& variant);
Source render_gather(const Plan& plan, const TileKernel& kernel);
Source render_dequantize(const Plan& plan, const TileKernel& kernel);
Source render_repack(const Plan& plan, const TileKernel& kernel);
Source render_quantize_weight(const Plan& plan, const TileKernel& kernel);
Source render_kv_append(const Plan& plan, const TileKernel& kernel);
Source render_decode_attention(const Plan& plan, const TileKernel& kernel);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_RENDER_KERNEL_TEXT_H_
