// Random data of row_transform, what must come of it, and what did.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_ROW_TRANSFORM_PROBLEM_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_ROW_TRANSFORM_PROBLEM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/spec.h"

namespace heddle {

struct RowProblem {
  std::int64_t m = 0;
  std::int64_t x_stride = 0;  // elements
  std::int64_t y_stride = 0;
  std::vector<std::uint16_t> x;          // [m][x_stride]
  std::vector<std::uint16_t> residual;   // [m][columns]; empty without
  std::vector<std::uint16_t> weight;     // [columns]; empty without a norm
  std::vector<std::uint16_t> bias;       // [columns]; empty without
  std::vector<std::uint16_t> pre_scale;  // [columns]; empty without
  float tensor_scale = 0;                // of RowGranularity::kTensor
  std::int64_t scale_stride = 0;         // as RowTransformArgs has it
};

// Values of all sizes, rows with a mean far from zero; of many rows some that are zero, constant,
// or have an infinity or a NaN; where Y has 8 bits also the largest and smallest numbers, and
// values between two codes. `spare`: elements between a row's end and the next one, a multiple of
// 8; where there are some, there are some between scales, too.
RowProblem make_row_problem(const RowTransformSpec& spec, std::int64_t m, int spare = 0,
                            std::uint32_t seed = 1);

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

ExpectedRows expected_rows(const RowTransformSpec& spec, const RowProblem& problem);

// The first output that is wrong, in words; empty if there is none. `worst`, if not null, is the
// largest share of its tolerance that an output has used; of 8 bits by how many codes one is away
// from that of FP64.
std::string fault_of_rows(const RowTransformSpec& spec, const RowProblem& problem,
                          const ExpectedRows& expected, const WrittenRows& written,
                          double* worst = nullptr);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_ROW_TRANSFORM_PROBLEM_H_
