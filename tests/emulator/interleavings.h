// In how many orders of its threads a kernel runs.
#ifndef HEDDLE_TESTS_EMULATOR_INTERLEAVINGS_H_
#define HEDDLE_TESTS_EMULATOR_INTERLEAVINGS_H_

#include "tests/every_kernel.h"

namespace heddle {

// The race detector (clock.h) finds races in any order. Further orders find results that depend on
// the order.
inline unsigned interleavings() { return every_kernel() ? 4 : 2; }

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_INTERLEAVINGS_H_
