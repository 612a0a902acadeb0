// Random data of row_transform, and what must come of them.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_ROW_PROBLEM_H_
#define HEDDLE_TOOLS_GPU_HARNESS_ROW_PROBLEM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/spec.h"

namespace heddle {

struct RowProblem {
  std::int64_t m = 0;
  std::int64_t x_stride = 0;  // elements
  std::int64_t y_stride = 0;
  std::vector<std::uint16_t> x;         // [m][x_stride]
  std::vector<std::uint16_t> residual;  // [m][columns]; empty without
  std::vector<std::uint16_t> weight;    // [columns]; empty without a norm
  std::vector<std::uint16_t> bias;      // [columns]; empty without
};

// Values of all sizes, rows with a mean far from zero; of many rows some that are zero, constant,
// or have an infinity or a NaN. `spare`: elements between a row's end and the next one, a multiple
// of 8.
RowProblem make_row_problem(const RowTransformSpec& spec, std::int64_t m, int spare = 0,
                            std::uint32_t seed = 1);

struct ExpectedRows {
  std::vector<std::uint16_t> residual;  // [m][columns], exactly
  std::vector<double> y;                // [m][columns], in FP64
  // How far an output may be from that: half of its last place, and what FP32 leaves open.
  std::vector<double> tolerance;
};
ExpectedRows expected_rows(const RowTransformSpec& spec, const RowProblem& problem);

// The first output that is wrong, in words; empty if there is none. `worst`, if not null, is the
// largest share of its tolerance that an output has used. `y` is [m][y_stride].
std::string fault_of_rows(const RowTransformSpec& spec, const RowProblem& problem,
                          const ExpectedRows& expected, const std::vector<std::uint16_t>& y,
                          const std::vector<std::uint16_t>& residual, double* worst = nullptr);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_ROW_PROBLEM_H_
