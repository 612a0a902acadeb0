// What must come of the data of a row_transform.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_EXPECTED_ROWS_H_
#define HEDDLE_TOOLS_GPU_HARNESS_EXPECTED_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/spec.h"
#include "tools/gpu_harness/row_problem.h"

namespace heddle {

struct ExpectedRows {
  std::vector<std::uint16_t> residual;  // [m][columns], exactly
  // [m][columns], in FP64, before they are rounded to 8 bits.
  std::vector<double> y;
  // How far an output may be from that: half of its last place, and what FP32 leaves open. Where Y
  // has 8 bits the latter alone, and 0 where values are sums and products of FP32, which are exact.
  std::vector<double> tolerance;
};
ExpectedRows expected_rows(const RowTransformSpec& spec, const RowProblem& problem);

// What a launch has written.
struct WrittenRows {
  std::vector<std::uint8_t> y;            // [m][y_stride] of output.dtype
  std::vector<std::uint16_t> residual;    // [m][columns]; empty without
  std::vector<std::uint8_t> scales;       // row_scale_bytes()
  std::vector<std::int32_t> zero_points;  // [m]; empty without

  bool operator==(const WrittenRows& other) const = default;
};

// The first output that is wrong, in words; empty if there is none. `worst`, if not null, is the
// largest share of its tolerance that an output has used; of 8 bits by how many codes one is away
// from that of FP64.
std::string fault_of_rows(const RowTransformSpec& spec, const RowProblem& problem,
                          const ExpectedRows& expected, const WrittenRows& written,
                          double* worst = nullptr);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_EXPECTED_ROWS_H_
