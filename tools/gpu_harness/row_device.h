// The tensors of a row_transform in device memory.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_ROW_DEVICE_H_
#define HEDDLE_TOOLS_GPU_HARNESS_ROW_DEVICE_H_

#include "heddle/row_transform.h"
#include "tools/gpu_harness/device_memory.h"
#include "tools/gpu_harness/expected_rows.h"

namespace heddle {

// What is written lies between guards.
class DeviceRows {
 public:
  DeviceRows(const RowTransformSpec& spec, const RowProblem& problem, const OwnedStream& stream);

  RowTransformArgs args() const;
  // Poisons what is written and the guards, and gives the residual its values again.
  void reset(const OwnedStream& stream);
  WrittenRows written(const OwnedStream& stream) const;
  // Whether nothing was written outside of the rows of Y and of the residual, and of the scales.
  bool guards_intact(const OwnedStream& stream) const;

 private:
  const RowTransformSpec& spec_;
  const RowProblem& problem_;
  DeviceBuffer x_, weight_, bias_, pre_scale_, tensor_scale_;
  DeviceBuffer y_, residual_, scales_, zero_points_;  // with their guards
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_ROW_DEVICE_H_
