// Counts what a thread allocates. Replaces operator new of the whole program.
#ifndef HEDDLE_TESTS_RUNTIME_ALLOCATION_COUNTER_H_
#define HEDDLE_TESTS_RUNTIME_ALLOCATION_COUNTER_H_

namespace heddle::testing {

// Calls of operator new by this thread so far.
long allocations();

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_RUNTIME_ALLOCATION_COUNTER_H_
