#include "runtime/weight_op_launch.h"

#include "runtime/kernel_state.h"
#include "runtime/launch_checks.h"

namespace heddle {
namespace {

void check_source(const WeightOpSpec& spec, const WeightSource& source) {
  const bool checkpoint = spec.format != CheckpointFormat::kHeddle;
  check_required(source.weights, "weights");
  check_wanted(source.scales, checkpoint, "scales");
  check_wanted(source.zeros, checkpoint && spec.weight.zero_point == ZeroPoint::kInt, "zeros");
}

}  // namespace

void validate(const Plan& plan, const DequantizeArgs& args) {
  check_op(plan, Op::kDequantize);
  const WeightOpSpec& spec = plan.spec.weight_op();
  const bool by_group = spec.format != CheckpointFormat::kHeddle;
  check_source(spec, args.source);
  check_wanted(args.source.group_index, spec.act_order && by_group, "group_index");
  check_wanted(args.source.permutation, spec.act_order && !by_group, "permutation");
  check_required(args.w, "w");
}

void validate(const Plan& plan, const RepackArgs& args) {
  check_op(plan, Op::kRepack);
  const WeightOpSpec& spec = plan.spec.weight_op();
  check_source(spec, args.source);
  check_wanted(args.source.group_index, false, "group_index");
  check_wanted(args.source.permutation, spec.act_order, "permutation");
  check_required(args.packed, "packed");
}

void validate(const Plan& plan, const QuantizeWeightArgs& args) {
  check_op(plan, Op::kQuantizeWeight);
  check_required(args.w, "w");
  check_required(args.packed, "packed");
}

void Kernel::launch(const DequantizeArgs& args, Stream stream) const {
  validate(plan(), args);
  const void* order =
      args.source.group_index != nullptr ? args.source.group_index : args.source.permutation;
  ArgumentList arguments;
  arguments.set(KernelArgument::kWeights, &args.source.weights);
  arguments.set(KernelArgument::kScales, &args.source.scales);
  arguments.set(KernelArgument::kZeros, &args.source.zeros);
  arguments.set(KernelArgument::kOrder, &order);
  arguments.set(KernelArgument::kW, &args.w);
  state_->launch(0, {}, arguments, stream);
}

void Kernel::launch(const RepackArgs& args, Stream stream) const {
  validate(plan(), args);
  ArgumentList arguments;
  arguments.set(KernelArgument::kWeights, &args.source.weights);
  arguments.set(KernelArgument::kScales, &args.source.scales);
  arguments.set(KernelArgument::kZeros, &args.source.zeros);
  arguments.set(KernelArgument::kPermutation, &args.source.permutation);
  arguments.set(KernelArgument::kPacked, &args.packed);
  state_->launch(0, {}, arguments, stream);
}

void Kernel::launch(const QuantizeWeightArgs& args, Stream stream) const {
  validate(plan(), args);
  ArgumentList arguments;
  arguments.set(KernelArgument::kW, &args.w);
  arguments.set(KernelArgument::kPacked, &args.packed);
  state_->launch(0, {}, arguments, stream);
}

}  // namespace heddle
