// K or V of an AttentionProblem: made at random, and read in FP64.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_DECODE_ATTENTION_TENSOR_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_DECODE_ATTENTION_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "heddle/kv_cache.h"
#include "heddle/spec.h"
#include "tools/gpu_harness/operations/decode_attention/input.h"

namespace heddle {

struct TokenPlace {
  std::int64_t page;
  std::int64_t row;
};

// Where the cache has a token of a sequence.
TokenPlace place_of(const AttentionProblem& problem, std::size_t sequence, std::int64_t token);

class AttentionTensor {
 public:
  // `value`: V, else K.
  AttentionTensor(const DecodeAttentionSpec& spec, bool value);

  const KvTensorLayout& layout() const { return layout_; }

  // All heads of a token: random codes, and scales where it is the first one that has them; of K
  // with scales per channel the last tokens as they are, in the window.
  void fill_token(std::size_t sequence, std::int64_t token, std::mt19937& random,
                  AttentionProblem& problem) const;
  // The scale and zero point of the whole tensor.
  void fill_given(std::mt19937& random, AttentionProblem& problem) const;

  // The values of one head of a token.
  void read(const AttentionProblem& problem, std::size_t sequence, std::int64_t token, int head,
            std::vector<double>& values) const;

 private:
  std::size_t code_offset(const AttentionProblem& problem, TokenPlace place, int head) const;
  std::size_t scale_offset(const AttentionProblem& problem, TokenPlace place, int head) const;
  // The row of a token that is in the window; null of others.
  const std::uint16_t* row_in_window(const AttentionProblem& problem, std::size_t sequence,
                                     std::int64_t token, int head) const;
  int scale_bytes() const { return type_ == DType::kE4m3 ? 1 : type_ == DType::kFp32 ? 4 : 2; }
  double usual_scale() const;
  double zero_of(std::mt19937& random) const;
  void fill_codes(std::uint8_t* row, std::mt19937& random) const;
  void fill_scales(std::uint8_t* row, std::mt19937& random) const;
  double value_of(const std::uint8_t* row, int d) const;

  std::size_t index_;  // of K or V in an AttentionProblem
  KvTensor tensor_;
  KvTensorLayout layout_;
  DType type_;
  DType activation_;
  int bits_;
  int head_dim_;
  int middle_;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_DECODE_ATTENTION_TENSOR_H_
