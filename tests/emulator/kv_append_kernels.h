// The kernels of kv_append_cases(), compiled for the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_KV_APPEND_KERNELS_H_
#define HEDDLE_TESTS_EMULATOR_KV_APPEND_KERNELS_H_

#include <vector>

#include "runtime/launch/kv_append_launch.h"

namespace heddle {

using KvAppendOnCpu = void(KvAppendParameters parameters);

// In the order of kv_append_cases().
extern const std::vector<KvAppendOnCpu*> kv_append_kernels;

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_KV_APPEND_KERNELS_H_
