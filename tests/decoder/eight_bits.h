// The matrices of small_eight_bits(), and what its config says of them.
#ifndef HEDDLE_TESTS_DECODER_EIGHT_BITS_H_
#define HEDDLE_TESTS_DECODER_EIGHT_BITS_H_

#include <random>
#include <string>
#include <vector>

#include "tests/decoder/small_model.h"

namespace heddle {

// Whether blocks of 128 x 128 weights share a scale.
bool has_blocks(EightBits kind);

// Random codes of `rows` x `columns` whose products keep the size of what they multiply, and their
// scales: of integers one for each row, of FP8 one or one for each block. Appends the tensors.
ReferenceMatrix add_eight_bits(EightBits kind, const std::string& name, std::size_t rows,
                               std::size_t columns, std::mt19937& random,
                               std::vector<TestTensor>* tensors);

// "quantization_config".
std::string eight_bits_quantisation(EightBits kind);

}  // namespace heddle

#endif  // HEDDLE_TESTS_DECODER_EIGHT_BITS_H_
