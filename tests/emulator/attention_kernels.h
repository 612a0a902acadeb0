// The kernels of attention_cases(), compiled for the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_ATTENTION_KERNELS_H_
#define HEDDLE_TESTS_EMULATOR_ATTENTION_KERNELS_H_

#include <vector>

#include "runtime/launch/decode_attention_launch.h"

namespace heddle {

using AttentionKernel = void(AttentionParameters parameters);

// In the order of attention_cases().
extern const std::vector<AttentionKernel*> attention_kernels;

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_ATTENTION_KERNELS_H_
