// Shards of W that begin inside of a group: their groups, their packed bytes, and which have no
// meaning. Whom kernels serve: planner/served_shards_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "generator/operations/gemm/gemm.h"
#include "generator/operations/weight_ops/weight_ops.h"
#include "heddle/error.h"
#include "tests/generator/layout/layout_weights.h"

namespace heddle {
namespace {

using Bytes = std::vector<std::uint8_t>;

// Columns first .. first + k - 1 of W.
struct Shard {
  std::int64_t first;
  std::int64_t k;
};

GemmSpec shard_spec(const GemmSpec& whole, const Shard& shard) {
  GemmSpec spec = whole;
  spec.shape.k = shard.k;
  spec.weight.group_offset = static_cast<int>(shard.first % whole.weight.group_size);
  return spec;
}

// Columns `first` .. `first` + `count` - 1 of rows of `columns` values of `width` bytes.
Bytes columns_of(const Bytes& values, std::int64_t columns, std::int64_t first, std::int64_t count,
                 std::int64_t width) {
  Bytes slice;
  for (std::size_t row = 0; row < values.size(); row += columns * width) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row + first * width);
    slice.insert(slice.end(), begin, begin + count * width);
  }
  return slice;
}

int zero_width(const WeightSpec& weight) {
  return weight.zero_point == ZeroPoint::kFloat ? bytes_of(weight.scale_dtype) : 1;
}

// The shard's part of the codes, and the scales and zero points of all groups that it touches. The
// groups are counted in whole W, where none is cut.
QuantizedWeights shard_weights(const GemmSpec& whole, const QuantizedWeights& weights,
                               const Shard& shard) {
  const std::int64_t group_size = whole.weight.group_size;
  const std::int64_t groups = whole.shape.k / group_size;
  const std::int64_t first = shard.first / group_size;
  const std::int64_t count = (shard.first + shard.k - 1) / group_size - first + 1;
  QuantizedWeights part;
  part.codes = columns_of(weights.codes, whole.shape.k, shard.first, shard.k, 1);
  part.scales =
      columns_of(weights.scales, groups, first, count, bytes_of(whole.weight.scale_dtype));
  part.zeros = columns_of(weights.zeros, groups, first, count, zero_width(whole.weight));
  part.tensor_scale = weights.tensor_scale;
  return part;
}

// What a kernel reads for one column: docs/layouts.md, and nothing of the packer.
struct ColumnReader {
  const GemmSpec& spec;
  const Bytes& packed;
  WeightLayout layout = weight_layout(spec);

  const std::uint8_t* entry(std::int64_t row, std::int64_t k, int offset, int bytes) const {
    const std::int64_t chunk = row / 16 * layout.chunks_per_row_block + k / 128;
    const int at = (static_cast<int>(k % 128) + layout.entry_offset) / layout.meta_group;
    EXPECT_LT(at, layout.groups_per_chunk);
    return &packed[chunk * layout.chunk_bytes + offset + at * bytes];
  }
  Bytes row_value(const std::uint8_t* entry, std::int64_t row, int width) const {
    const std::int64_t i = row % 16;
    const std::uint8_t* at = entry + (i % 8 * 2 + i / 8) * width;
    return {at, at + width};
  }
  Bytes scale(std::int64_t row, std::int64_t k) const {
    return row_value(entry(row, k, layout.scale_offset, layout.scale_bytes), row,
                     bytes_of(spec.weight.scale_dtype));
  }
  Bytes zero(std::int64_t row, std::int64_t k) const {
    const std::uint8_t* at = entry(row, k, layout.zero_offset, layout.zero_bytes);
    if (spec.weight.zero_point == ZeroPoint::kFloat) {
      return row_value(at, row, zero_width(spec.weight));
    }
    std::uint16_t pair = 0;
    const int bytes = layout.zero_bytes / 8;
    std::memcpy(&pair, at + row % 8 * bytes, bytes);
    const int shift = row % 16 / 8 * spec.weight.bits;
    return {static_cast<std::uint8_t>(pair >> shift & ((1 << spec.weight.bits) - 1))};
  }
};

