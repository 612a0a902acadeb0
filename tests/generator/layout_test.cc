#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "heddle/error.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

GemmSpec spec_of(std::int64_t n, std::int64_t k, int group, ZeroPoint zero = ZeroPoint::kNone,
                 DType scale = DType::kFp16) {
  GemmSpec spec;
  spec.shape.n = n;
  spec.shape.k = k;
  spec.weight.group_size = group;
  spec.weight.zero_point = zero;
  spec.weight.scale_dtype = scale;
  return spec;
}

QuantizedWeights random_weights(const GemmSpec& spec) {
  std::mt19937 random(11);
  const std::int64_t groups =
      spec.weight.group_size == kPerChannel ? 1 : spec.shape.k / spec.weight.group_size;
  const int scale_bytes = spec.weight.scale_dtype == DType::kFp32 ? 4 : 2;
  QuantizedWeights weights;
  weights.codes.resize(spec.shape.n * spec.shape.k);
  weights.scales.resize(spec.shape.n * groups * scale_bytes);
  if (spec.weight.zero_point == ZeroPoint::kInt) weights.zeros.resize(spec.shape.n * groups);
  const unsigned codes = 1u << spec.weight.bits;
  for (auto& code : weights.codes) code = static_cast<std::uint8_t>(random() % codes);
  for (auto& byte : weights.scales) byte = static_cast<std::uint8_t>(random());
  for (auto& zero : weights.zeros) zero = static_cast<std::uint8_t>(random() % codes);
  return weights;
}

TEST(WeightLayout, ChunkSizes) {
  EXPECT_EQ(weight_layout(spec_of(64, 256, 128)).chunk_bytes, 1024 + 32);
  EXPECT_EQ(weight_layout(spec_of(64, 256, 128, ZeroPoint::kInt)).chunk_bytes, 1024 + 32 + 16);
  EXPECT_EQ(weight_layout(spec_of(64, 256, 64, ZeroPoint::kInt)).chunk_bytes, 1024 + 64 + 16);
  EXPECT_EQ(weight_layout(spec_of(64, 256, 32, ZeroPoint::kInt)).chunk_bytes, 1024 + 128 + 32);
  EXPECT_EQ(weight_layout(spec_of(64, 256, 256)).chunk_bytes, 1024 + 32);
  EXPECT_EQ(weight_layout(spec_of(64, 256, 128, ZeroPoint::kNone, DType::kFp32)).chunk_bytes,
            1024 + 64);
  const WeightLayout channel = weight_layout(spec_of(64, 256, kPerChannel, ZeroPoint::kInt));
  EXPECT_EQ(channel.chunk_bytes, 1024);
  EXPECT_EQ(channel.channel_bytes, 48);
  EXPECT_EQ(channel.total_bytes, 4u * 2 * 1024 + 4 * 48);
}

TEST(WeightLayout, PadsRowsTo16AndColumnsTo128) {
  const WeightLayout layout = weight_layout(spec_of(24, 160, 32));
  EXPECT_EQ(layout.row_blocks, 2);
  EXPECT_EQ(layout.chunks_per_row_block, 2);
}

// The first word by hand: lane 0 owns rows 0 and 8, columns 0, 1, 8 and 9 of the first tile. The
// order inside the word is even elements low, odd ones high.
TEST(PackWeights, FirstWordIsTheFragmentOfLaneZero) {
  const GemmSpec spec = spec_of(16, 128, 128);
  QuantizedWeights weights = random_weights(spec);
  const auto code = [&](int row, int column) -> std::uint32_t {
    return weights.codes[row * 128 + column];
  };
  const std::vector<std::uint8_t> packed = pack_weights(spec, weights);
  std::uint32_t word = 0;
  std::memcpy(&word, packed.data(), 4);
  EXPECT_EQ(word, code(0, 0) | code(8, 0) << 4 | code(0, 8) << 8 | code(8, 8) << 12 |
                      code(0, 1) << 16 | code(8, 1) << 20 | code(0, 9) << 24 | code(8, 9) << 28);
  // Lane 1's fourth word: columns 2, 3 and 10, 11 of the tile that starts at column 48.
  std::memcpy(&word, packed.data() + 16 + 12, 4);
  EXPECT_EQ(word & 0xF, code(0, 50));
  // The second load of lane 0 starts at column 64.
  std::memcpy(&word, packed.data() + 512, 4);
  EXPECT_EQ(word & 0xF, code(0, 64));
}

TEST(PackWeights, ScalesOfRowsGAndGPlus8AreNeighbours) {
  const GemmSpec spec = spec_of(16, 128, 64, ZeroPoint::kInt);
  const QuantizedWeights weights = random_weights(spec);
  const std::vector<std::uint8_t> packed = pack_weights(spec, weights);
  // Group 1, row 3 and row 11; two groups to a row.
  EXPECT_EQ(std::memcmp(&packed[1024 + 32 + 3 * 4], &weights.scales[(3 * 2 + 1) * 2], 2), 0);
  EXPECT_EQ(std::memcmp(&packed[1024 + 32 + 3 * 4 + 2], &weights.scales[(11 * 2 + 1) * 2], 2), 0);
  EXPECT_EQ(packed[1024 + 64 + 8 + 3], weights.zeros[3 * 2 + 1] | weights.zeros[11 * 2 + 1] << 4);
}

TEST(PackWeights, UnpackIsTheInverse) {
  for (const auto& [n, k] : {std::pair{16, 128}, {8, 32}, {24, 160}, {200, 1056}, {40, 96}}) {
    for (const int group : {kPerChannel, 32, 64, 128, 256}) {
      if (group != kPerChannel && k % group != 0) continue;
      for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
        for (const DType scale : {DType::kFp16, DType::kFp32}) {
          const GemmSpec spec = spec_of(n, k, group, zero, scale);
          const QuantizedWeights weights = random_weights(spec);
          const std::vector<std::uint8_t> packed = pack_weights(spec, weights);
          const QuantizedWeights back = unpack_weights(spec, packed.data(), packed.size());
          EXPECT_EQ(back.codes, weights.codes);
          EXPECT_EQ(back.scales, weights.scales);
          EXPECT_EQ(back.zeros, weights.zeros);
        }
      }
    }
  }
}

TEST(PackWeights, UnpackIsTheInverseAtEveryWidth) {
  for (int bits = 1; bits <= 8; ++bits) {
    for (const auto& [n, k] : {std::pair{32, 256}, {24, 160}, {8, 32}}) {
      for (const int group : {kPerChannel, 16, 32}) {
        GemmSpec spec = spec_of(n, k, group, ZeroPoint::kInt);
        spec.weight.bits = bits;
        const QuantizedWeights weights = random_weights(spec);
        const std::vector<std::uint8_t> packed = pack_weights(spec, weights);
        const QuantizedWeights back = unpack_weights(spec, packed.data(), packed.size());
        EXPECT_EQ(back.codes, weights.codes) << bits << " bits";
        EXPECT_EQ(back.scales, weights.scales) << bits << " bits";
        EXPECT_EQ(back.zeros, weights.zeros) << bits << " bits";
      }
    }
  }
}

TEST(PackWeights, RefusesArraysOfTheWrongSize) {
  const GemmSpec spec = spec_of(16, 128, 128);
  QuantizedWeights weights = random_weights(spec);
  weights.codes.pop_back();
  EXPECT_THROW(pack_weights(spec, weights), Error);
  const std::vector<std::uint8_t> packed(100);
  EXPECT_THROW(unpack_weights(spec, packed.data(), packed.size()), Error);
}

}  // namespace
}  // namespace heddle
