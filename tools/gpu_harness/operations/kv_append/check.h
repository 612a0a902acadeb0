// Runs a kv_append kernel with random K, V and Q and compares the bytes of the cache and of Q's
// output with the host's.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_KV_APPEND_CHECK_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_KV_APPEND_CHECK_H_

#include <cstdint>

#include "tools/gpu_harness/harness.h"
#include "tools/gpu_harness/operations/kv_append/problem.h"

namespace heddle {

// Every byte of the cache and of Q's output: what must be written is, all else stays as it was. Of
// 16-bit values a NaN is any NaN. In the current context, for whose device the kernel was loaded.
// Throws Error.
Check check_kv_append(const Kernel& kernel, const KvAppendShape& shape, std::uint32_t seed = 1);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_KV_APPEND_CHECK_H_
