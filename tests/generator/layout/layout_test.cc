#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "heddle/error.h"
#include "tests/generator/layout/layout_weights.h"

namespace heddle {
namespace {

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

TEST(WeightLayout, ScalesOfOneByteAndTheTensorsScale) {
  GemmSpec nvfp4 = spec_of(64, 256, 16, ZeroPoint::kNone, DType::kE4m3);
  nvfp4.weight.type = WeightType::kE2m1;
  nvfp4.weight.tensor_scale = true;
  const WeightLayout layout = weight_layout(nvfp4);
  EXPECT_EQ(layout.chunk_bytes, 1024 + 8 * 16);
  EXPECT_EQ(layout.tensor_offset, 4u * 2 * (1024 + 128));
  EXPECT_EQ(layout.total_bytes, layout.tensor_offset + 16);
}

// A group that does not divide a chunk has its scale once for each run of columns that does.
// Specs are parsed without this rule: whoever packs without a plan must not write past the groups.
TEST(WeightLayout, GroupsThatDoNotDivideKAreNotPacked) {
  for (const std::int64_t k : {33, 96, 200}) {
    GemmSpec spec;
    spec.shape = {16, k, 1, 1};
    spec.weight.group_size = 128;
    EXPECT_THROW(pack_weights(spec, QuantizedWeights{}), Error) << k;
    EXPECT_THROW(unpack_weights(spec, nullptr, weight_layout(spec).total_bytes), Error) << k;
    WeightOpSpec source;
    source.shape = {16, k};
    source.weight = spec.weight;
    EXPECT_THROW(quantize_weights(source, std::vector<std::uint16_t>(16 * k)), Error) << k;
  }
}

TEST(WeightLayout, GroupsAcrossChunks) {
  EXPECT_EQ(weight_layout(spec_of(64, 192, 48)).meta_group, 16);
  EXPECT_EQ(weight_layout(spec_of(64, 192, 96)).meta_group, 32);
  EXPECT_EQ(weight_layout(spec_of(64, 384, 192)).meta_group, 64);
  EXPECT_EQ(weight_layout(spec_of(64, 384, 192)).groups_per_chunk, 2);
  const GemmSpec spec = spec_of(16, 192, 96);
  const QuantizedWeights weights = random_weights(spec);
  const std::vector<std::uint8_t> packed = pack_weights(spec, weights);
  // Row 2: columns 64 .. 95 are of group 0, 96 .. 127 of group 1; so are 128 .. 159.
  const auto scale = [&](int chunk, int entry) {
    return &packed[chunk * (1024 + 4 * 32) + 1024 + entry * 32 + 2 * 4];
  };
  EXPECT_EQ(std::memcmp(scale(0, 2), &weights.scales[(2 * 2 + 0) * 2], 2), 0);
  EXPECT_EQ(std::memcmp(scale(0, 3), &weights.scales[(2 * 2 + 1) * 2], 2), 0);
  EXPECT_EQ(std::memcmp(scale(1, 0), &weights.scales[(2 * 2 + 1) * 2], 2), 0);
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

// As above, for a gated epilogue: 16 gates and 16 ups are two row blocks, and lane 0 owns gate 0
// and up 0 (row 16) in the first, gate 8 and up 8 (row 24) in the second.
TEST(PackWeights, FirstWordsOfAGatedLayerAreAGateAndItsUp) {
  GemmSpec spec = spec_of(32, 128, 128, ZeroPoint::kInt);
  spec.epilogue.gated = true;
  const QuantizedWeights weights = random_weights(spec);
  const auto code = [&](int row, int column) -> std::uint32_t {
    return weights.codes[row * 128 + column];
  };
  const std::vector<std::uint8_t> packed = pack_weights(spec, weights);
  constexpr std::size_t kChunk = 1072;
  ASSERT_EQ(packed.size(), 2 * kChunk);
  for (const int block : {0, 1}) {
    const int gate = 8 * block;
    const int up = 16 + gate;
    const std::uint8_t* const chunk = packed.data() + block * kChunk;
    std::uint32_t word = 0;
    std::memcpy(&word, chunk, 4);
    EXPECT_EQ(word, code(gate, 0) | code(up, 0) << 4 | code(gate, 8) << 8 | code(up, 8) << 12 |
                        code(gate, 1) << 16 | code(up, 1) << 20 | code(gate, 9) << 24 |
                        code(up, 9) << 28);
    for (int g = 0; g < 8; ++g) {
      EXPECT_EQ(std::memcmp(chunk + 1024 + 4 * g, &weights.scales[2 * (gate + g)], 2), 0);
      EXPECT_EQ(std::memcmp(chunk + 1024 + 4 * g + 2, &weights.scales[2 * (up + g)], 2), 0);
      EXPECT_EQ(chunk[1056 + g], weights.zeros[gate + g] | weights.zeros[up + g] << 4);
    }
  }
}

// One code at a time, all its bits set: where docs/layouts.md says that they lie in lane 0's word.
TEST(PackWeights, FloatsOfFourBitsKeepTheirSignsApart) {
  GemmSpec spec = spec_of(16, 128, 128);
  spec.weight.type = WeightType::kE2m1;
  constexpr struct {
    int row, column, magnitude, sign;
  } places[] = {{0, 0, 0, 14}, {0, 1, 16, 30}, {8, 0, 3, 12}, {8, 1, 19, 28},
                {0, 8, 6, 15}, {0, 9, 22, 31}, {8, 8, 9, 13}, {8, 9, 25, 29}};
  for (const auto& place : places) {
    QuantizedWeights weights = random_weights(spec);
    std::ranges::fill(weights.codes, std::uint8_t{0});
    weights.codes[place.row * 128 + place.column] = 0xF;
    std::uint32_t word = 0;
    std::memcpy(&word, pack_weights(spec, weights).data(), 4);
    EXPECT_EQ(word, 7u << place.magnitude | 1u << place.sign) << place.row << " " << place.column;
  }
}

TEST(LayoutVersion, AnotherOneIsRefusedByName) {
  WeightSpec weight;
  weight.type = WeightType::kE2m1;
  EXPECT_NO_THROW(check_layout_version(weight, kLayoutVersion));
  for (const int version : {0, kLayoutVersion - 1, kLayoutVersion + 1}) {
    try {
      check_layout_version(weight, version);
      ADD_FAILURE() << version << " is taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "weights.layout_version");
      EXPECT_EQ(std::string(error.what()),
                "weights of 4 bits (e2m1) that version " + std::to_string(version) +
                    " of the layout packed, and this library reads version 6: pack them again");
    }
  }
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

// A line of 128 bytes has 64 columns of four rows; in a row, 32 columns are four words, each of the
// columns 2t, 2t+1, 2t+8, 2t+9, 2t+16 ... that a lane needs, even ones low and odd ones high.
TEST(PackWeights, TensorRtLlmsTileInterleave) {
  GemmSpec spec = spec_of(16, 128, 128);
  spec.weight.interleave = Interleave::kTrtllm;
  const QuantizedWeights weights = random_weights(spec);
  const std::vector<std::uint8_t> packed = pack_weights(spec, weights);
  constexpr int kOrder[8] = {0, 8, 16, 24, 1, 9, 17, 25};
  for (int row = 0; row < 16; ++row) {
    for (int word = 0; word < 16; ++word) {
      const int at = (row / 4 * 2 + word / 8) * 128 + row % 4 * 32 + word % 8 * 4;
      std::uint32_t got = 0;
      std::memcpy(&got, &packed[at], 4);
      for (int i = 0; i < 8; ++i) {
        const int column = word / 4 * 32 + word % 4 * 2 + kOrder[i];
        EXPECT_EQ(got >> 4 * i & 15, weights.codes[row * 128 + column]) << row << ' ' << column;
      }
    }
  }
}

TEST(PackWeights, UnpackIsTheInverseForEveryFormat) {
  struct Format {
    WeightType type;
    int bits, group;
    DType scale;
    ZeroPoint zero;
    Interleave interleave;
  };
  const Format formats[] = {
      {WeightType::kE4m3, 8, kPerTensor, DType::kFp32, ZeroPoint::kNone, Interleave::kFragment},
      {WeightType::kE2m3, 6, 48, DType::kE8m0, ZeroPoint::kNone, Interleave::kFragment},
      {WeightType::kE2m1, 4, 16, DType::kE4m3, ZeroPoint::kNone, Interleave::kFragment},
      {WeightType::kNf4, 4, 96, DType::kBf16, ZeroPoint::kNone, Interleave::kAwq},
      {WeightType::kUint, 3, 32, DType::kFp16, ZeroPoint::kFloat, Interleave::kLinear},
      {WeightType::kUint, 4, kPerTensor, DType::kFp32, ZeroPoint::kFloat, Interleave::kTrtllm},
      {WeightType::kInt, 8, kPerChannel, DType::kFp16, ZeroPoint::kInt, Interleave::kTrtllm},
      {WeightType::kUint, 2, 96, DType::kFp16, ZeroPoint::kInt, Interleave::kEvenOdd},
  };
  for (const Format& format : formats) {
    for (const auto& [n, k] : {std::pair{32, 384}, {24, 192}}) {
      GemmSpec spec = spec_of(n, k, format.group, format.zero, format.scale);
      spec.weight.type = format.type;
      spec.weight.bits = format.bits;
      spec.weight.interleave = format.interleave;
      spec.weight.tensor_scale = true;
      const QuantizedWeights weights = random_weights(spec);
      const std::vector<std::uint8_t> packed = pack_weights(spec, weights);
      const QuantizedWeights back = unpack_weights(spec, packed.data(), packed.size());
      EXPECT_EQ(back.codes, weights.codes) << spec.weight.bits;
      EXPECT_EQ(back.scales, weights.scales) << spec.weight.bits;
      EXPECT_EQ(back.zeros, weights.zeros) << spec.weight.bits;
      EXPECT_EQ(back.tensor_scale, weights.tensor_scale);
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
