// Arithmetic of registers that hold two 16-bit floats, with the GPU's rounding, and the matrix
// instruction of a warp.
#ifndef HEDDLE_TESTS_EMULATOR_HALF_ARITHMETIC_H_
#define HEDDLE_TESTS_EMULATOR_HALF_ARITHMETIC_H_

#include <cstdint>

namespace emulator {

enum class Half { kFp16, kBf16 };

// Each half rounded once.
std::uint32_t sub_pair(Half half, std::uint32_t a, std::uint32_t b);
std::uint32_t mul_pair(Half half, std::uint32_t a, std::uint32_t b);
std::uint32_t fma_pair(Half half, std::uint32_t a, std::uint32_t b, std::uint32_t c);
std::uint32_t round_pair(Half half, float low, float high);
float widen(Half half, std::uint16_t bits);
// As above, of all bits.
const float* widened_halves(Half half);

// For a lane of the warp, see templates/primitives/mma.cuh. Products and their sum are exact, then
// rounded to FP32 once.
void multiply_tiles(Half half, float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                    std::uint32_t b1);
// Four matrices of 16-bit values from shared memory.
void load_matrices(std::uint32_t (&d)[4], std::uint32_t address);
void load_matrices_transposed(std::uint32_t (&d)[4], std::uint32_t address);
// Four from registers.
void store_matrices(std::uint32_t address, const std::uint32_t (&values)[4]);
// Four or two from registers, transposed.
void store_matrices_transposed(std::uint32_t address, const std::uint32_t (&values)[4]);
void store_two_matrices_transposed(std::uint32_t address, const std::uint32_t (&values)[2]);
// One in registers.
std::uint32_t transpose_matrix(std::uint32_t a);
// Two e4m3 codes in the low 16 bits, as FP16.
std::uint32_t fp16_of_e4m3(std::uint32_t codes);

}  // namespace emulator

#endif  // HEDDLE_TESTS_EMULATOR_HALF_ARITHMETIC_H_
