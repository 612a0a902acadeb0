// SourceTensors: what a weight operation reads, in the spec's format. Host only.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_SOURCE_TENSORS_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_SOURCE_TENSORS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/spec.h"
#include "heddle/weights.h"

namespace heddle {

// What WeightSource points to, as docs/checkpoints.md has it; empty where the spec has none.
struct SourceTensors {
  std::vector<std::uint8_t> weights;
  std::vector<std::uint8_t> scales;
  std::vector<std::uint8_t> zeros;
  std::vector<std::int32_t> group_index;
  std::vector<std::int32_t> permutation;

  std::size_t bytes() const noexcept;
};

// Groups of a row.
std::int64_t groups_of(const WeightOpSpec& spec);

// Where a row's group is among scales and zero points of [N, G].
std::size_t meta_index(const WeightOpSpec& spec, std::int64_t row, std::int64_t group);

// The weights in the format; columns in order.
SourceTensors write_source(const WeightOpSpec& spec, const QuantizedWeights& weights);

// Tensors of the same sizes with any bytes: any bits are a checkpoint. Fast.
SourceTensors any_source(const WeightOpSpec& spec, std::uint32_t seed);

// Each column once, in any order.
std::vector<std::int32_t> random_permutation(std::int64_t columns, std::uint32_t seed);

// The spec of a kernel that would read the packed weights.
GemmSpec gemm_spec_of(const WeightOpSpec& spec);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_SOURCE_TENSORS_H_
