#include "runtime/launch/weight_op_launch.h"

#include "generator/layout/groups.h"
#include "heddle/weights.h"
#include "runtime/launch/kernel_state.h"
#include "runtime/launch/launch_checks.h"

namespace heddle {
namespace {

void check_source(const Plan& plan, const WeightSource& source) {
  const WeightOpSpec& spec = plan.spec.weight_op();
  const WeightSpec& weight = spec.weight;
  const std::int64_t n = spec.shape.n;
  const std::int64_t k = spec.shape.k;
  const bool checkpoint = spec.format != CheckpointFormat::kHeddle;
  const bool zeros = checkpoint && weight.zero_point == ZeroPoint::kInt;
  const std::int64_t groups = groups_along_k(weight, k);
  const std::size_t weight_bytes =
      checkpoint ? byte_count(n * k, weight.bits) / 8 : plan.layout.total_bytes;
  check_required(source.weights, weight_bytes, "weights");
  check_wanted(source.scales, checkpoint, byte_count(groups * n, bytes_of(weight.scale_dtype)),
               "scales");
  check_wanted(source.zeros, zeros, byte_count(groups * n, weight.bits) / 8, "zeros");
}

// One of the two int32 [K].
void check_columns(const WeightOpSpec& spec, const DeviceInput& columns, bool wanted,
                   const char* name) {
  check_wanted(columns, wanted, byte_count(spec.shape.k, sizeof(std::int32_t)), name);
}

std::size_t matrix_bytes(const WeightOpSpec& spec) {
  return byte_count(spec.shape.n * spec.shape.k, bytes_of(spec.dtype));
}

}  // namespace

void validate(const Plan& plan, const DequantizeArgs& args) {
  const WeightOpSpec& spec = plan.spec.weight_op();
  const bool by_group = spec.format != CheckpointFormat::kHeddle;
  check_source(plan, args.source);
  check_columns(spec, args.source.group_index, spec.act_order && by_group, "group_index");
  check_columns(spec, args.source.permutation, spec.act_order && !by_group, "permutation");
  check_required(args.w, matrix_bytes(spec), "w");
}

void validate(const Plan& plan, const RepackArgs& args) {
  const WeightOpSpec& spec = plan.spec.weight_op();
  check_source(plan, args.source);
  check_columns(spec, args.source.group_index, false, "group_index");
  check_columns(spec, args.source.permutation, spec.act_order, "permutation");
  check_required(args.packed, plan.layout.total_bytes, "packed");
}

void validate(const Plan& plan, const QuantizeWeightArgs& args) {
  check_required(args.w, matrix_bytes(plan.spec.weight_op()), "w");
  check_required(args.packed, plan.layout.total_bytes, "packed");
}

void launch(const Kernel::State& state, const DequantizeArgs& args, Stream stream) {
  validate(state.plan, args);
  const WeightSource& source = args.source;
  const void* order =
      source.group_index.data != nullptr ? source.group_index.data : source.permutation.data;
  ArgumentList arguments;
  arguments.set(KernelArgument::kWeights, &source.weights.data);
  arguments.set(KernelArgument::kScales, &source.scales.data);
  arguments.set(KernelArgument::kZeros, &source.zeros.data);
  arguments.set(KernelArgument::kOrder, &order);
  arguments.set(KernelArgument::kW, &args.w.data);
  state.launch(0, {}, arguments, stream);
}

void launch(const Kernel::State& state, const RepackArgs& args, Stream stream) {
  validate(state.plan, args);
  ArgumentList arguments;
  arguments.set(KernelArgument::kWeights, &args.source.weights.data);
  arguments.set(KernelArgument::kScales, &args.source.scales.data);
  arguments.set(KernelArgument::kZeros, &args.source.zeros.data);
  arguments.set(KernelArgument::kPermutation, &args.source.permutation.data);
  arguments.set(KernelArgument::kPacked, &args.packed.data);
  state.launch(0, {}, arguments, stream);
}

void launch(const Kernel::State& state, const QuantizeWeightArgs& args, Stream stream) {
  validate(state.plan, args);
  ArgumentList arguments;
  arguments.set(KernelArgument::kW, &args.w.data);
  arguments.set(KernelArgument::kPacked, &args.packed.data);
  state.launch(0, {}, arguments, stream);
}

}  // namespace heddle
