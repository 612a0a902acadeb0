#include <fmt/format.h>

#include "generator/render/digest.h"
#include "generator/render/kernel_text.h"
#include "heddle/error.h"
#include "heddle/source.h"

namespace heddle {
namespace {

Source render_tile_kernel(const Plan& plan, const TileKernel& kernel) {
  switch (kernel.role) {
    case KernelRole::kGather:
      return render_gather(plan, kernel);
    case KernelRole::kDequantize:
      return render_dequantize(plan, kernel);
    case KernelRole::kRepack:
      return render_repack(plan, kernel);
    case KernelRole::kQuantizeWeight:
      return render_quantize_weight(plan, kernel);
    case KernelRole::kKvAppend:
      return render_kv_append(plan, kernel);
    case KernelRole::kDecodeAttention:
      return render_decode_attention(plan, kernel);
  }
  return {};
}

}  // namespace

Source render(const Plan& plan, std::size_t kernel) {
  if (kernel >= plan.kernel_count()) {
    throw Error(
        ErrorCategory::kUsage, "render.kernel",
        fmt::format("the plan has {} kernels, there is no number {}", plan.kernel_count(), kernel));
  }
  const std::size_t variants = plan.variants.size();
  Source source = kernel < variants
                      ? render_gemm(plan, plan.variants[kernel])
                      : render_tile_kernel(plan, plan.tile_kernels[kernel - variants]);
  source.arch = compiler_arch(plan.target);
  source.file_name = fmt::format("{}_{}.cu", source.kernel_name, content_digest(source.text));
  return source;
}

std::vector<Source> render_all(const Plan& plan) {
  std::vector<Source> sources;
  for (std::size_t i = 0; i < plan.kernel_count(); ++i) sources.push_back(render(plan, i));
  return sources;
}

}  // namespace heddle
