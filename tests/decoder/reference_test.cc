// What the reference must do whatever Heddle does.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/decoder/small_model.h"

namespace heddle {
namespace {

// Rotations see distances alone: a sequence behind a token that no one attends to is the same one
// position later. Here the same logits come of any common shift of positions.
TEST(DecoderReference, Llama3FrequenciesAreThoseOfTheConfig) {
  // Wavelengths up to 16 positions stay, from 64 on they are divided by 8.
  const std::vector<double> plain = rope_frequencies(10000, 64, Llama3Scaling());
  const std::vector<double> scaled = rope_frequencies(10000, 64, Llama3Scaling{8, 1, 4, 64});
  int kept = 0;
  int divided = 0;
  int between = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const double wavelength = 2 * 3.14159265358979323846 / plain[i];
    if (wavelength < 16) {
      ++kept;
      EXPECT_DOUBLE_EQ(scaled[i], plain[i]);
    } else if (wavelength > 64) {
      ++divided;
      EXPECT_DOUBLE_EQ(scaled[i], plain[i] / 8);
    } else {
      ++between;
      EXPECT_LT(scaled[i], plain[i]);
      EXPECT_GT(scaled[i], plain[i] / 8);
    }
  }
  EXPECT_GT(kept, 0);
  EXPECT_GT(divided, 0);
  EXPECT_GT(between, 0);
}

TEST(DecoderReference, YarnFrequenciesAreThoseOfTheConfig) {
  // No pair rotates 32 times in 64 positions, so the ramp begins at the first one, which stays.
  const std::vector<double> plain = rope_frequencies(10000, 64, Llama3Scaling());
  const std::vector<double> scaled = rope_frequencies(10000, 64, YarnScaling{8, 32, 1, 64});
  EXPECT_DOUBLE_EQ(scaled[0], plain[0]);
  for (std::size_t i = 1; i < plain.size(); ++i) {
    const double rotations = 64 * plain[i] / (2 * 3.14159265358979323846);
    EXPECT_LT(scaled[i] / plain[i], scaled[i - 1] / plain[i - 1] + 1e-12);
    EXPECT_EQ(scaled[i] / plain[i] > 0.1250001, rotations > 1) << i;
    EXPECT_GT(scaled[i] / plain[i], 0.1249999) << i;
  }
}

// The tests compare greedy tokens: no other token may be so near that rounding decides.
TEST(DecoderReference, NoChoiceIsClose) {
  for (const SmallModel& small :
       {small_llama(), small_qwen3(false), small_qwen3(true), small_mixtral(), small_mixtral(true),
        small_qwen3_moe(), small_gpt_oss()}) {
    const Greedy greedy = reference_greedy(small.plain, ragged_prompts(), kSureSteps);
    double least = 1e9;
    for (const auto& step : greedy.logits) {
      for (const auto& logits : step) least = std::min(least, relative_margin(logits));
    }
    EXPECT_GT(least, 0.1);
    EXPECT_GT(greedy.least_lead, 0.02) << "of experts";
  }
}

// A token must matter for those after it, and where it stands.
TEST(DecoderReference, TokensBeforeMatter) {
  const ReferenceModel model = small_llama().plain;
  const auto last = [&](const std::vector<int>& tokens) {
    ReferenceDecoder decoder(model);
    std::vector<float> logits;
    for (const int token : tokens) logits = decoder.step(token);
    return logits;
  };
  const std::vector<float> logits = last({1, 2, 3, 4});
  EXPECT_GT(relative_error(last({2, 1, 3, 4}), logits), 0.05);
  EXPECT_GT(relative_error(last({1, 2, 9, 4}), logits), 0.05);
  EXPECT_GT(relative_error(last({2, 3, 4}), logits), 0.05);
}

}  // namespace
}  // namespace heddle
