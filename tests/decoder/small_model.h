// Small random models, as checkpoints and in plain numbers.
#ifndef HEDDLE_TESTS_DECODER_SMALL_MODEL_H_
#define HEDDLE_TESTS_DECODER_SMALL_MODEL_H_

#include <string>
#include <vector>

#include "tests/checkpoint/test_util.h"
#include "tests/decoder/reference.h"
#include "tools/sample_model/eight_bits.h"

namespace heddle {

struct SmallModel {
  std::string config;  // config.json
  std::vector<TestTensor> tensors;
  ReferenceModel plain;

  void write(const TemporaryFolder& folder) const {
    write_file(folder / "config.json", config);
    write_tensors(folder / "model.safetensors", tensors);
  }
};

// Llama 3.1: scaled rotations, an lm_head of its own; AWQ, FP16. With `quantised_head` GPTQ,
// lm_head, too.
SmallModel small_llama(bool quantised_head = false);
// Qwen 3: norms of the heads of Q and K, lm_head tied to the embeddings; GPTQ, BF16. With
// `act_order` columns are permuted.
SmallModel small_qwen3(bool act_order);
// Llama with weights and activations of eight bits, BF16 around them, an lm_head of 16 bits.
SmallModel small_eight_bits(EightBits kind);

// Mixtral: AWQ, FP16. Two of eight experts, whose weights add up to 1. With `act_order` GPTQ, and
// columns of experts are permuted.
SmallModel small_mixtral(bool act_order = false);
// Qwen 3 MoE: as small_qwen3(), with two of 16 experts, whose weights are parts of all experts'.
SmallModel small_qwen3_moe();
// gpt-oss: MXFP4 experts, all else BF16, with biases; sinks, a window on every other layer, YaRN.
SmallModel small_gpt_oss();

// How many tokens of an answer the reference is sure of: no other one is close.
inline constexpr int kSureSteps = 6;

// Prompts of different lengths, for a batch of three.
std::vector<std::vector<int>> ragged_prompts();

// What a batch of greedy sequences is: by step and sequence.
struct Greedy {
  std::vector<std::vector<int>> tokens;
  std::vector<std::vector<std::vector<float>>> logits;
  double least_lead = 1e9;  // ReferenceDecoder's
};
Greedy reference_greedy(const ReferenceModel& model, const std::vector<std::vector<int>>& prompts,
                        int steps);

// Root mean square of the difference, of that of `expected`.
double relative_error(const std::vector<float>& got, const std::vector<float>& expected);
// How far the largest logit is ahead of the second largest, relative to the root mean square of
// all.
double relative_margin(const std::vector<float>& logits);
int argmax(const float* logits, std::size_t count);

}  // namespace heddle

#endif  // HEDDLE_TESTS_DECODER_SMALL_MODEL_H_
