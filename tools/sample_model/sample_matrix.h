// What a tensor of a sample model stands for.
#ifndef HEDDLE_TOOLS_SAMPLE_MODEL_SAMPLE_MATRIX_H_
#define HEDDLE_TOOLS_SAMPLE_MODEL_SAMPLE_MATRIX_H_

#include <cstddef>
#include <vector>

namespace heddle {

// [rows][columns], row-major; a vector has one row.
struct SampleMatrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<float> values;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_SAMPLE_MODEL_SAMPLE_MATRIX_H_
