// Tensor maps as runtime/launch/tensor_maps.cc encodes them: of tokens boxes of 64 16-bit columns,
// their 16-byte units permuted by the 128-byte swizzle; of words parts of a line.
#ifndef HEDDLE_TESTS_EMULATOR_TENSOR_MAP_H_
#define HEDDLE_TESTS_EMULATOR_TENSOR_MAP_H_

#include <cstdint>

namespace emulator {

struct TensorMap {
  const std::uint8_t* matrix;
  int rows, columns;  // row-major
  int box_rows;
  // For words: those of a box, which is not permuted, and from a line to the next. 0: of tokens.
  int box_words = 0;
  std::int64_t stride = 0;
};

// Called by a fiber. What lies outside of the matrix arrives as zeros. `blocks`: those of the
// cluster that get the box, a bit each; 0: this one.
void copy_box(std::uint32_t shared, const TensorMap& map, int column, int row,
              std::uint32_t barrier, unsigned blocks);

}  // namespace emulator

#endif  // HEDDLE_TESTS_EMULATOR_TENSOR_MAP_H_
