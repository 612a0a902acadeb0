// The kernels of weight_op_cases.h, compiled for the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_WEIGHT_OP_KERNELS_H_
#define HEDDLE_TESTS_EMULATOR_WEIGHT_OP_KERNELS_H_

#include <cstdint>
#include <vector>

namespace heddle {

using RepackOnCpu = void(const std::uint8_t* weights, const std::uint8_t* scales,
                         const std::uint8_t* zeros, const std::uint8_t* permutation,
                         std::uint8_t* packed);
using QuantizeOnCpu = void(const std::uint8_t* w, std::uint8_t* packed);
using DequantizeOnCpu = void(const std::uint8_t* weights, const std::uint8_t* scales,
                             const std::uint8_t* zeros, const int* order, std::uint8_t* w);

// In the order of the cases.
extern const std::vector<RepackOnCpu*> repack_kernels;
extern const std::vector<QuantizeOnCpu*> quantize_kernels;
extern const std::vector<DequantizeOnCpu*> dequantize_kernels;

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_WEIGHT_OP_KERNELS_H_
