// Scales and float zero points as weights store them: little-endian bits of `scale_dtype`.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_NUMBERS_STORED_SCALE_H_
#define HEDDLE_TOOLS_GPU_HARNESS_NUMBERS_STORED_SCALE_H_

#include <cstdint>
#include <vector>

#include "heddle/spec.h"

namespace heddle {

// What the bits are worth, exactly.
float stored_scale(DType dtype, std::uint32_t bits);

// The `index`th number of `bytes` bytes each.
std::uint32_t read_bits(const std::vector<std::uint8_t>& values, std::size_t index, int bytes);
void append_bits(std::vector<std::uint8_t>& values, std::uint32_t bits, int bytes);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_NUMBERS_STORED_SCALE_H_
