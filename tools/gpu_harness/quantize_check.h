// Runs a quantize_weight kernel with random weights and compares its bytes with the host's.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_QUANTIZE_CHECK_H_
#define HEDDLE_TOOLS_GPU_HARNESS_QUANTIZE_CHECK_H_

#include <cstdint>
#include <vector>

#include "heddle/kernel.h"
#include "heddle/spec.h"
#include "tools/gpu_harness/byte_check.h"

namespace heddle {

// W[N, K] in spec.dtype: mostly numbers about zero, and groups of all that is special: zeros, one
// sign only, subnormals, the largest values, random bits with infinities and NaN among them.
std::vector<std::uint16_t> random_matrix(const WeightOpSpec& spec, std::uint32_t seed);

// By quantize_weights() and pack_weights(). Throws Error.
std::vector<std::uint8_t> quantize_on_host(const WeightOpSpec& spec,
                                           const std::vector<std::uint16_t>& w);

// In the current context, for whose device the kernel was loaded. Throws Error.
ByteCheck run_quantize_weight(const Kernel& kernel, std::uint32_t seed = 1);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_QUANTIZE_CHECK_H_
