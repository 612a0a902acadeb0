// What a program has from operator new. Replaces it for the whole program.
#ifndef HEDDLE_TESTS_CHECKPOINT_HEAP_PEAK_H_
#define HEDDLE_TESTS_CHECKPOINT_HEAP_PEAK_H_

#include <cstddef>

namespace heddle::testing {

// Bytes at this moment, of all threads.
std::size_t heap_bytes();
// The most since the last call of this function.
std::size_t take_heap_peak();

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_CHECKPOINT_HEAP_PEAK_H_
