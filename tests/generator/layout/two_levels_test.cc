// Scales in two levels: made from W, packed, and what pack_weights() refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>

#include "generator/decode/float16.h"
#include "generator/decode/integer_code.h"
#include "generator/decode/requests.h"
#include "generator/layout/groups.h"
#include "heddle/error.h"
#include "heddle/weights.h"
#include "tests/byte_gemm.h"
#include "tests/generator/families/weight_op_plans.h"

namespace heddle {
namespace {

GemmSpec levels_spec(std::int64_t n, std::int64_t k, int group, WeightType type = WeightType::kUint,
                     ZeroPoint zero = ZeroPoint::kInt) {
  GemmSpec spec = two_level_gemm(n, k, group);
  spec.weight.type = type;
  spec.weight.zero_point = zero;
  return spec;
}

std::vector<std::uint16_t> random_w(const GemmSpec& spec, double offset = 0) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal(offset, 1);
  std::vector<std::uint16_t> w(static_cast<std::size_t>(spec.shape.n * spec.shape.k));
  for (std::uint16_t& value : w) value = float16_from_double(kBinary16, normal(random));
  return w;
}

float channel_scale(const QuantizedWeights& weights, std::int64_t row) {
  float scale = 0;
  std::memcpy(&scale, &weights.channel_scales[4 * static_cast<std::size_t>(row)], 4);
  return scale;
}

// For channels in FP32.
double weight_at(const GemmSpec& spec, const QuantizedWeights& weights, std::int64_t row,
                 std::int64_t column) {
  const DecodeRequest request = decode_request(spec.weight, DType::kInt8);
  const std::int64_t groups = groups_along_k(spec.weight, spec.shape.k);
  const auto at = static_cast<std::size_t>(row * groups + group_of_column(spec.weight, column));
  const unsigned zero = weights.zeros.empty() ? 0 : weights.zeros[at];
  const unsigned code = weights.codes[static_cast<std::size_t>(row * spec.shape.k + column)];
  const int product = weights.scales[at] * integer_weight(request, code, zero);
  EXPECT_TRUE(product >= -128 && product <= 127);
  return static_cast<double>(product) * static_cast<double>(channel_scale(weights, row));
}

TEST(TwoLevels, HaveAnAreaForChannelsBehindTheChunks) {
  GemmSpec spec = levels_spec(48, 256, 32);
  const WeightLayout layout = weight_layout(spec);
  EXPECT_EQ(layout.groups_per_chunk, 4);
  EXPECT_EQ(layout.scale_bytes, 16) << "a byte for each row";
  EXPECT_EQ(layout.zero_bytes, 8);
  EXPECT_EQ(layout.chunk_bytes, 1024 + 4 * 16 + 4 * 8);
  EXPECT_EQ(layout.channel_offset, 6U * 1120);
  EXPECT_EQ(layout.channel_bytes, 64);
  EXPECT_EQ(layout.total_bytes, 6U * 1120 + 3 * 64);
  spec.weight.channel_scale = DType::kBf16;
  EXPECT_EQ(weight_layout(spec).channel_bytes, 32);
}

// Rows g and g + 8 side by side, as scales always lie.
TEST(TwoLevels, LieWhereTheKernelReadsThem) {
  GemmSpec spec = levels_spec(16, 128, 32);
  QuantizedWeights weights = quantize_weights(weight_op_of(spec), random_w(spec));
  for (std::size_t i = 0; i < 64; ++i) weights.scales[i] = 1;
  weights.scales[4 * 3 + 2] = 5;   // row 3, group 2
  weights.scales[4 * 11 + 2] = 7;  // row 11
  for (std::size_t row : {3U, 11U}) {
    for (std::size_t k = 64; k < 96; ++k) weights.codes[128 * row + k] = weights.zeros[4 * row + 2];
  }
  const std::vector<std::uint8_t> packed = pack_weights(spec, weights);
  EXPECT_EQ(packed[1024 + 2 * 16 + 6], 5);
  EXPECT_EQ(packed[1024 + 2 * 16 + 7], 7);
  const WeightLayout layout = weight_layout(spec);
  EXPECT_EQ(std::memcmp(&packed[layout.channel_offset + 7 * 4], &weights.channel_scales[11 * 4], 4),
            0);
}

TEST(TwoLevels, ArePackedAndUnpacked) {
  for (const bool gated : {false, true}) {
    GemmSpec spec = levels_spec(80, 416, 32, WeightType::kInt);
    spec.epilogue.gated = gated;
    const QuantizedWeights weights = quantize_weights(weight_op_of(spec), random_w(spec, 0.5));
    const std::vector<std::uint8_t> packed = pack_weights(spec, weights);
    const QuantizedWeights back = unpack_weights(spec, packed.data(), packed.size());
    EXPECT_EQ(back.codes, weights.codes);
    EXPECT_EQ(back.scales, weights.scales);
    EXPECT_EQ(back.zeros, weights.zeros);
    EXPECT_EQ(back.channel_scales, weights.channel_scales);
  }
}

// Each weight is as near as the steps of its group let it be: half a step, half a unit of the
// channel's, and what the ends of the codes and of INT8 cut off.
TEST(TwoLevels, AreMadeFromW) {
  for (const WeightType type : {WeightType::kUint, WeightType::kInt}) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
      for (const double offset : {0.0, 2.0}) {
        const GemmSpec spec = levels_spec(24, 288, 96, type, zero);
        const std::vector<std::uint16_t> w = random_w(spec, offset);
        const QuantizedWeights weights = quantize_weights(weight_op_of(spec), w);
        EXPECT_NO_THROW(pack_weights(spec, weights));
        double error = 0, norm = 0;
        for (std::int64_t row = 0; row < 24; ++row) {
          double most = 0;
          for (std::int64_t k = 0; k < 288; ++k) {
            const double value =
                float16_to_double(kBinary16, w[static_cast<std::size_t>(row * 288 + k)]);
            const double off = weight_at(spec, weights, row, k) - value;
            error += off * off;
            norm += value * value;
            most = std::max(most, std::abs(value));
          }
          EXPECT_NEAR(channel_scale(weights, row) * 119, most, 1e-5 * most);
        }
        // Steps of 1/15 or 1/14 of some 5 standard deviations, without zero points of the largest.
        EXPECT_LT(std::sqrt(error / norm), 0.14) << to_string(type) << to_string(zero) << offset;
      }
    }
  }
}

