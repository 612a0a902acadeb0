// KernelArgument: what the entry points of kernels take.
#ifndef HEDDLE_GENERATOR_OPERATIONS_KERNEL_ARGUMENT_H_
#define HEDDLE_GENERATOR_OPERATIONS_KERNEL_ARGUMENT_H_

#include "heddle/inspect/plan.h"

namespace heddle {

enum class KernelArgument {
  kTokenMap,     // X as a tensor map of boxes of box_tokens tokens; codes of 8 bits in pairs
  kX,            // [M, K]
  kWeights,      // packed, or those of a checkpoint
  kXScales,      // of X of eight bits: FP32, [M] or one
  kXZeroPoints,  // of X of eight bits: [M] int32
  kScales,       // of a checkpoint
  kZeros,        // of a checkpoint
  kY,            // [M, N]
  kBias,         // [N]
  kResidual,     // [M, N]
  kPreScale,     // [K]
  kPermutation,  // [K] int32
  kOrder,        // [K] int32: group_index or permutation, whichever the format has
  kGathered,     // [M, K]: X in the order of the packed columns
  kW,            // [N, K], not quantised
  kPacked,       // packed weights that are written
  kWorkspace,
  kShape,       // WeightShape: of a kernel that serves more than one
  kM,           // int32
  kSchedule,    // int32: KernelLaunch::schedule
  kParameters,  // one struct that holds all arguments of a launch
  kXScaleMap,   // x_scales of groups as a tensor map of words in boxes of box_tokens tokens
  kYScales,     // of Y of eight bits; the last one, which kKernelArguments counts to
};
inline constexpr int kKernelArguments = static_cast<int>(KernelArgument::kYScales) + 1;

// Every workspace opens with so many bytes of 32-bit counters, which are zero between launches.
inline constexpr int kWorkspaceCounterBytes = 65536;

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_OPERATIONS_KERNEL_ARGUMENT_H_
