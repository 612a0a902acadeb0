// examples/decoder beside the FP32 reference.
#ifndef HEDDLE_TESTS_DECODER_FOLLOW_REFERENCE_H_
#define HEDDLE_TESTS_DECODER_FOLLOW_REFERENCE_H_

#include <cstddef>
#include <vector>

#include "tests/decoder/small_model.h"

namespace heddle {

// Reads the prompts, then gives the decoder the reference's greedy tokens, step by step.
// Calls check(step, sequence, logits of the decoder) for each. A decoder has the calls of Decoder.
template <typename AnyDecoder, typename Check>
void follow_reference(AnyDecoder& decoder, const std::vector<std::vector<int>>& prompts,
                      const Greedy& expected, const Check& check) {
  decoder.read_prompts(prompts);
  std::vector<int> tokens;
  for (const auto& prompt : prompts) tokens.push_back(prompt.back());
  for (std::size_t step = 0; step < expected.tokens.size(); ++step) {
    const std::vector<float> logits = decoder.step(tokens);
    const auto vocabulary = static_cast<std::ptrdiff_t>(logits.size() / tokens.size());
    for (std::size_t s = 0; s < tokens.size(); ++s) {
      const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(s) * vocabulary;
      check(step, s, std::vector<float>(begin, begin + vocabulary));
    }
    tokens = expected.tokens[step];
  }
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_DECODER_FOLLOW_REFERENCE_H_
