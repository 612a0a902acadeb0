// CUDA's words for GCC and Clang, where kernels run as fibers of machine.h.
#ifndef HEDDLE_TESTS_EMULATOR_CUDA_WORDS_H_
#define HEDDLE_TESTS_EMULATOR_CUDA_WORDS_H_

// The names are CUDA's, which a linter would not choose.
#pragma GCC system_header

#include <bit>
#include <cmath>

#include "tests/emulator/thread_index.h"

#define __device__
#define __global__
#define __grid_constant__
#define __shared__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline int __popc(unsigned x) { return std::popcount(x); }

#endif  // HEDDLE_TESTS_EMULATOR_CUDA_WORDS_H_
