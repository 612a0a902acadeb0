// What must come of the data of a row_transform, and what did.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_ROW_RESULTS_H_
#define HEDDLE_TOOLS_GPU_HARNESS_ROW_RESULTS_H_

#include <cstdint>
#include <vector>

namespace heddle {

struct ExpectedRows {
  std::vector<std::uint16_t> residual;  // [m][columns], exactly
  // [m][columns], in FP64, before they are rounded to 8 bits.
  std::vector<double> y;
  // How far an output may be from that: half of its last place, and what FP32 leaves open. Where Y
  // has 8 bits the latter alone, and 0 where values are sums and products of FP32, which are exact.
  std::vector<double> tolerance;
};

// What a launch has written.
struct WrittenRows {
  std::vector<std::uint8_t> y;            // [m][y_stride] of output.dtype
  std::vector<std::uint16_t> residual;    // [m][columns]; empty without
  std::vector<std::uint8_t> scales;       // row_scale_bytes()
  std::vector<std::int32_t> zero_points;  // [m]; empty without

  bool operator==(const WrittenRows& other) const = default;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_ROW_RESULTS_H_