// Pack and unpack give back every code, scale and zero point, and each column of the packed shard
// finds the scale and the zero point that it has in whole W.
void expect_shard_of(const GemmSpec& whole, const Shard& shard) {
  const QuantizedWeights weights = random_weights(whole);
  const GemmSpec spec = shard_spec(whole, shard);
  SCOPED_TRACE(Spec::from_gemm(spec).canonical_json());
  const QuantizedWeights part = shard_weights(whole, weights, shard);
  const Bytes packed = pack_weights(spec, part);
  ASSERT_EQ(packed.size(), weight_layout(spec).total_bytes);
  const QuantizedWeights back = unpack_weights(spec, packed.data(), packed.size());
  EXPECT_EQ(back.codes, part.codes);
  EXPECT_EQ(back.scales, part.scales);
  EXPECT_EQ(back.zeros, part.zeros);
  EXPECT_EQ(back.tensor_scale, part.tensor_scale);

  const ColumnReader reader{spec, packed};
  const std::int64_t groups = whole.shape.k / whole.weight.group_size;
  const int scale_width = bytes_of(whole.weight.scale_dtype);
  for (std::int64_t row = 0; row < spec.shape.n; ++row) {
    for (std::int64_t k = 0; k < spec.shape.k; ++k) {
      const std::int64_t at = row * groups + (shard.first + k) / whole.weight.group_size;
      const auto of_whole = [at](const Bytes& values, int width) {
        const auto begin = values.begin() + at * width;
        return Bytes(begin, begin + width);
      };
      ASSERT_EQ(reader.scale(row, k), of_whole(weights.scales, scale_width)) << row << ' ' << k;
      if (weights.zeros.empty()) continue;
      ASSERT_EQ(reader.zero(row, k), of_whole(weights.zeros, zero_width(spec.weight)))
          << row << ' ' << k;
    }
  }
}

constexpr Shard kShards[] = {
    {16, 32},    // inside of one group, unless it is small
    {96, 288},   // begins late in a group
    {352, 352},  // 2.75 groups of 128: ragged at both ends
    {160, 224},  // ends with a group of 128
    {416, 352},  // up to the end of W
    {656, 32},
};

TEST(GroupOffset, ShardsHoldWhatWholeWHolds) {
  for (const int group : {32, 48, 64, 96, 128, 192, 256, 384}) {
    for (const Shard& shard : kShards) {
      for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt, ZeroPoint::kFloat}) {
        expect_shard_of(spec_of(24, 768, group, zero), shard);
      }
    }
  }
}

TEST(GroupOffset, ShardsOfEveryWidth) {
  for (int bits = 1; bits <= 8; ++bits) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
      for (const DType scale : {DType::kBf16, DType::kFp32}) {
        GemmSpec whole = spec_of(24, 768, 128, zero, scale);
        whole.weight.bits = bits;
        for (const Shard& shard : kShards) expect_shard_of(whole, shard);
      }
    }
  }
}

TEST(GroupOffset, ShardsOfFloatsTablesAndOtherOrders) {
  for (const auto& [type, bits, group, scale, order] :
       {std::tuple{WeightType::kE4m3, 8, 128, DType::kFp32, Interleave::kFragment},
        {WeightType::kE5m2, 8, 32, DType::kE8m0, Interleave::kFragment},
        {WeightType::kE2m3, 6, 96, DType::kE8m0, Interleave::kFragment},
        {WeightType::kE3m2, 6, 32, DType::kE8m0, Interleave::kLinear},
        {WeightType::kE2m1, 4, 32, DType::kE8m0, Interleave::kFragment},
        {WeightType::kE2m1, 4, 64, DType::kE4m3, Interleave::kEvenOdd},
        {WeightType::kNf4, 4, 64, DType::kBf16, Interleave::kAwq},
        {WeightType::kInt, 8, 128, DType::kFp16, Interleave::kTrtllm}}) {
    GemmSpec whole = spec_of(24, 768, group, ZeroPoint::kNone, scale);
    whole.weight.type = type;
    whole.weight.bits = bits;
    whole.weight.interleave = order;
    whole.weight.tensor_scale = true;
    for (const Shard& shard : kShards) expect_shard_of(whole, shard);
  }
}

TEST(GroupOffset, AChunkHasOneEntryMoreWhereItCutsOne) {
  const auto layout = [](int group, int offset, ZeroPoint zero = ZeroPoint::kNone) {
    GemmSpec spec = spec_of(16, 352, group, zero);
    spec.weight.group_offset = offset;
    return weight_layout(spec);
  };
  for (const int offset : {16, 32, 64, 96, 112}) {
    EXPECT_EQ(layout(128, offset).groups_per_chunk, 2) << offset;
    EXPECT_EQ(layout(128, offset).entry_offset, offset);
    EXPECT_EQ(layout(128, offset).chunk_bytes, 1024 + 2 * 32) << offset;
  }
  EXPECT_EQ(layout(128, 96, ZeroPoint::kInt).chunk_bytes, 1024 + 2 * 32 + 2 * 8);
  EXPECT_EQ(layout(32, 16).groups_per_chunk, 5);
  EXPECT_EQ(layout(64, 48).groups_per_chunk, 3);
  // Entries of 128 and of 16 columns, which these offsets do not cut.
  EXPECT_EQ(layout(256, 128).groups_per_chunk, 1);
  EXPECT_EQ(layout(48, 32).groups_per_chunk, 8);
  EXPECT_EQ(layout(48, 32).entry_offset, 0);
  EXPECT_EQ(layout(256, 192).groups_per_chunk, 2);
  EXPECT_EQ(layout(256, 192).entry_offset, 64);
  // A chunk never gets more than one.
  for (int group = 16; group <= 512; group += 16) {
    const int plain = layout(group, 0).groups_per_chunk;
    for (int offset = 16; offset < group; offset += 16) {
      const WeightLayout cut = layout(group, offset);
      EXPECT_EQ(cut.meta_group, layout(group, 0).meta_group);
      EXPECT_EQ(cut.groups_per_chunk, plain + (cut.entry_offset != 0 ? 1 : 0));
      for (int entry = 0; entry < cut.groups_per_chunk; ++entry) {
        EXPECT_EQ(entry_of_column(cut, first_column_of_entry(cut, entry)), entry);
      }
    }
  }
}

