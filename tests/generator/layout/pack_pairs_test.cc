// The fast way to pack whole chunks against write_code, element by element.
#include "generator/layout/pack_pairs.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "generator/decode/requests.h"
#include "generator/layout/fragment_order.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

constexpr int kTileK = 16;
constexpr int kTileElements = 8;

GemmSpec pairs_spec(std::int64_t n, std::int64_t k, WeightType type, int bits) {
  GemmSpec spec;
  spec.shape.n = n;
  spec.shape.k = k;
  spec.weight.type = type;
  spec.weight.bits = bits;
  spec.weight.group_size = kPerChannel;
  return spec;
}

DecodePlan decode_plan_of(const WeightSpec& weight) {
  return derive_decode_plan(decode_request(weight, DType::kFp16));
}

// The codes of a chunk as write_code places them; what is outside of W is `padding`.
std::vector<std::uint8_t> chunk_of(const GemmSpec& spec, const QuantizedWeights& weights,
                                   std::int64_t first_row, std::int64_t first_column,
                                   unsigned padding) {
  const DecodePlan plan = decode_plan_of(spec.weight);
  const int bits = spec.weight.bits;
  const int unit_columns = plan.elements() / kTileElements * kTileK;
  std::vector<std::uint8_t> chunk(16 * 128 * bits / 8);
  for (int column = 0; column < WeightLayout::kChunkK; column += unit_columns) {
    for (int lane = 0; lane < 32; ++lane) {
      std::vector<std::uint32_t> words(plan.words);
      for (int e = 0; e < plan.elements(); ++e) {
        const FragmentElement place = fragment_element(lane, e % kTileElements);
        const std::int64_t n = first_row + place.row;
        const std::int64_t k = first_column + column + e / kTileElements * kTileK + place.column;
        const bool inside = n < spec.shape.n && k < spec.shape.k;
        write_code(plan, e, inside ? weights.codes[n * spec.shape.k + k] : padding, words);
      }
      for (int i = 0; i < plan.words; ++i) {
        const int word = column % kHalfK / unit_columns * plan.words + i;
        std::memcpy(
            &chunk[column / kHalfK * kHalfK * 2 * bits + lane_word_offset(bits, lane, word)],
            &words[i], 4);
      }
    }
  }
  return chunk;
}

void expect_same_bytes(const GemmSpec& spec, unsigned padding) {
  std::mt19937 random(5);
  QuantizedWeights weights;
  weights.codes.resize(spec.shape.n * spec.shape.k);
  for (auto& code : weights.codes) {
    code = static_cast<std::uint8_t>(random() & ((1u << spec.weight.bits) - 1));
  }
  weights.scales.resize(spec.shape.n * 2);
  const std::vector<std::uint8_t> packed = pack_weights(spec, weights);
  const WeightLayout layout = weight_layout(spec);
  for (std::int64_t block = 0; block < layout.row_blocks; ++block) {
    for (std::int64_t c = 0; c < layout.chunks_per_row_block; ++c) {
      const std::vector<std::uint8_t> want = chunk_of(spec, weights, block * 16, c * 128, padding);
      const std::uint8_t* got =
          &packed[(block * layout.chunks_per_row_block + c) * layout.chunk_bytes];
      ASSERT_EQ(std::memcmp(got, want.data(), want.size()), 0)
          << spec.weight.bits << " bits, row block " << block << ", chunk " << c;
    }
  }
}

// Shapes with whole chunks, which are packed fast, beside ragged ones, which are not.
TEST(PackPairs, SameBytesAsTheSlowWayAtEveryWidth) {
  for (int bits = 1; bits <= 8; ++bits) {
    EXPECT_NE(chunk_packer(decode_plan_of(pairs_spec(16, 128, WeightType::kUint, bits).weight)),
              nullptr);
    for (const auto& [n, k] : {std::pair{16, 128}, {32, 384}, {40, 288}, {8, 160}, {24, 96}}) {
      expect_same_bytes(pairs_spec(n, k, WeightType::kUint, bits), 1u << (bits - 1));
      expect_same_bytes(pairs_spec(n, k, WeightType::kInt, bits), 0);
    }
  }
}

// Floats of 8 bits lie as integers do, those of 4 keep their signs apart; six-bit ones and tables
// have orders of their own.
TEST(PackPairs, FloatsTakeTheFastWayWhereTheirBitsLieAlike) {
  for (const auto& [type, bits, fast] : {std::tuple{WeightType::kE4m3, 8, true},
                                         {WeightType::kE5m2, 8, true},
                                         {WeightType::kE2m1, 4, true},
                                         {WeightType::kE2m3, 6, false},
                                         {WeightType::kE3m2, 6, false},
                                         {WeightType::kNf4, 4, false}}) {
    const GemmSpec spec = pairs_spec(24, 288, type, bits);
    EXPECT_EQ(chunk_packer(decode_plan_of(spec.weight)) != nullptr, fast) << to_string(type);
    expect_same_bytes(spec, 0);
  }
}

TEST(PackPairs, OrdersThatAreNotTheFragmentsAreLeftToTheSlowWay) {
  GemmSpec spec = pairs_spec(40, 288, WeightType::kUint, 4);
  for (const Interleave order : {Interleave::kLinear, Interleave::kTrtllm}) {
    spec.weight.interleave = order;
    EXPECT_EQ(chunk_packer(decode_plan_of(spec.weight)), nullptr) << to_string(order);
  }
  spec.weight.interleave = Interleave::kLinear;
  expect_same_bytes(spec, 8);
  spec.weight.interleave = Interleave::kEvenOdd;
  EXPECT_NE(chunk_packer(decode_plan_of(spec.weight)), nullptr);
  expect_same_bytes(spec, 8);
}

// As pack_weights says: each code in the low bits of its byte.
TEST(PackPairs, IgnoresBitsAboveTheCode) {
  for (int bits = 1; bits < 8; ++bits) {
    const GemmSpec spec = pairs_spec(16, 128, WeightType::kUint, bits);
    QuantizedWeights weights;
    weights.codes.resize(16 * 128);
    weights.scales.resize(16 * 2);
    for (std::size_t i = 0; i < weights.codes.size(); ++i) {
      weights.codes[i] = static_cast<std::uint8_t>(i * 37);
    }
    const std::vector<std::uint8_t> dirty = pack_weights(spec, weights);
    for (auto& code : weights.codes) code &= static_cast<std::uint8_t>((1u << bits) - 1);
    EXPECT_EQ(dirty, pack_weights(spec, weights)) << bits;
  }
}

}  // namespace
}  // namespace heddle
