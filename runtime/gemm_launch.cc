#include "runtime/gemm_launch.h"

#include <fmt/core.h>

#include <string>

#include "runtime/kernel_state.h"
#include "runtime/launch_checks.h"
#include "runtime/tensor_maps.h"

namespace heddle {
namespace {

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

GemmArguments::GemmArguments(const GemmArgs& args) noexcept
    : args_(args), m_(static_cast<int>(args.m)) {
  list_.set(KernelArgument::kX, &args_.x);
  list_.set(KernelArgument::kWeights, &args_.weights);
  list_.set(KernelArgument::kY, &args_.y);
  list_.set(KernelArgument::kBias, &args_.bias);
  list_.set(KernelArgument::kResidual, &args_.residual);
  list_.set(KernelArgument::kPreScale, &args_.pre_scale);
  list_.set(KernelArgument::kPermutation, &args_.permutation);
  list_.set(KernelArgument::kWorkspace, &args_.workspace);
  list_.set(KernelArgument::kM, &m_);
}

void GemmArguments::gather_to(void* gathered) noexcept {
  gathered_ = gathered;
  list_.set(KernelArgument::kGathered, &gathered_);
}

void GemmArguments::read_tokens(const cuda::Driver& driver, const Plan& plan,
                                const PlannedKernel& kernel) {
  if (gathered_ != nullptr) list_.set(KernelArgument::kX, &gathered_);
  if (kernel.arguments.front() != KernelArgument::kTokenMap) return;
  const GemmSpec& spec = plan.spec.gemm();
  const int box = kernel.tokens_of_box(m_);
  const void* x = gathered_ != nullptr ? gathered_ : args_.x;
  list_.set(KernelArgument::kTokenMap,
            token_map(driver, {x, args_.m, spec.shape.k, box, spec.activation == DType::kBf16}));
}

void Kernel::launch(const GemmArgs& args, Stream stream) const {
  const Plan& plan = state_->plan;
  check_op(plan, Op::kGemm);
  validate(plan, workspace_to_check(*state_, args), args);
  const std::size_t index = plan.kernel_for(args.m);
  GemmArguments arguments(args);
  for (std::size_t i = plan.kernels.size(); i < plan.kernel_count(); ++i) {
    arguments.gather_to(static_cast<unsigned char*>(args.workspace) + plan.gathered_offset(args.m));
    state_->launch(i, {args.m}, arguments.list(), stream);
  }
  arguments.read_tokens(state_->kernels[index].driver(), plan, plan.kernels[index]);
  state_->launch(index, {args.m}, arguments.list(), stream);
}

}  // namespace heddle