// Group 128, offset 96: the first 32 columns are of group 0, and each chunk's entry 1 is the next
// one's entry 0.
TEST(GroupOffset, BytesOfAChunk) {
  GemmSpec spec = spec_of(16, 256, 128);
  spec.weight.group_offset = 96;
  ASSERT_EQ(groups_along_k(spec.weight, 256), 3);
  const QuantizedWeights weights = random_weights(spec);
  const Bytes packed = pack_weights(spec, weights);
  ASSERT_EQ(packed.size(), 2u * 1088);
  const auto expect_group = [&](int at, int group) {
    for (int row = 0; row < 16; ++row) {
      const std::uint8_t* scale = &packed[at + (row % 8 * 2 + row / 8) * 2];
      EXPECT_EQ(std::memcmp(scale, &weights.scales[(row * 3 + group) * 2], 2), 0) << at;
    }
  };
  expect_group(1024, 0);
  expect_group(1024 + 32, 1);
  expect_group(1088 + 1024, 1);
  expect_group(1088 + 1024 + 32, 2);
}

std::string pack_refusal(const GemmSpec& spec) {
  try {
    pack_weights(spec, QuantizedWeights{});
  } catch (const Error& error) {
    // The value is one that no spec has, or breaks a rule.
    EXPECT_TRUE(error.code() == "spec.out_of_range" || error.code() == "weights.unsupported")
        << error.code();
    return error.what();
  }
  return "packed";
}

// Specs that no table of fields has seen, too.
TEST(GroupOffset, OffsetsThatAreNotInsideOfAGroupAreNotPacked) {
  for (const auto& [group, offset] : {std::pair{128, 128},
                                      {128, 144},
                                      {128, 8},
                                      {128, -16},
                                      {kPerChannel, 16},
                                      {kPerTensor, 16}}) {
    GemmSpec spec = spec_of(16, 256, group);
    spec.weight.group_offset = offset;
    EXPECT_NE(pack_refusal(spec).find("/weight/group_offset"), std::string::npos) << offset;
    EXPECT_EQ(check_meaning(spec).at(0).pointer, "/weight/group_offset");
    EXPECT_EQ(check_meaning(spec).at(0).value, std::to_string(offset));
    EXPECT_EQ(check_meaning(spec).at(0).allowed, group > 0 ? "0 to 112, a multiple of 16" : "0");
  }
}

TEST(GroupOffset, LetsTheLastGroupEndEarly) {
  GemmSpec spec = spec_of(16, 96, 128);
  EXPECT_NE(pack_refusal(spec).find("/weight/group_size"), std::string::npos);
  spec.weight.group_offset = 16;
  EXPECT_TRUE(check_meaning(spec).empty());
  spec.shape.k = 112;  // still whole steps of 32 columns
  EXPECT_EQ(check_meaning(spec).at(0).pointer, "/shape/k");
}

TEST(GroupOffset, WhatHasNoMeaningIsRefusedForThat) {
  WeightOpSpec op;
  op.shape = {64, 352};
  op.weight.group_offset = 96;
  const auto problems = [&](Op which) { return check_meaning(which, op); };
  EXPECT_TRUE(problems(Op::kDequantize).empty());
  ASSERT_EQ(problems(Op::kQuantizeWeight).size(), 1u);
  EXPECT_EQ(problems(Op::kQuantizeWeight)[0].pointer, "/weight/group_offset");
  EXPECT_THROW(quantize_weights(op, std::vector<std::uint16_t>(64 * 352)), Error);
  op.format = CheckpointFormat::kGptq;
  EXPECT_TRUE(problems(Op::kRepack).empty());
  op.act_order = true;
  ASSERT_EQ(problems(Op::kRepack).size(), 1u);
  EXPECT_EQ(problems(Op::kRepack)[0].pointer, "/weight/group_offset");
  EXPECT_EQ(problems(Op::kDequantize).size(), 1u);
}

}  // namespace
}  // namespace heddle
