// How the tests of the machine find and read words of shared memory, and how often they run.
#ifndef HEDDLE_TESTS_EMULATOR_SHARED_WORDS_H_
#define HEDDLE_TESTS_EMULATOR_SHARED_WORDS_H_

#include <cstdint>

#include "tests/emulator/device.h"

namespace emulator {

inline constexpr unsigned kSeeds = 20;  // interleavings of the threads

inline std::uint32_t shared(std::uint32_t offset) { return shared_begin() + offset; }
inline std::uint32_t load(std::uint32_t offset) {
  std::uint32_t value = 0;
  load_shared(shared(offset), &value, 4);
  return value;
}

}  // namespace emulator

#endif  // HEDDLE_TESTS_EMULATOR_SHARED_WORDS_H_
