// All that a launch of a GEMM takes but the weights: random activations, an output, a workspace.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_TENSORS_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_TENSORS_H_

#include <cstddef>
#include <cstdint>

#include "heddle/operations.h"
#include "tools/gpu_harness/device/guarded_buffer.h"
#include "tools/gpu_harness/device/helper_kernels.h"

namespace heddle {

// The seed of X, given that of all.
constexpr std::uint32_t x_seed(std::uint32_t seed) { return seed + 1; }

// Bytes of a row of Y.
std::size_t output_row_bytes(const GemmSpec& spec) noexcept;

// Those that the spec has no use for are empty.
struct GemmTensors {
  DeviceBuffer x;  // normal with variance 1, as are the next three; or codes of eight bits
  DeviceBuffer bias;
  DeviceBuffer residual;
  DeviceBuffer pre_scale;
  DeviceBuffer permutation;  // each column once, in a random order
  // With codes of eight bits, which random_byte_activations() makes.
  DeviceBuffer x_scales;
  std::int64_t x_scale_stride = 0;
  DeviceBuffer x_zero_points;
  DeviceBuffer y_scales;  // with Y of eight bits: 1, or room for those of groups
  GuardedBuffer y;
  DeviceBuffer workspace;  // zeroed

  GemmArgs args(std::int64_t m, const DeviceInput& weights) const noexcept;
  // Has a zeroed workspace of at least so many bytes.
  void renew_workspace(std::size_t bytes, const OwnedStream& stream);
};

// For up to max_m tokens. The same seed gives the same data. Enqueued on the stream; needs a
// current context.
GemmTensors make_gemm_tensors(const GemmKernel& kernel, std::int64_t max_m, std::uint32_t seed,
                              const HelperKernels& helpers, const OwnedStream& stream);
// As above, for any kernel of the spec, but without a workspace.
GemmTensors make_gemm_tensors(const GemmSpec& spec, std::int64_t max_m, std::uint32_t seed,
                              const HelperKernels& helpers, const OwnedStream& stream);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_TENSORS_H_
