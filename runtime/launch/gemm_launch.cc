#include "runtime/launch/gemm_launch.h"

#include <string>

#include "generator/families/gemm_config.h"
#include "generator/operations/launch_size.h"
#include "heddle/weights.h"
#include "runtime/launch/byte_pointers.h"
#include "runtime/launch/group_scales.h"
#include "runtime/launch/kernel_state.h"
#include "runtime/launch/launch_checks.h"
#include "runtime/launch/tensor_maps.h"

namespace heddle {
namespace {

// What validate() is to ask for: what this M needs, which takes a while to tell, unless there is
// enough for every M.
std::size_t workspace_to_check(const Kernel::State& state, const GemmArgs& args) noexcept {
  const GemmShape& shape = state.plan.spec.gemm().shape;
  const std::size_t most = state.max_workspace_bytes;
  if (most == 0 || (args.workspace.bytes >= most && is_aligned(args.workspace.data))) return 0;
  // Defined inside the range only; validate() refuses what is outside.
  const bool m_in_range = args.m >= shape.m_min && args.m <= shape.m_max;
  return m_in_range ? state.plan.workspace_bytes(args.m) : 0;
}

void check_x_scales(const GemmSpec& spec, const GemmArgs& args) {
  const RowGranularity granularity = spec.activation_scale.granularity;
  if (granularity == RowGranularity::kGroup) {
    const GroupScales scales = group_scales(spec);
    scales.check_stride("x_scale_stride", args.m, args.x_scale_stride);
    return check_required(args.x_scales, scales.bytes(args.m, args.x_scale_stride), "x_scales");
  }
  check_no_scale_stride("x_scale_stride", args.x_scale_stride);
  const std::int64_t count = granularity == RowGranularity::kToken ? args.m : 1;
  check_wanted(args.x_scales, spec.has_byte_activations(), byte_count(count, sizeof(float)),
               "x_scales", sizeof(float));
}

void check_y_scales(const GemmSpec& spec, const GemmArgs& args) {
  if (spec.output_scale.granularity == RowGranularity::kGroup) {
    return check_required(args.y_scales, output_scales(spec).bytes(args.m, 0), "y_scales");
  }
  check_wanted(args.y_scales, spec.has_byte_output(), sizeof(float), "y_scales", alignof(float));
}

}  // namespace

void validate(const Plan& plan, std::size_t workspace_bytes, const GemmArgs& args) {
  const GemmSpec& spec = plan.spec.gemm();
  check_m(plan.spec.m_range(), args.m);
  const std::int64_t n = spec.shape.n;
  const std::int64_t k = spec.shape.k;
  const std::int64_t element = bytes_of(spec.activation);
  const std::size_t output_bytes =
      byte_count(args.m * spec.output_columns(), bytes_of(spec.output_dtype()));
  check_required(args.x, byte_count(args.m * k, element), "x");
  check_required(args.weights, plan.layout.total_bytes, "weights");
  check_x_scales(spec, args);
  check_wanted(args.x_zero_points, !spec.activation_scale.symmetric,
               byte_count(args.m, sizeof(std::int32_t)), "x_zero_points", sizeof(std::int32_t));
  check_required(args.y, output_bytes, "y");
  check_y_scales(spec, args);
  check_wanted(args.bias, spec.epilogue.bias, byte_count(n, bytes_of(spec.bias_dtype())), "bias");
  check_wanted(args.residual, spec.epilogue.residual,
               byte_count(args.m * spec.output_columns(), bytes_of(spec.residual_dtype())),
               "residual");
  check_wanted(args.pre_scale, spec.pre_scale, byte_count(k, element), "pre_scale");
  check_wanted(args.permutation, spec.act_order, byte_count(k, sizeof(std::int32_t)),
               "permutation");
  check_workspace(args.workspace, workspace_bytes);
}

GemmArguments::GemmArguments(const Plan& plan, const GemmArgs& args) noexcept
    : args_(args),
      shape_(weight_shape(plan.spec.gemm(), plan.layout)),
      m_(static_cast<int>(args.m)) {
  list_.set(KernelArgument::kX, &args_.x.data);
  list_.set(KernelArgument::kWeights, &args_.weights.data);
  list_.set(KernelArgument::kXScales, &args_.x_scales.data);
  list_.set(KernelArgument::kXZeroPoints, &args_.x_zero_points.data);
  list_.set(KernelArgument::kY, &args_.y.data);
  list_.set(KernelArgument::kYScales, &args_.y_scales.data);
  list_.set(KernelArgument::kBias, &args_.bias.data);
  list_.set(KernelArgument::kResidual, &args_.residual.data);
  list_.set(KernelArgument::kPreScale, &args_.pre_scale.data);
  list_.set(KernelArgument::kPermutation, &args_.permutation.data);
  list_.set(KernelArgument::kWorkspace, &args_.workspace.data);
  list_.set(KernelArgument::kShape, &shape_);
  list_.set(KernelArgument::kM, &m_);
}

void GemmArguments::gather_to(void* gathered) noexcept {
  gathered_ = gathered;
  list_.set(KernelArgument::kGathered, &gathered_);
}

void GemmArguments::read_tokens(const cuda::Driver& driver, const Plan& plan,
                                const PlannedKernel& kernel) {
  if (gathered_ != nullptr) list_.set(KernelArgument::kX, &gathered_);
  if (!kernel.takes(KernelArgument::kTokenMap)) return;
  const GemmSpec& spec = plan.spec.gemm();
  const int box = kernel.tokens_of_box(m_);
  const void* x = gathered_ != nullptr ? gathered_ : args_.x.data;
  // Codes of eight bits in pairs.
  const std::int64_t columns = spec.shape.k * bytes_of(spec.activation) / 2;
  list_.set(KernelArgument::kTokenMap,
            token_map(driver, {x, args_.m, columns, box, spec.activation == DType::kBf16}));
  if (!kernel.takes(KernelArgument::kXScaleMap)) return;
  const GroupScales scales = group_scales(spec);
  list_.set(
      KernelArgument::kXScaleMap,
      scale_map(driver, {args_.x_scales.data, args_.m, scales.lines(),
                         scales.stride_of(args_.m, args_.x_scale_stride), kernel.box_tokens}));
}

std::size_t gemm_workspace_bytes(const Plan& plan, std::int64_t m) {
  check_m(plan.spec.m_range(), m);
  return plan.workspace_bytes(m);
}

std::size_t gemm_workspace_bytes(const Kernel::State& state, std::int64_t m) {
  check_m(state.plan.spec.m_range(), m);
  return state.workspace_bytes(m);
}

void launch(const Kernel::State& state, const GemmArgs& args, Stream stream) {
  const Plan& plan = state.plan;
  validate(plan, workspace_to_check(state, args), args);
  const std::size_t index = plan.kernel_for(args.m);
  GemmArguments arguments(plan, args);
  for (std::size_t i = plan.kernels.size(); i < plan.kernel_count(); ++i) {
    arguments.gather_to(bytes(args.workspace) + plan.gathered_offset(args.m));
    state.launch(i, {args.m}, arguments.list(), stream);
  }
  arguments.read_tokens(state.kernels[index]->driver(), plan, plan.kernels[index]);
  state.launch(index, {args.m}, arguments.list(), stream);
}

std::size_t GemmKernel::workspace_bytes(std::int64_t m) const {
  return gemm_workspace_bytes(kernel().state(), m);
}

}  // namespace heddle
