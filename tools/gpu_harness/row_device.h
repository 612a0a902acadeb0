// The tensors of a row_transform in device memory.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_ROW_DEVICE_H_
#define HEDDLE_TOOLS_GPU_HARNESS_ROW_DEVICE_H_

#include "heddle/row_transform.h"
#include "tools/gpu_harness/device_memory.h"
#include "tools/gpu_harness/row_problem.h"

namespace heddle {

// Y and the residual lie between guards.
class DeviceRows {
 public:
  static constexpr std::size_t kGuardBytes = 4096;
  static constexpr unsigned char kGuardByte = 0xA5;

  DeviceRows(const RowProblem& problem, const OwnedStream& stream);

  RowTransformArgs args() const;
  // Poisons Y and the guards, and gives the residual its values again.
  void reset(const OwnedStream& stream);
  // [m][y_stride] and [m][columns].
  std::vector<std::uint16_t> y(const OwnedStream& stream) const;
  std::vector<std::uint16_t> residual(const OwnedStream& stream) const;
  // Whether nothing was written outside of the rows of Y and of the residual.
  bool guards_intact(std::int64_t columns, const OwnedStream& stream) const;

 private:
  const RowProblem& problem_;
  DeviceBuffer x_, weight_, bias_;
  DeviceBuffer y_, residual_;  // with their guards
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_ROW_DEVICE_H_
