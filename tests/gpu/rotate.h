// Properties that change from case to case of a test instead of multiplying its cases.
#ifndef HEDDLE_TESTS_GPU_ROTATE_H_
#define HEDDLE_TESTS_GPU_ROTATE_H_

#include <cstddef>
#include <iterator>

namespace heddle {

// The value of the i-th case. In a loop over i and one over j inside of it, rotate(values, i + j)
// meets every value of both loops' properties, as the letters of a Latin square do.
template <class Values>
const auto& rotate(const Values& values, std::size_t i) {
  return values[i % std::size(values)];
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_GPU_ROTATE_H_
