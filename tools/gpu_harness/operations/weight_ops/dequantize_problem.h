// DequantizeProblem: random quantised weights as a spec's format has them, and the bits that they
// mean. Host only.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_DEQUANTIZE_PROBLEM_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_DEQUANTIZE_PROBLEM_H_

#include <cstdint>
#include <vector>

#include "heddle/spec.h"
#include "tools/gpu_harness/operations/weight_ops/source_tensors.h"

namespace heddle {

struct DequantizeProblem {
  SourceTensors source;
  std::vector<std::uint16_t> expected;  // [N, K], output.dtype
};

// Pure: the same seed gives the same data. Codes, zero points and columns' groups are uniform; most
// scales are near 2^-6 and one in eight is any finite value, so that results reach from zero over
// subnormals to infinity.
DequantizeProblem make_dequantize_problem(const WeightOpSpec& spec, std::uint32_t seed = 1);

// Tensors of the same sizes with any bytes and an order, for timing.
SourceTensors make_any_source(const WeightOpSpec& spec, std::uint32_t seed = 1);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_DEQUANTIZE_PROBLEM_H_
