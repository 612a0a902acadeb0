// The scales and codes of eight bits of rows, as docs/kv-caches-and-attention.md has them, on the
// host.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_ROW_TRANSFORM_CODES_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_ROW_TRANSFORM_CODES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/spec.h"
#include "tools/gpu_harness/operations/row_transform/problem.h"

namespace heddle {

// The scale of values whose largest magnitude, or whose range with a zero point, is `width`, as it
// is stored: the bits of an FP32, or an exponent. Not finite: that of NaN.
std::uint32_t row_scale(const RowOutputSpec& output, float width);
// What values are multiplied by; 0 for a given scale that is not usable.
float inverse_scale(const RowOutputSpec& output, std::uint32_t scale);
// The zero point of values of which the smallest, or zero, is -`negative`.
int row_zero_point(float negative, float inverse);
// The code of a value that the scale is for.
std::uint8_t row_code(RowDtype dtype, float value, float inverse, int zero_point);

// Where the scale of a row's group lies in the bytes of scales; of kToken the group is 0.
std::size_t scale_place(const RowTransformSpec& spec, const RowProblem& problem, std::int64_t row,
                        std::int64_t group);
// Whether a launch writes each of the row_scale_bytes() bytes.
std::vector<bool> written_scale_bytes(const RowTransformSpec& spec, const RowProblem& problem);

// The first scale, zero point or code that is wrong, in words; empty if there is none. Each may be
// that of any value within the tolerance, where that is 0 the one of the value itself; codes count
// by the scale that was written. `worst`, if not null, becomes the largest number of codes between
// one and that of the value in FP64.
std::string fault_of_codes(const RowTransformSpec& spec, const RowProblem& problem,
                           const ExpectedRows& expected, const WrittenRows& written, double* worst);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_ROW_TRANSFORM_CODES_H_
