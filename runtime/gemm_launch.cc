#include "runtime/gemm_launch.h"

#include <fmt/core.h>

#include <string>

#include "runtime/kernel_state.h"

namespace heddle {
namespace {

void check_workspace(std::size_t needed, const GemmArgs& args) {
  if (needed == 0) return;
  check_required(args.workspace, "workspace");
  if (args.workspace_bytes >= needed) return;
  refuse_launch("launch.workspace", fmt::format("workspace has {} bytes; M = {} needs {}",
                                                args.workspace_bytes, args.m, needed));
}

}  // namespace

void validate(const Plan& plan, std::size_t workspace_bytes, const GemmArgs& args) {
  check_op(plan, Op::kGemm);
  const GemmSpec& spec = plan.spec.gemm();
  if (args.m < spec.shape.m_min || args.m > spec.shape.m_max) {
    refuse_launch("launch.m", fmt::format("M = {} is outside the spec's range [{}, {}]", args.m,
                                          spec.shape.m_min, spec.shape.m_max));
  }
  check_required(args.x, "x");
  check_required(args.weights, "weights");
  check_required(args.y, "y");
  check_wanted(args.bias, spec.epilogue.bias, "bias");
  check_wanted(args.residual, spec.epilogue.residual, "residual");
  check_wanted(args.pre_scale, spec.pre_scale, "pre_scale");
  check_wanted(args.permutation, spec.act_order, "permutation");
  check_workspace(workspace_bytes, args);
}

LaunchGrid launch_grid(const GemmVariant& variant, std::int64_t m, std::int64_t n) noexcept {
  if (variant.path == Path::kHopper) {
    return {static_cast<unsigned int>(variant.workers), static_cast<unsigned int>(variant.split_k),
            1, static_cast<unsigned int>(variant.cluster)};
  }
  return {tiles_of(m, variant.tile_m), tiles_of(n, variant.tile_n),
          static_cast<unsigned int>(variant.split_k)};
}

void Kernel::launch(const GemmArgs& args, Stream stream) const {
  const Plan& plan = state_->plan;
  check_op(plan, Op::kGemm);
  // M is checked first: variant_for() and workspace_bytes() are defined inside the range only.
  const GemmShape& shape = plan.spec.gemm().shape;
  const bool m_in_range = args.m >= shape.m_min && args.m <= shape.m_max;
  validate(plan, m_in_range ? plan.workspace_bytes(args.m) : 0, args);
  const std::size_t index = plan.variant_for(args.m);
  const GemmVariant& variant = plan.variants[index];

  int m = static_cast<int>(args.m);
  // The driver copies the values during the call and writes to none of them.
  const void* x = args.x;
  if (plan.spec.gemm().act_order) {
    const TileKernel& gather = plan.tile_kernels.front();
    void* gathered = static_cast<unsigned char*>(args.workspace) + plan.gathered_offset(args.m);
    void* parameters[] = {const_cast<const void**>(&args.x),
                          const_cast<const void**>(&args.permutation),
                          const_cast<const void**>(&args.pre_scale), &gathered, &m};
    state_->kernels.back().launch(tile_grid(gather, args.m, shape.k), gather.threads,
                                  gather.shared_bytes, parameters, stream);
    x = gathered;
  }
  void* parameters[] = {&x,
                        const_cast<const void**>(&args.weights),
                        const_cast<void**>(&args.y),
                        const_cast<const void**>(&args.bias),
                        const_cast<const void**>(&args.residual),
                        const_cast<const void**>(&args.pre_scale),
                        const_cast<void**>(&args.workspace),
                        &m};
  state_->kernels[index].launch(launch_grid(variant, args.m, shape.n), variant.threads(),
                                variant.shared_bytes, parameters, stream,
                                variant.path == Path::kHopper);
}

}  // namespace heddle