// A range of 22 steps of 1 would cut off 7: two steps of it at a time are nearer.
TEST(TwoLevels, SmallGroupsKeepTheirEnds) {
  const GemmSpec spec = levels_spec(8, 64, 32);
  std::vector<std::uint16_t> w(8 * 64);
  const auto set = [&](std::size_t k, double value) {
    w[k] = float16_from_double(kBinary16, value);
  };
  set(0, 119);
  for (std::size_t k = 32; k < 64; ++k) set(k, k % 2 == 0 ? -11 : 11);
  const QuantizedWeights weights = quantize_weights(weight_op_of(spec), w);
  EXPECT_EQ(weights.scales[1], 2);
  EXPECT_LE(std::abs(weight_at(spec, weights, 0, 40) + 11), 1);
  EXPECT_LE(std::abs(weight_at(spec, weights, 0, 41) - 11), 1);
}

TEST(TwoLevels, RowsOfZeroAndOfNaN) {
  const GemmSpec spec = levels_spec(16, 64, 32);
  std::vector<std::uint16_t> w(16 * 64);
  w[64 + 5] = 0x7C00;  // row 1
  const QuantizedWeights weights = quantize_weights(weight_op_of(spec), w);
  EXPECT_EQ(channel_scale(weights, 0), 0);
  EXPECT_TRUE(std::isnan(channel_scale(weights, 1)));
  EXPECT_EQ(weight_at(spec, weights, 2, 7), 0);
  EXPECT_NO_THROW(pack_weights(spec, weights));
}

TEST(TwoLevels, PackingRefusesScalesByRowAndGroup) {
  struct Case {
    std::function<void(QuantizedWeights&)> change;
    std::string says;
  };
  const GemmSpec spec = levels_spec(16, 64, 32);
  // For row 5 and group 1, whose codes are 0 to 15 and whose zero point is 8.
  constexpr std::size_t kAt = 2 * 5 + 1;
  const Case cases[] = {
      {[](QuantizedWeights& w) { w.scales[kAt] = 0; }, "row 5, group 1: the scale is 0"},
      {[](QuantizedWeights& w) { w.scales[kAt] = 128; }, "row 5, group 1: the scale is -128"},
      {[](QuantizedWeights& w) { w.scales[kAt] = 17; },
       "row 5, group 1: a weight of -8, column 32, times the scale 17 is -136"},
      {[](QuantizedWeights& w) { w.zeros[kAt] = 7; },
       "a weight of 8, column 47, times the scale 16"},
  };
  QuantizedWeights right =
      quantize_weights(weight_op_of(spec), std::vector<std::uint16_t>(16 * 64));
  for (std::size_t k = 0; k < 32; ++k) {
    right.codes[64 * 5 + 32 + k] = static_cast<std::uint8_t>(k % 16);
  }
  right.zeros[kAt] = 8;
  right.scales[kAt] = 16;
  EXPECT_NO_THROW(pack_weights(spec, right));
  for (const Case& one : cases) {
    QuantizedWeights weights = right;
    one.change(weights);
    try {
      pack_weights(spec, weights);
      ADD_FAILURE() << one.says;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "weights.group_scale");
      EXPECT_NE(std::string(error.what()).find(one.says), std::string::npos) << error.what();
    }
  }
  right.channel_scales.pop_back();
  EXPECT_THROW(pack_weights(spec, right), Error);
}

}  // namespace
}  // namespace heddle
