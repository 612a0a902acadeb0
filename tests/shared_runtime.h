// The Runtime that the tests of one binary share.
#ifndef HEDDLE_TESTS_SHARED_RUNTIME_H_
#define HEDDLE_TESTS_SHARED_RUNTIME_H_

#include "heddle/runtime.h"
#include "tests/memory_only.h"

namespace heddle {

inline Runtime& runtime() {
  static Runtime runtime(memory_only());
  return runtime;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_SHARED_RUNTIME_H_
