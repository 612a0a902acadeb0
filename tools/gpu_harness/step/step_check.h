// Whether every launch of a decode step writes all of its output, in finite numbers.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_STEP_STEP_CHECK_H_
#define HEDDLE_TOOLS_GPU_HARNESS_STEP_STEP_CHECK_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "tools/gpu_harness/step/step_device.h"

namespace heddle {

// The index of the first element that is infinite or no number. Precondition: whole elements of
// FP16, BF16 or FP32.
std::optional<std::size_t> first_not_finite(const std::vector<unsigned char>& bytes, DType dtype);

// Runs the step launch by launch. Looked at are the rows that each launch hands to the next one,
// and that the residual stream is finite at the end; not what kv_append writes into the cache, nor
// whether each norm writes the residual stream, which is full ahead of the first one. Each output
// is first filled with bytes that are no number in any type, so that an element that is not written
// is found, too. Returns the bytes of the last output. Throws Error(kDriver, "step.output") that
// names the first launch with such an element, its decoder layer, row and column.
std::vector<unsigned char> check_step(const DecodeStep& step, StepDevice& device,
                                      const OwnedStream& stream);

// The bytes that the last launch has written.
std::vector<unsigned char> last_output(const StepDevice& device, const OwnedStream& stream);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_STEP_STEP_CHECK_H_
