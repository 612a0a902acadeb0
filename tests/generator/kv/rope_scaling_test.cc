// Scaled rotations and norms of heads on the host, against their formulas in FP64.
#include "generator/kv/rope_scaling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

#include "generator/kv/head_norm.h"
#include "generator/kv/rope.h"
#include "generator/spec/kv_complete.h"

namespace heddle {
namespace {

constexpr double kTwoPi = 2 * std::numbers::pi;

RopeSpec rope_of(int dim, std::int64_t base, const RopeScaling& scaling) {
  KvAppendSpec spec;
  spec.shape = {1, dim};
  spec.rope.pairing = RopePairing::kNeox;
  spec.rope.base = base;
  spec.rope.scaling = scaling;
  complete(spec);
  return spec.rope;
}

RopeScaling yarn(float factor) {
  RopeScaling scaling;
  scaling.type = RopeScalingType::kYarn;
  scaling.factor = factor;
  scaling.original_max_position_embeddings = 4096;
  return scaling;
}

double plain(const RopeSpec& rope, int pair) {
  return 1 / std::pow(static_cast<double>(rope.base), 2.0 * pair / rope.dim);
}

TEST(RopeScaling, LinearDividesEveryAngle) {
  RopeScaling scaling;
  scaling.type = RopeScalingType::kLinear;
  scaling.factor = 4.0F;
  const RopeSpec rope = rope_of(64, 10000, scaling);
  const std::vector<double> radians = rope_radians(rope);
  ASSERT_EQ(radians.size(), 32U);
  for (int i = 0; i < 32; ++i) {
    EXPECT_NEAR(radians[static_cast<std::size_t>(i)], plain(rope, i) / 4, 1e-15 * plain(rope, i));
  }
  EXPECT_EQ(rope_factor(rope), 1.0F);
}

// By wave lengths, as the model's paper has it: below 8192 / 4 positions a pair stays as it is,
// above 8192 it is divided.
TEST(RopeScaling, Llama3KeepsShortWaves) {
  RopeScaling scaling;
  scaling.type = RopeScalingType::kLlama3;
  scaling.factor = 8.0F;
  scaling.low_freq_factor = 1.0F;
  scaling.high_freq_factor = 4.0F;
  scaling.original_max_position_embeddings = 8192;
  const RopeSpec rope = rope_of(128, 500000, scaling);
  const std::vector<double> radians = rope_radians(rope);
  int kept = 0;
  int between = 0;
  for (int i = 0; i < 64; ++i) {
    const double angle = plain(rope, i);
    const double wave = kTwoPi / angle;
    double expected = angle;
    if (wave > 8192) {
      expected = angle / 8;
    } else if (wave < 8192.0 / 4) {
      ++kept;
    } else {
      const double smooth = (8192 / wave - 1) / (4 - 1);
      expected = (1 - smooth) * angle / 8 + smooth * angle;
      ++between;
    }
    EXPECT_NEAR(radians[static_cast<std::size_t>(i)], expected, 1e-14 * expected) << i;
  }
  // 2048 positions are a turn of pair 28.2, 8192 one of pair 35.0.
  EXPECT_EQ(kept, 29);
  EXPECT_EQ(between, 6);
}

// The numbers of gpt-oss, whose ramp is not rounded, and those that all others have.
TEST(RopeScaling, YarnHasARampOfPairs) {
  for (const bool truncate : {true, false}) {
    RopeScaling scaling = yarn(32);
    scaling.truncate = truncate;
    const RopeSpec rope = rope_of(64, 150000, scaling);
    EXPECT_NEAR(rope_factor(rope), 0.1 * std::log(32.0) + 1, 1e-7);
    const auto pair_of = [&](double turns) {
      return 64 * std::log(4096 / (turns * kTwoPi)) / (2 * std::log(150000.0));
    };
    double low = pair_of(32);
    double high = pair_of(1);
    EXPECT_NEAR(low, 8.09, 0.01);
    EXPECT_NEAR(high, 17.40, 0.01);
    if (truncate) low = 8, high = 18;
    const std::vector<double> radians = rope_radians(rope);
    for (int i = 0; i < 32; ++i) {
      const double ramp = std::fmin(std::fmax((i - low) / (high - low), 0.0), 1.0);
      const double angle = plain(rope, i);
      const double expected = angle / 32 * ramp + angle * (1 - ramp);
      EXPECT_NEAR(radians[static_cast<std::size_t>(i)], expected, 1e-14 * expected) << i;
    }
  }
}

// At positions up to a million, with the attention factor in both.
TEST(RopeScaling, CosinesAndSinesAreExact) {
  const RopeSpec rope = rope_of(128, 10000, yarn(40));
  const std::vector<std::uint64_t> frequencies = rope_frequencies(rope);
  const std::vector<double> radians = rope_radians(rope);
  const float factor = rope_factor(rope);
  for (const std::uint32_t position : {0U, 1U, 4095U, 131072U, 1048575U}) {
    for (std::size_t i = 0; i < radians.size(); ++i) {
      const Rotation got = scaled(rope_rotation(frequencies[i], position), factor);
      const long double angle = static_cast<long double>(radians[i]) * position;
      EXPECT_NEAR(got.cosine, factor * static_cast<double>(std::cos(angle)), 2.5e-7);
      EXPECT_NEAR(got.sine, factor * static_cast<double>(std::sin(angle)), 2.5e-7);
    }
  }
}

TEST(HeadNorm, IsTheFormulaInWhicheverOrderLanesAdd) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (const int elements : {16, 48, 80, 128, 256}) {
    for (const int span : {0, 16, elements}) {
      for (const int offset : {0, 1}) {
        HeadNorm norm;
        norm.epsilon = 1e-6F;
        norm.weight_offset = offset;
        std::vector<float> row(static_cast<std::size_t>(elements));
        std::vector<float> weights(row.size());
        for (float& x : row) x = 3 * normal(random);
        for (float& w : weights) w = normal(random);
        double squares = 0;
        for (const float x : row) squares += static_cast<double>(x) * x;
        std::vector<float> got = row;
        normalize_head(norm, span, weights, got.data());
        for (std::size_t i = 0; i < row.size(); ++i) {
          const double normalized = row[i] / std::sqrt(squares / elements + 1e-6);
          const double expected = normalized * (static_cast<double>(weights[i]) + offset);
          EXPECT_NEAR(got[i], expected, 1e-6 * std::abs(normalized));
        }
      }
    }
  }
}

TEST(HeadNorm, SpecialRows) {
  HeadNorm norm;
  norm.epsilon = 1e-6F;
  const std::vector<float> weights(16, 2.0F);
  std::vector<float> row(16, 0.0F);
  normalize_head(norm, 16, weights, row.data());
  EXPECT_EQ(row, std::vector<float>(16, 0.0F));
  row.assign(16, 1e30F);  // whose squares FP32 does not hold
  normalize_head(norm, 16, weights, row.data());
  EXPECT_EQ(row, std::vector<float>(16, 0.0F));
  row.assign(16, 1.0F);
  row[3] = INFINITY;
  normalize_head(norm, 16, weights, row.data());
  EXPECT_TRUE(std::isnan(row[3]));
  EXPECT_EQ(row[4], 0.0F);
}

}  // namespace
}  // namespace heddle
