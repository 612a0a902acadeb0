// What a launch of dequantize, repack and quantize_weight is: its arguments' contract. Pure.
#ifndef HEDDLE_RUNTIME_LAUNCH_WEIGHT_OP_LAUNCH_H_
#define HEDDLE_RUNTIME_LAUNCH_WEIGHT_OP_LAUNCH_H_

#include "heddle/inspect/plan.h"
#include "heddle/operations.h"

namespace heddle {

// Throw Error(kUsage) with the code "launch.missing", "launch.unexpected", "launch.misaligned" or
// "launch.too_small" if `args` break their contract. Precondition: a plan of the operation.
void validate(const Plan& plan, const DequantizeArgs& args);
void validate(const Plan& plan, const RepackArgs& args);
void validate(const Plan& plan, const QuantizeWeightArgs& args);

// What the operations' handles do. Precondition: a kernel of the operation.
void launch(const Kernel::State& state, const DequantizeArgs& args, Stream stream);
void launch(const Kernel::State& state, const RepackArgs& args, Stream stream);
void launch(const Kernel::State& state, const QuantizeWeightArgs& args, Stream stream);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_LAUNCH_WEIGHT_OP_LAUNCH_H_
