// scale: Y[M, columns] = factor * X[M, columns] in FP32.
#ifndef HEDDLE_TESTS_NEW_OPERATION_OPERATION_SCALE_H_
#define HEDDLE_TESTS_NEW_OPERATION_OPERATION_SCALE_H_

#include <cstdint>

namespace heddle {

struct ScaleSpec {
  std::int64_t columns = 0;
  std::int64_t m_min = 1;
  std::int64_t m_max = 65536;
  int factor = 2;
};

}  // namespace heddle

#endif  // HEDDLE_TESTS_NEW_OPERATION_OPERATION_SCALE_H_
