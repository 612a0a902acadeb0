// Weights of 16 bits in the packed layout, and the decode plan that passes them through.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "generator/decode/decode_plan.h"
#include "generator/decode/requests.h"
#include "generator/layout/pack_pairs.h"
#include "heddle/error.h"
#include "heddle/weights.h"
#include "tests/plain_weight.h"

namespace heddle {
namespace {

// Weight i has the bits of i and never 0, which is padding.
QuantizedWeights numbered_values(const GemmSpec& spec) {
  QuantizedWeights weights;
  weights.codes.resize(static_cast<std::size_t>(2 * spec.shape.n * spec.shape.k));
  for (std::size_t i = 0; i < weights.codes.size() / 2; ++i) {
    const auto bits = static_cast<std::uint16_t>(i % 65535 + 1);
    std::memcpy(&weights.codes[2 * i], &bits, 2);
  }
  return weights;
}

std::uint16_t half_at(const std::vector<std::uint8_t>& bytes, std::size_t at) {
  std::uint16_t half = 0;
  std::memcpy(&half, &bytes.at(at), 2);
  return half;
}

TEST(PlainLayout, IsWeightsAlone) {
  const WeightLayout layout = weight_layout(plain_gemm(40, 288));
  EXPECT_EQ(layout.row_blocks, 3);
  EXPECT_EQ(layout.chunks_per_row_block, 3);
  EXPECT_EQ(layout.chunk_bytes, 16 * 128 * 2);
  EXPECT_EQ(layout.scale_offset, layout.chunk_bytes);
  EXPECT_EQ(layout.scale_bytes, 0);
  EXPECT_EQ(layout.zero_bytes, 0);
  EXPECT_EQ(layout.groups_per_chunk, 0);
  EXPECT_EQ(layout.channel_bytes, 0);
  EXPECT_EQ(layout.total_bytes, 3u * 3 * 4096);
}

// docs/layouts.md: 16 bytes of a lane are its eight elements of one tile.
TEST(PlainLayout, ALaneHasATileIn16Bytes) {
  for (const auto& [n, k] : {std::pair{16, 128}, {40, 288}, {24, 96}}) {
    const GemmSpec spec = plain_gemm(n, k);
    const std::vector<std::uint8_t> packed = pack_weights(spec, numbered_values(spec));
    const std::size_t chunks = static_cast<std::size_t>((k + 127) / 128);
    for (std::size_t at = 0; at < packed.size(); at += 2) {
      const std::size_t block = at / 4096 / chunks;
      const std::size_t tile = at / 4096 % chunks * 8 + at % 4096 / 512;
      const std::size_t lane = at % 512 / 16;
      const std::size_t element = at % 16 / 2;
      const std::size_t row = 16 * block + lane / 4 + 8 * (element / 2 % 2);
      const std::size_t column = 16 * tile + 2 * (lane % 4) + element % 2 + 8 * (element / 4);
      const bool inside = row < static_cast<std::size_t>(n) && column < static_cast<std::size_t>(k);
      const std::size_t index = row * static_cast<std::size_t>(k) + column;
      ASSERT_EQ(half_at(packed, at), inside ? index % 65535 + 1 : 0) << n << ' ' << k << ' ' << at;
    }
  }
}

TEST(PlainLayout, UnpackGivesBackWhatWasPacked) {
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    for (const auto& [n, k] : {std::pair{16, 128}, {48, 288}, {8, 32}}) {
      for (const bool gated : {false, true}) {
        GemmSpec spec = plain_gemm(n, k, dtype);
        spec.epilogue.gated = gated && n % 16 == 0;
        const QuantizedWeights weights = numbered_values(spec);
        const std::vector<std::uint8_t> packed = pack_weights(spec, weights);
        const QuantizedWeights unpacked = unpack_weights(spec, packed.data(), packed.size());
        EXPECT_EQ(unpacked.codes, weights.codes);
        EXPECT_TRUE(unpacked.scales.empty());
        EXPECT_TRUE(unpacked.zeros.empty());
      }
    }
  }
}

// Eight gates, then their eight ups, in every row block.
TEST(PlainLayout, GatedRowsAreWhereOtherWeightsHaveThem) {
  GemmSpec spec = plain_gemm(32, 128);
  spec.epilogue.gated = true;
  const std::vector<std::uint8_t> packed = pack_weights(spec, numbered_values(spec));
  EXPECT_EQ(half_at(packed, 0), 1) << "row 0, column 0";
  EXPECT_EQ(half_at(packed, 4), 16 * 128 + 1) << "row 0 of the second half of W";
  EXPECT_EQ(half_at(packed, 4096), 8 * 128 + 1) << "row block 1 begins with gate 8";
}

TEST(PlainLayout, OtherSizesAndSpecsAreRefused) {
  const auto code_of = [](const GemmSpec& spec, const QuantizedWeights& weights) {
    try {
      pack_weights(spec, weights);
    } catch (const Error& error) {
      return error.code();
    }
    return std::string();
  };
  const GemmSpec spec = plain_gemm(16, 128);
  QuantizedWeights weights = numbered_values(spec);
  EXPECT_EQ(code_of(spec, weights), "");
  weights.codes.resize(16 * 128);
  EXPECT_EQ(code_of(spec, weights), "weights.size") << "a byte to a code";
  weights = numbered_values(spec);
  weights.scales.resize(2 * 16);
  EXPECT_EQ(code_of(spec, weights), "weights.size") << "scales";
  weights = numbered_values(spec);
  weights.zeros.resize(16);
  EXPECT_EQ(code_of(spec, weights), "weights.size") << "zero points";
  weights = numbered_values(spec);
  GemmSpec wrong = spec;
  wrong.weight.bits = 4;
  EXPECT_EQ(code_of(wrong, weights), "weights.unsupported") << "bits";
  wrong = spec;
  wrong.activation = DType::kBf16;
  EXPECT_EQ(code_of(wrong, weights), "weights.unsupported") << "activation";
  wrong = spec;
  wrong.weight.group_size = 64;
  EXPECT_EQ(code_of(wrong, weights), "spec.unknown_field") << "group_size";
  const std::vector<std::uint8_t> packed = pack_weights(spec, weights);
  EXPECT_THROW(unpack_weights(spec, packed.data(), packed.size() - 1), Error);
}

TEST(PlainDecode, PassesWordsThrough) {
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    const DecodePlan plan = derive_decode_plan(decode_request(plain_weight(dtype), dtype));
    EXPECT_TRUE(plan.ops.empty());
    EXPECT_TRUE(plan.group_ops.empty());
    EXPECT_EQ(plan.words, 4);
    EXPECT_EQ(plan.elements(), 8);
    EXPECT_EQ(plan.outputs, (std::vector<int>{0, 1, 2, 3}));
    EXPECT_EQ(plan.result_exponent, 0);
    EXPECT_EQ(plan.instructions_per_weight, 0);
  }
}

TEST(PlainDecode, OnlyToTheTypeThatTheyAre) {
  for (const auto& [from, to] :
       {std::pair{DType::kFp16, DType::kBf16}, {DType::kBf16, DType::kFp16}}) {
    EXPECT_THROW(derive_decode_plan(decode_request(plain_weight(from), to)), Error);
  }
  DecodeRequest linear = decode_request(plain_weight(DType::kFp16), DType::kFp16);
  linear.order = ElementOrder::kLinear;
  EXPECT_THROW(derive_decode_plan(linear), Error);
}

// NaN and infinities stay what they are, and -0 does.
TEST(PlainDecode, ReferenceIsTheCode) {
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    const DecodeRequest request = decode_request(plain_weight(dtype), dtype);
    for (unsigned code = 0; code < 65536; ++code) {
      ASSERT_EQ(reference_decode(request, code, 0), code) << to_string(dtype);
    }
  }
}

}  // namespace
}  // namespace heddle
