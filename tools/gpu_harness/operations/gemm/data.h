// GemmData: random data for one GEMM, on the device, in Heddle's form and in plain form.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_DATA_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_DATA_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/operations.h"
#include "heddle/spec.h"
#include "tools/gpu_harness/checked_launch.h"
#include "tools/gpu_harness/device/helper_kernels.h"
#include "tools/gpu_harness/operations/gemm/device_weights.h"
#include "tools/gpu_harness/operations/gemm/tensors.h"

namespace heddle {

// Needs a current context for its whole life; one thread at a time. The same seed gives the same
// data. Activations and the factors of their columns are normal with variance 1; weights as
// random_weights() makes them.
class GemmData {
 public:
  // Throws Error(kDriver), as do all others.
  GemmData(const GemmKernel& kernel, std::int64_t max_m, std::uint32_t seed = 1);
  // A problem for several kernels of the spec: each needs renew_workspace() before it is launched.
  GemmData(const GemmSpec& spec, std::int64_t max_m, std::uint32_t seed = 1);
  void renew_workspace(const GemmKernel& kernel);

  // Arguments of a launch. The weights are the packed ones.
  GemmArgs args(std::int64_t m) const;

  // The m rows of Y.
  CheckedLaunch::Output output(std::int64_t m);
  // Fills y and what lies around it with 0xFF: NaN in every type of Y but INT8.
  void poison_output();
  // Of Y of eight bits, its scales of groups.
  void poison_scales();
  // Whether the bytes before Y and behind its m rows are still 0xFF.
  bool guards_intact(std::int64_t m) const;
  // The bytes of Y that the last launch with M has written.
  std::vector<std::uint8_t> read_output(std::int64_t m) const;

  // The arguments of a launch with other packed weights of the spec.
  GemmArgs args(std::int64_t m, const DeviceInput& weights) const;

  // Computes the FP64 reference for M and keeps it for relative_error(); that for more tokens holds
  // it already.
  void make_reference(std::int64_t m, bool with_epilogue);
  // The error against what make_reference() last made: without the epilogue Y is [M, N] of X's
  // type. ||y - reference|| / ||reference||, of codes of eight bits without their own rounding; NaN
  // if an element of y is not a number.
  double relative_error(std::int64_t m);

  // The weights in the activation's type, [N, K].
  DeviceBuffer rounded_weights() const;
  // X in the order of the weights' columns, each column times its factor, [m, K].
  DeviceBuffer arranged_x(std::int64_t m) const;

  const GemmSpec& spec() const noexcept { return spec_; }
  bool bf16() const noexcept { return spec_.activation == DType::kBf16; }
  bool has_epilogue() const noexcept;
  const OwnedStream& stream() const noexcept { return stream_; }
  const HelperKernels& helpers() const noexcept { return helpers_; }

 private:
  // What the reference takes of codes of eight bits.
  struct ReferenceX {
    DeviceBuffer values;  // [M, K] FP16: values_before_row_scales()
    DeviceBuffer scales;  // [M]: row_scales()
  };

  ReferenceX make_reference_x(std::int64_t max_m, std::uint32_t seed) const;
  std::int64_t reference_values(std::int64_t m) const noexcept;
  // The first of them.
  std::vector<double> expected(std::size_t count) const;
  // Y of eight bits with a given scale gets one that fits its values.
  void choose_output_scale();
  double relative_error_of_codes(std::int64_t m) const;

  OwnedStream stream_;
  HelperKernels helpers_;
  GemmSpec spec_;
  DeviceWeights weights_;
  DeviceBuffer packed_;
  GemmTensors tensors_;
  DeviceBuffer reference_;
  std::int64_t reference_m_ = 0;
  bool reference_has_epilogue_ = false;
  DeviceBuffer sums_;
  ReferenceX reference_x_;
  ReferenceColumns columns_;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_DATA_H_
