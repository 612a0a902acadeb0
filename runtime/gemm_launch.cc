#include "runtime/gemm_launch.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "generator/plan/wgmma.h"
#include "generator/plan/wgmma_shares.h"
#include "runtime/gemm_parameters.h"
#include "runtime/kernel_state.h"

namespace heddle {
namespace {

// A table up to the most that a spec may have would take seconds to fill, and 700 MB.
constexpr std::int64_t kUsualTokens = 65536;

void check_workspace(std::size_t needed, const GemmArgs& args) {
  if (needed == 0) return;
  check_required(args.workspace, "workspace");
  if (args.workspace_bytes >= needed) return;
  refuse_launch("launch.workspace", fmt::format("workspace has {} bytes; M = {} needs {}",
                                                args.workspace_bytes, args.m, needed));
}

// What validate() is to ask for: what this M needs, which takes a while to tell, unless there is
// enough for every M.
std::size_t workspace_to_check(const Kernel::State& state, const GemmArgs& args) noexcept {
  const GemmShape& shape = state.plan.spec.gemm().shape;
  const std::size_t most = state.max_workspace_bytes;
  if (most == 0 || (args.workspace_bytes >= most && is_aligned(args.workspace))) return 0;
  // Defined inside the range only; validate() refuses what is outside.
  const bool m_in_range = args.m >= shape.m_min && args.m <= shape.m_max;
  return m_in_range ? state.plan.workspace_bytes(args.m) : 0;
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

GemmBlocks gemm_blocks(const Plan& plan, const GemmVariant& variant, std::int64_t m) noexcept {
  const auto split_k = static_cast<unsigned int>(variant.split_k);
  switch (variant.kernel) {
    case GemmKernel::kTiles:
    case GemmKernel::kBulk:
      break;
    case GemmKernel::kStream:
      return {{static_cast<unsigned int>(variant.workers), 1, 1,
               static_cast<unsigned int>(variant.cluster)}};
    case GemmKernel::kWgmma: {
      const WgmmaShares shares = wgmma_shares(variant, plan.layout, m);
      return {{static_cast<unsigned int>(shares.workers), 1, 1,
               static_cast<unsigned int>(shares.cluster)},
              shares.shared_tiles};
    }
  }
  return {
      {tiles_of(m, variant.tile_m), tiles_of(plan.spec.gemm().shape.n, variant.tile_n), split_k}};
}

GemmBlocksTable::GemmBlocksTable(const Plan& plan, const GemmVariant& variant)
    : step_(variant.kernel == GemmKernel::kWgmma ? wgmma_box_tokens(variant) : variant.tile_m),
      first_(tiles_of(variant.m_min, step_)) {
  if (variant.kernel != GemmKernel::kWgmma) return;
  const std::int64_t most = std::min(variant.m_max, kUsualTokens);
  for (std::int64_t m = variant.m_min; tiles_of(m, step_) <= tiles_of(most, step_); m += step_) {
    blocks_.push_back(gemm_blocks(plan, variant, std::min(m, variant.m_max)));
  }
}

GemmBlocks GemmBlocksTable::at(const Plan& plan, const GemmVariant& variant,
                               std::int64_t m) const noexcept {
  const unsigned int place = tiles_of(m, step_) - first_;
  return place < blocks_.size() ? blocks_[place] : gemm_blocks(plan, variant, m);
}

void Kernel::launch(const GemmArgs& args, Stream stream) const {
  const Plan& plan = state_->plan;
  check_op(plan, Op::kGemm);
  validate(plan, workspace_to_check(*state_, args), args);
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
    const LaunchConfig config(tile_grid(gather, args.m, plan.spec.gemm().shape.k), gather.threads,
                              gather.shared_bytes, stream);
    state_->kernels.back().launch(config, parameters);
    x = gathered;
  }
  const LoadedKernel& kernel = state_->kernels[index];
  const GemmBlocks blocks = state_->blocks[index].at(plan, variant, args.m);
  GemmParameters parameters(kernel.driver(), plan, variant, blocks.shared_tiles, args, x);
  const LaunchConfig config(blocks.grid, variant.threads(), variant.shared_bytes, stream,
                            starts_early(plan, variant));
  kernel.launch(config, parameters.list());
}

}  // namespace heddle
