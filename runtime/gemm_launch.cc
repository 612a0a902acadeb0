#include "runtime/gemm_launch.h"

#include <fmt/core.h>

#include <string>

#include "generator/plan/wgmma.h"
#include "runtime/gemm_parameters.h"
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

LaunchGrid launch_grid(const Plan& plan, const GemmVariant& variant, std::int64_t m) noexcept {
  const auto split_k = static_cast<unsigned int>(variant.split_k);
  switch (variant.kernel) {
    case GemmKernel::kTiles:
      break;
    case GemmKernel::kStream:
      return {static_cast<unsigned int>(variant.workers), 1, 1,
              static_cast<unsigned int>(variant.cluster)};
    case GemmKernel::kWgmma: {
      const WgmmaShares shares = wgmma_shares(variant, plan.layout, m);
      return {static_cast<unsigned int>(shares.workers), 1, 1,
              static_cast<unsigned int>(shares.cluster)};
    }
  }
  return {tiles_of(m, variant.tile_m), tiles_of(plan.spec.gemm().shape.n, variant.tile_n), split_k};
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

  const void* x = args.x;
  if (plan.spec.gemm().act_order) {
    const TileKernel& gather = plan.tile_kernels.front();
    int m = static_cast<int>(args.m);
    void* gathered = static_cast<unsigned char*>(args.workspace) + plan.gathered_offset(args.m);
    // The driver copies the values during the call and writes to none of them.
    void* parameters[] = {const_cast<const void**>(&args.x),
                          const_cast<const void**>(&args.permutation),
                          const_cast<const void**>(&args.pre_scale), &gathered, &m};
    state_->kernels.back().launch(tile_grid(gather, args.m, shape.k), gather.threads,
                                  gather.shared_bytes, parameters, stream);
    x = gathered;
  }
  GemmParameters parameters(cuda::driver(), plan, variant, args, x);
  state_->kernels[index].launch(launch_grid(plan, variant, args.m), variant.threads(),
                                variant.shared_bytes, parameters.list(), stream,
                                variant.path == Path::kHopper);
}

}  // namespace heddle
