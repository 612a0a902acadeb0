// Options of a Runtime that takes nothing from a disk and leaves nothing there.
#ifndef HEDDLE_TESTS_MEMORY_ONLY_H_
#define HEDDLE_TESTS_MEMORY_ONLY_H_

#include "heddle/runtime.h"

namespace heddle {

inline RuntimeOptions memory_only() {
  RuntimeOptions options;
  options.disk_cache = false;
  return options;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_MEMORY_ONLY_H_
