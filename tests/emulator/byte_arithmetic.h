// Codes of eight bits, and the matrix instructions of a warp that multiply them.
#ifndef HEDDLE_TESTS_EMULATOR_BYTE_ARITHMETIC_H_
#define HEDDLE_TESTS_EMULATOR_BYTE_ARITHMETIC_H_

#include <cstdint>

namespace emulator {

enum class Codes { kInt8, kE4m3, kE5m2 };

double value_of(Codes codes, std::uint8_t code);
// As above, of all codes.
const double* values_of(Codes codes);

// For a lane of the warp, see templates/primitives/mma_bytes.cuh. Of kInt8 sums are 32-bit
// integers, which wrap; else floats: products and their sum are exact, then rounded to FP32 once.
void multiply_codes(Codes of_a, Codes of_b, void* d, const std::uint32_t (&a)[4],
                    const std::uint32_t (&b)[2]);
// m8n8k16 of INT8.
void multiply_small_codes(std::uint32_t (&d)[2], std::uint32_t a, std::uint32_t b);

}  // namespace emulator

#endif  // HEDDLE_TESTS_EMULATOR_BYTE_ARITHMETIC_H_
