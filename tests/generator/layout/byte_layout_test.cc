// Codes of eight bits that are multiplied as they are, in the packed layout.
#include <gtest/gtest.h>

#include <cstring>

#include "heddle/error.h"
#include "heddle/inspect/plan.h"
#include "heddle/weights.h"
#include "tests/byte_gemm.h"

namespace heddle {
namespace {

QuantizedWeights numbered_bytes(const GemmSpec& spec) {
  QuantizedWeights weights;
  weights.codes.resize(static_cast<std::size_t>(spec.shape.n * spec.shape.k));
  for (std::size_t i = 0; i < weights.codes.size(); ++i) {
    weights.codes[i] = static_cast<std::uint8_t>(i * 37 + i / 256);
  }
  for (std::int64_t row = 0; row < spec.shape.n; ++row) {
    const float scale = 1.0F / static_cast<float>(row + 1);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&scale);
    weights.scales.insert(weights.scales.end(), bytes, bytes + 4);
  }
  return weights;
}

QuantizedWeights four_bit_weights(const GemmSpec& spec) {
  QuantizedWeights weights = numbered_bytes(spec);
  for (std::uint8_t& code : weights.codes) code &= 15;
  weights.scales.resize(2 * static_cast<std::size_t>(spec.shape.n));
  return weights;
}

// docs/layouts.md: rows of 128 bytes, whose 16-byte units are permuted by the row's number.
TEST(ByteLayout, RowsLieAsTensorCopiesPutThem) {
  for (const auto& [n, k] : {std::pair{16, 128}, {40, 288}, {8, 32}}) {
    const GemmSpec spec = byte_gemm(n, k, DType::kFp8E4m3);
    const QuantizedWeights weights = numbered_bytes(spec);
    const std::vector<std::uint8_t> packed = pack_weights(spec, weights);
    const WeightLayout layout = weight_layout(spec);
    EXPECT_EQ(layout.chunk_bytes, 16 * 128);
    EXPECT_EQ(layout.channel_sum_offset, 0) << "of floats there are no sums";
    for (std::size_t at = 0; at < layout.channel_offset; ++at) {
      const auto chunk = static_cast<std::int64_t>(at / 2048);
      const auto byte = static_cast<std::int64_t>(at % 2048);
      const std::int64_t in_block = byte / 128;
      const std::int64_t unit = byte % 128 / 16 ^ in_block % 8;
      const std::int64_t row = chunk / layout.chunks_per_row_block * 16 + in_block;
      const std::int64_t column = chunk % layout.chunks_per_row_block * 128 + 16 * unit + byte % 16;
      const bool inside = row < n && column < k;
      const int code = inside ? weights.codes[static_cast<std::size_t>(row * k + column)] : 0;
      ASSERT_EQ(packed[at], code) << "byte " << at;
    }
  }
}

// docs/layouts.md: lanes have four words of 16 rows by 64 columns, of which two are 32 columns:
// codes of rows g and g + 8 share the bytes of a word.
TEST(ByteLayout, FourBitsLieAsTheInstructionTakesThem) {
  for (const auto& [n, k] : {std::pair{16, 128}, {40, 288}, {8, 32}}) {
    const GemmSpec spec = four_bit_gemm(n, k, DType::kInt8, kPerChannel);
    const QuantizedWeights weights = four_bit_weights(spec);
    const std::vector<std::uint8_t> packed = pack_weights(spec, weights);
    const WeightLayout layout = weight_layout(spec);
    EXPECT_EQ(layout.chunk_bytes, 16 * 64);
    for (std::size_t at = 0; at < 2 * layout.channel_offset; ++at) {
      const auto chunk = static_cast<std::int64_t>(at / 2048);
      const auto nibble = static_cast<std::int64_t>(at % 2048);
      const std::int64_t half = nibble / 1024, lane = nibble % 1024 / 32;
      const std::int64_t word = nibble % 32 / 8, byte = nibble % 8 / 2, high = nibble % 2;
      const std::int64_t row = chunk / layout.chunks_per_row_block * 16 + lane / 4 + 8 * high;
      const std::int64_t column = chunk % layout.chunks_per_row_block * 128 + 64 * half +
                                  word / 2 * 32 + word % 2 * 16 + lane % 4 * 4 + byte;
      const bool inside = row < n && column < k;
      const int padding = 8;  // a weight of zero
      const int code = inside ? weights.codes[static_cast<std::size_t>(row * k + column)] : padding;
      ASSERT_EQ(packed[at / 2] >> 4 * high & 15, code) << "code " << at;
    }
    const QuantizedWeights back = unpack_weights(spec, packed.data(), packed.size());
    EXPECT_EQ(back.codes, weights.codes);
  }
  // What kFragment stands for.
  GemmSpec fragment = four_bit_gemm(16, 128, DType::kInt8, kPerChannel);
  const std::vector<std::uint8_t> settled = pack_weights(fragment, four_bit_weights(fragment));
  fragment.weight.interleave = Interleave::kFragment;
  EXPECT_EQ(pack_weights(fragment, four_bit_weights(fragment)), settled);
}

TEST(ByteLayout, ComesBack) {
  for (const DType dtype : {DType::kInt8, DType::kFp8E4m3}) {
    for (const bool gated : {false, true}) {
      GemmSpec spec = byte_gemm(48, 288, dtype);
      spec.epilogue.gated = gated;
      const QuantizedWeights weights = numbered_bytes(spec);
      const std::vector<std::uint8_t> packed = pack_weights(spec, weights);
      const QuantizedWeights back = unpack_weights(spec, packed.data(), packed.size());
      EXPECT_EQ(back.codes, weights.codes);
      EXPECT_EQ(back.scales, weights.scales);
    }
  }
}

// What a zero point of X is multiplied by.
TEST(ByteLayout, IntegersHaveTheSumsOfTheirRows) {
  for (const bool gated : {false, true}) {
    GemmSpec spec = byte_gemm(48, 288, DType::kInt8);
    spec.epilogue.gated = gated;
    const QuantizedWeights weights = numbered_bytes(spec);
    const std::vector<std::uint8_t> packed = pack_weights(spec, weights);
    const WeightLayout layout = weight_layout(spec);
    ASSERT_NE(layout.channel_sum_offset, 0);
    for (std::size_t i = 0; i < 48; ++i) {
      const std::size_t block = i / 16, g = i % 16;
      const std::size_t row = !gated ? i : block * 8 + g % 8 + (g < 8 ? 0 : 24);
      std::int32_t sum = 0;
      for (std::size_t k = 0; k < 288; ++k) {
        sum += static_cast<std::int8_t>(weights.codes[row * 288 + k]);
      }
      std::int32_t packed_sum = 0;
      std::memcpy(&packed_sum,
                  packed.data() + layout.channel_offset +
                      block * static_cast<std::size_t>(layout.channel_bytes) +
                      static_cast<std::size_t>(layout.channel_sum_offset) + 4 * (g % 8 * 2 + g / 8),
                  4);
      EXPECT_EQ(packed_sum, sum) << "row " << row;
    }
  }
}

// docs/layouts.md: for each 64 packed rows and each chunk two scales.
TEST(ByteLayout, ScalesOfBlocksLieBehindTheChunks) {
  for (const bool gated : {false, true}) {
    GemmSpec spec = block_gemm(gated ? 512 : 336, 416);
    spec.epilogue.gated = gated;
    QuantizedWeights weights = numbered_bytes(spec);
    const std::size_t blocks = gated ? 4 : 3, chunks = 4, tiles = gated ? 8 : 6;
    weights.scales.resize(blocks * chunks * sizeof(float));
    const std::vector<std::uint8_t> packed = pack_weights(spec, weights);
    const WeightLayout layout = weight_layout(spec);
    EXPECT_EQ(layout.block_bytes, 8);
    EXPECT_EQ(layout.channel_bytes, 0);
    ASSERT_EQ(packed.size(), layout.channel_offset + tiles * chunks * 8);
    for (std::size_t tile = 0; tile < tiles; ++tile) {
      for (std::size_t i = 0; i < 2 * chunks; ++i) {
        // Among 64 packed rows with a gated epilogue 32 are gates, the others their ups.
        const std::size_t row = gated ? 32 * tile + i % 2 * 256 : 64 * tile;
        EXPECT_EQ(std::memcmp(packed.data() + layout.channel_offset + (2 * chunks * tile + i) * 4,
                              weights.scales.data() + (row / 128 * chunks + i / 2) * 4, 4),
                  0)
            << "tile " << tile << ", scale " << i;
      }
    }
    const QuantizedWeights back = unpack_weights(spec, packed.data(), packed.size());
    EXPECT_EQ(back.codes, weights.codes);
    EXPECT_EQ(back.scales, weights.scales);
    weights.scales.pop_back();
    EXPECT_THROW(pack_weights(spec, weights), Error);
  }
}

TEST(ByteLayout, ThePlanSaysWhatALaunchHas) {
  const auto arrays_of = [](const GemmSpec& spec) {
    const std::string page = describe(resolve(Spec::from_gemm(spec), target_from_name("h100")));
    const std::size_t at = page.find("a launch has: ");
    return page.substr(at, page.find('\n', at) - at);
  };
  GemmSpec spec = byte_gemm(64, 256, DType::kInt8);
  spec.output = DType::kBf16;
  EXPECT_EQ(arrays_of(spec), "a launch has: x int8 [M, 256], x_scales fp32 [M], y bf16 [M, 64]");
  spec.activation_scale.symmetric = false;
  spec.epilogue = {true, Activation::kSilu, true, true};
  EXPECT_EQ(arrays_of(spec),
            "a launch has: x int8 [M, 256], x_scales fp32 [M], x_zero_points int32 [M], bias bf16 "
            "[64], residual bf16 [M, 32], y bf16 [M, 32]");
  spec = block_gemm(256, 256);
  spec.output = DType::kFp8E4m3;
  spec.output_scale.granularity = RowGranularity::kGroup;
  EXPECT_EQ(arrays_of(spec),
            "a launch has: x fp8_e4m3 [M, 256], x_scales fp32 [2, M up to a multiple of 4], of 128 "
            "columns each, y fp8_e4m3 [M, 256], y_scales fp32 [2, M up to a multiple of 4], of 128 "
            "columns each");
}

TEST(ByteLayout, ThePlanTellsScalesOfChannelsFromWhatElseTheyHave) {
  const auto page_of = [](const GemmSpec& spec) {
    return describe(resolve(Spec::from_gemm(spec), target_from_name("h100")));
  };
  EXPECT_NE(page_of(byte_gemm(64, 256, DType::kInt8))
                .find("128 bytes per row block: 64 of scales, 64 of sums of codes\n"),
            std::string::npos);
  EXPECT_NE(page_of(byte_gemm(64, 256, DType::kFp8E4m3)).find("block: 64 of scales\n"),
            std::string::npos);
  GemmSpec spec;
  spec.shape = {64, 256, 1, 1};
  spec.weight.group_size = kPerChannel;
  spec.weight.zero_point = ZeroPoint::kInt;
  EXPECT_NE(page_of(spec).find("48 bytes per row block: 32 of scales, 8 of zero points\n"),
            std::string::npos);
}

}  // namespace
}  // namespace heddle
