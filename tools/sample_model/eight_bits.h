// Matrices of eight bits, whose activations have as many, and what a config says of them.
#ifndef HEDDLE_TOOLS_SAMPLE_MODEL_EIGHT_BITS_H_
#define HEDDLE_TOOLS_SAMPLE_MODEL_EIGHT_BITS_H_

#include <random>
#include <string>
#include <vector>

#include "tools/sample_model/sample_matrix.h"
#include "tools/sample_model/tensor_file.h"

namespace heddle {

enum class EightBits {
  kInt8,            // compressed-tensors: a scale per token and channel
  kInt8Zeros,       // and a zero point per token
  kFp8,             // "fp8": a scale per token and tensor
  kFp8Static,       // the activations' scale is in the checkpoint
  kFp8Unscaled,     // compressed-tensors: one scale for all of X, found at run time: one per token
  kFp8Blocks,       // a scale per block of 128 x 128 weights, and per token and 128 columns
  kFp8PowerBlocks,  // the same scales as powers of two, of one byte in the checkpoint
};

// Whether blocks of 128 x 128 weights share a scale.
bool has_blocks(EightBits kind);

// Random codes of `rows` x `columns` whose products keep the size of what they multiply, and their
// scales: of integers one for each row, of FP8 one or one for each block. With `scales_bf16` scales
// of integers are BF16, else FP32. Appends the tensors.
SampleMatrix add_eight_bits(EightBits kind, const std::string& name, std::size_t rows,
                            std::size_t columns, bool scales_bf16, std::mt19937& random,
                            std::vector<SampleTensor>* tensors);

// "quantization_config".
std::string eight_bits_quantisation(EightBits kind);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_SAMPLE_MODEL_EIGHT_BITS_H_
