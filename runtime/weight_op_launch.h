// What a launch of dequantize, repack and quantize_weight is: its arguments' contract. Pure.
#ifndef HEDDLE_RUNTIME_WEIGHT_OP_LAUNCH_H_
#define HEDDLE_RUNTIME_WEIGHT_OP_LAUNCH_H_

#include "heddle/inspect/plan.h"
#include "heddle/kernel.h"

namespace heddle {

// Throw Error(kUsage) with the code "launch.op", "launch.missing", "launch.unexpected" or
// "launch.misaligned" if `args` break the contract of Kernel::launch.
void validate(const Plan& plan, const DequantizeArgs& args);
void validate(const Plan& plan, const RepackArgs& args);
void validate(const Plan& plan, const QuantizeWeightArgs& args);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_WEIGHT_OP_LAUNCH_H_
