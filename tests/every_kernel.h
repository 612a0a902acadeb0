// Whether the tests that compile kernels compile all of them.
#ifndef HEDDLE_TESTS_EVERY_KERNEL_H_
#define HEDDLE_TESTS_EVERY_KERNEL_H_

#include <cstdlib>

namespace heddle {

// tools/test --every-kernel: every kernel of every list, for every architecture that it has.
// Without it a test takes a part of them; tests/gpu/pairwise.h and kernel_rotation.h say which.
inline bool every_kernel() {
  const char* value = std::getenv("HEDDLE_EVERY_KERNEL");
  return value != nullptr && *value != '\0';
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_EVERY_KERNEL_H_
