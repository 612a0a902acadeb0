// In how many orders of its threads a kernel runs.
#ifndef HEDDLE_TESTS_EMULATOR_INTERLEAVINGS_H_
#define HEDDLE_TESTS_EMULATOR_INTERLEAVINGS_H_

#include "tests/every_kernel.h"

namespace heddle {

// Races are found in any order (clock.h); others than the first show values that depend on it.
inline unsigned interleavings() { return every_kernel() ? 4 : 2; }

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_INTERLEAVINGS_H_
