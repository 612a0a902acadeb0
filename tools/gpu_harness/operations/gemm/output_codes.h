// Y of eight bits, against what it stands for.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_OUTPUT_CODES_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_OUTPUT_CODES_H_

#include <cstdint>
#include <vector>

#include "heddle/spec.h"

namespace heddle {

// A scale by which a few values of these are beyond the largest code.
float output_scale(DType dtype, const std::vector<double>& values);

// How far codes and scales of groups are off.
struct CodeErrors {
  double squares = 0;   // of the errors
  double expected = 0;  // of what is expected
  double most = 0;      // the largest error; NaN if there is a code of a NaN
};
// Y of m rows against the expected values; `scales`: what the launch was given, or has written.
CodeErrors code_errors(const GemmSpec& spec, std::int64_t m, const std::uint8_t* y,
                       const std::uint8_t* scales, const double* expected);

// How far `expected` is from the values that are rounded to the code: 0 for one of them, NaN for
// the code of a NaN.
double code_error(DType dtype, std::uint8_t code, double scale, double expected);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_OUTPUT_CODES_H_
