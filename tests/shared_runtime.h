// The Runtime that the tests of one binary share.
#ifndef HEDDLE_TESTS_SHARED_RUNTIME_H_
#define HEDDLE_TESTS_SHARED_RUNTIME_H_

#include <cstdint>
#include <cstdlib>

#include "heddle/runtime.h"
#include "tests/memory_only.h"

namespace heddle {

// From memory alone, unless HEDDLE_TEST_CACHE names a folder for compiled kernels: compiling is
// most of what the tests on a GPU take.
inline RuntimeOptions shared_options() {
  RuntimeOptions options = memory_only();
  const char* folder = std::getenv("HEDDLE_TEST_CACHE");
  if (folder == nullptr || *folder == '\0') return options;
  options.disk_cache = true;
  options.cache_dir = folder;
  options.cache_max_bytes = std::int64_t{8} << 30;  // the suite's kernels take more than one GiB
  return options;
}

inline Runtime& runtime() {
  static Runtime runtime(shared_options());
  return runtime;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_SHARED_RUNTIME_H_
