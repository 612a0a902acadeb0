#include "runtime/weight_op_launch.h"

#include "runtime/kernel_state.h"

namespace heddle {
namespace {

void check_source(const WeightOpSpec& spec, const WeightSource& source) {
  const bool checkpoint = spec.format != CheckpointFormat::kHeddle;
  check_required(source.weights, "weights");
  check_wanted(source.scales, checkpoint, "scales");
  check_wanted(source.zeros, checkpoint && spec.weight.zero_point == ZeroPoint::kInt, "zeros");
}

// The driver copies the values of parameters during the call and writes to none of them.
void launch_tiles(const Kernel::State& state, const WeightOpSpec& spec, void** parameters,
                  Stream stream) {
  const TileKernel& kernel = state.plan.tile_kernels.front();
  const LaunchConfig config(tile_grid(kernel, spec.shape.n, spec.shape.k), kernel.threads,
                            kernel.shared_bytes, stream);
  state.kernels.front().launch(config, parameters);
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
  const WeightOpSpec& spec = plan().spec.weight_op();
  const void* order =
      args.source.group_index != nullptr ? args.source.group_index : args.source.permutation;
  void* parameters[] = {
      const_cast<const void**>(&args.source.weights), const_cast<const void**>(&args.source.scales),
      const_cast<const void**>(&args.source.zeros), &order, const_cast<void**>(&args.w)};
  launch_tiles(*state_, spec, parameters, stream);
}

void Kernel::launch(const RepackArgs& args, Stream stream) const {
  validate(plan(), args);
  const WeightOpSpec& spec = plan().spec.weight_op();
  void* parameters[] = {
      const_cast<const void**>(&args.source.weights), const_cast<const void**>(&args.source.scales),
      const_cast<const void**>(&args.source.zeros),
      const_cast<const void**>(&args.source.permutation), const_cast<void**>(&args.packed)};
  launch_tiles(*state_, spec, parameters, stream);
}

void Kernel::launch(const QuantizeWeightArgs& args, Stream stream) const {
  validate(plan(), args);
  const WeightOpSpec& spec = plan().spec.weight_op();
  void* parameters[] = {const_cast<const void**>(&args.w), const_cast<void**>(&args.packed)};
  launch_tiles(*state_, spec, parameters, stream);
}

}  // namespace heddle
