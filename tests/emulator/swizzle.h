// The swizzle of 128 bytes, which permutes units of 16 bytes.
#ifndef HEDDLE_TESTS_EMULATOR_SWIZZLE_H_
#define HEDDLE_TESTS_EMULATOR_SWIZZLE_H_

#include <cstdint>

namespace emulator {

inline constexpr unsigned kSwizzleUnit = 16;  // bytes

// Where the byte goes: address bits 7 to 9 permute the units.
inline std::uint32_t swizzled(std::uint32_t address) { return address ^ (address >> 7 & 7) << 4; }

}  // namespace emulator

#endif  // HEDDLE_TESTS_EMULATOR_SWIZZLE_H_
