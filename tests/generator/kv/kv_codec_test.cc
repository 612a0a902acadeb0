// The host's codec of a cache: what its codes mean, how near they are, and the cases at the edge.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "heddle/kv_cache.h"
#include "heddle/spec.h"

namespace heddle {
namespace {

constexpr int kHeads = 3;
constexpr int kDim = 64;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr KvDtype kCoded[] = {KvDtype::kInt8,    KvDtype::kInt4,    KvDtype::kInt2,
                              KvDtype::kFp8E4m3, KvDtype::kFp8E5m2, KvDtype::kNvfp4};

// Complete, as a spec has it.
KvTensor tensor(KvDtype dtype, KvGranularity granularity = KvGranularity::kAuto,
                bool symmetric = true, std::optional<DType> scale = {}) {
  KvAppendSpec spec;
  spec.shape = {kHeads, kDim};
  spec.kv.k = {dtype, granularity, 0, symmetric, scale};
  if (granularity == KvGranularity::kGroup && dtype != KvDtype::kNvfp4) spec.kv.k.group_size = 32;
  return Spec::from_kv_append(spec).kv().k;
}

std::vector<KvTensor> every_tensor() {
  std::vector<KvTensor> all;
  for (const KvDtype dtype : kCoded) {
    if (dtype == KvDtype::kNvfp4) {
      all.push_back(tensor(dtype));
      continue;
    }
    for (const auto granularity : {KvGranularity::kTensor, KvGranularity::kToken,
                                   KvGranularity::kHead, KvGranularity::kGroup}) {
      for (const DType scale : {DType::kFp16, DType::kBf16, DType::kFp32}) {
        if (granularity == KvGranularity::kTensor && scale != DType::kFp32) continue;
        all.push_back(tensor(dtype, granularity, true, scale));
        const bool integer = dtype <= KvDtype::kInt2;
        if (integer) all.push_back(tensor(dtype, granularity, false, scale));
      }
    }
  }
  return all;
}

std::string name_of(const KvTensor& t) {
  return std::string(to_string(t.dtype)) + ' ' + std::string(to_string(t.granularity)) +
         (t.symmetric ? " " : " asymmetric ") + std::string(to_string(*t.scale_dtype));
}

std::vector<float> random_values(unsigned seed, float size = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, size);
  std::vector<float> values(kHeads * kDim);
  for (float& value : values) value = normal(random);
  return values;
}

std::vector<float> there_and_back(const KvTensor& t, const std::vector<float>& values,
                                  const KvGivenScale& given = {}) {
  return dequantize_kv(t, kHeads, kDim, quantize_kv(t, kHeads, kDim, values.data(), given), given);
}

// The first and the one behind the last element that share a scale with element i.
std::pair<int, int> group_of(const KvTensor& t, int i) {
  int size = kHeads * kDim;
  if (t.granularity == KvGranularity::kHead) size = kDim;
  if (t.granularity == KvGranularity::kGroup) size = t.group_size;
  return {i / size * size, i / size * size + size};
}

TEST(KvCodec, SizesAreThoseOfTheLayout) {
  for (const KvTensor& t : every_tensor()) {
    KvSpec kv;
    kv.k = kv.v = t;
    const KvTensorLayout layout = kv_cache_layout(kv, kHeads, kDim).k;
    const KvToken token = quantize_kv(t, kHeads, kDim, random_values(1).data());
    EXPECT_EQ(token.codes.size(), layout.code_bytes(1, 1)) << name_of(t);
    EXPECT_EQ(token.scales.size(), layout.scale_bytes(1, 1)) << name_of(t);
  }
}

// Half a step of the group's own scale, and what rounding of the scale adds.
TEST(KvCodec, IntegersAreTheNearest) {
  for (const KvTensor& t : every_tensor()) {
    if (t.dtype > KvDtype::kInt2 || t.granularity == KvGranularity::kTensor) continue;
    const std::vector<float> values = random_values(2);
    const std::vector<float> back = there_and_back(t, values);
    const int steps = (1 << kv_bits(t.dtype)) - (t.symmetric ? 2 : 1);
    for (int i = 0; i < kHeads * kDim; ++i) {
      const auto [first, last] = group_of(t, i);
      float high = 0;
      float low = 0;
      for (int j = first; j < last; ++j) {
        high = std::max(high, values[j]);
        low = std::min(low, values[j]);
      }
      const float width = t.symmetric ? 2 * std::max(high, -low) : high - low;
      // A zero point is rounded, too: half a step more at the ends of the range.
      const float half = width / static_cast<float>(steps) * (t.symmetric ? 0.5F : 1.0F);
      EXPECT_LE(std::fabs(back[i] - values[i]), half * 1.01F + width / 250) << name_of(t);
    }
  }
}

TEST(KvCodec, FloatsAreAsNearAsTheirMantissa) {
  for (const auto& [dtype, relative] :
       {std::pair{KvDtype::kFp8E4m3, 1.0F / 16}, {KvDtype::kFp8E5m2, 1.0F / 8}}) {
    const KvTensor t = tensor(dtype, KvGranularity::kHead);
    const std::vector<float> values = random_values(3);
    const std::vector<float> back = there_and_back(t, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_LE(std::fabs(back[i] - values[i]), std::fabs(values[i]) * relative * 1.01F + 1e-5F);
    }
  }
}

TEST(KvCodec, SmallValuesByHand) {
  // amax 127: the scale is 1, and codes are the values plus 128.
  std::vector<float> values(kHeads * kDim, 0);
  values[0] = 127;
  values[1] = -127;
  values[2] = 2.5F;  // to even
  values[3] = 3.5F;
  const KvToken int8 = quantize_kv(tensor(KvDtype::kInt8), kHeads, kDim, values.data());
  EXPECT_EQ(int8.scales[0] | int8.scales[1] << 8, 0x3C00);
  EXPECT_EQ((std::vector<std::uint8_t>(int8.codes.begin(), int8.codes.begin() + 5)),
            (std::vector<std::uint8_t>{255, 1, 130, 132, 128}));
  // 4 bits: the even element is in the low half of a byte.
  values[0] = 7;
  values[1] = -7;
  const KvToken int4 = quantize_kv(tensor(KvDtype::kInt4), kHeads, kDim, values.data());
  EXPECT_EQ(int4.codes[0], 0x1F);
  EXPECT_EQ(int4.codes[1], 0xCA);
  // From -1 to 2 in three steps: the scale is 1, the zero point 1.
  values = std::vector<float>(kHeads * kDim, 2);
  values[0] = -1;
  values[1] = 0;
  values[2] = 1;
  const KvTensor asymmetric = tensor(KvDtype::kInt2, KvGranularity::kHead, false);
  const KvToken int2 = quantize_kv(asymmetric, kHeads, kDim, values.data());
  EXPECT_EQ(int2.codes[0], 0b11100100);
  EXPECT_EQ(int2.scales[2] | int2.scales[3] << 8, 0x3C00);
}

TEST(KvCodec, ZerosAreZerosAndDivideNothing) {
  for (const KvTensor& t : every_tensor()) {
    std::vector<float> values(kHeads * kDim, 0);
    values[5] = -0.0F;
    for (const float value : there_and_back(t, values)) EXPECT_EQ(value, 0) << name_of(t);
    if (t.granularity == KvGranularity::kTensor) continue;
    const KvToken token = quantize_kv(t, kHeads, kDim, values.data());
    for (const std::uint8_t byte : token.scales) EXPECT_EQ(byte, 0) << name_of(t);
    // What is too small for any scale counts as zero.
    values.assign(values.size(), 1e-44F);
    for (const float value : there_and_back(t, values)) EXPECT_EQ(value, 0) << name_of(t);
  }
}

TEST(KvCodec, ConstantRowsComeBack) {
  for (const KvTensor& t : every_tensor()) {
    if (t.granularity == KvGranularity::kTensor) continue;
    for (const float constant : {3.0F, -0.75F}) {
      const std::vector<float> values(kHeads * kDim, constant);
      for (const float value : there_and_back(t, values)) {
        EXPECT_NEAR(value, constant, std::fabs(constant) / 50) << name_of(t);
      }
    }
  }
}

// The scale stops at the largest finite value of its type; the codes saturate.
TEST(KvCodec, HugeValuesStayFinite) {
  for (const KvTensor& t : every_tensor()) {
    std::vector<float> values = random_values(4, 1e37F);
    values[0] = 0x1.fep127F;  // bfloat16's largest
    values[1] = -values[0];
    for (const float value : there_and_back(t, values)) {
      EXPECT_TRUE(std::isfinite(value)) << name_of(t);
    }
    if (!t.symmetric) continue;  // with a scale that saturates, one side of the range may be lost
    const std::vector<float> back = there_and_back(t, values);
    EXPECT_GT(back[0], 0) << name_of(t);
    EXPECT_LT(back[1], 0) << name_of(t);
  }
}

TEST(KvCodec, NanAndInfinityAreSeenInTheirGroupOnly) {
  for (const KvTensor& t : every_tensor()) {
    if (t.granularity == KvGranularity::kTensor) continue;
    for (const float bad : {kNan, kInfinity, -kInfinity}) {
      constexpr int kAt = kDim + 20;
      std::vector<float> values = random_values(5);
      values[kAt] = 0;
      const std::vector<float> clean = there_and_back(t, values);
      values[kAt] = bad;
      const std::vector<float> back = there_and_back(t, values);
      const auto [first, last] = group_of(t, kAt);
      for (int i = 0; i < kHeads * kDim; ++i) {
        if (i >= first && i < last) {
          EXPECT_TRUE(std::isnan(back[i])) << name_of(t) << ' ' << i;
        } else {
          EXPECT_EQ(back[i], clean[i]) << name_of(t) << ' ' << i;
        }
      }
    }
  }
}

// A given scale is no part of the cache: integers have no NaN, so it reads as zero there.
TEST(KvCodec, GivenScales) {
  const KvTensor int8 = tensor(KvDtype::kInt8, KvGranularity::kTensor);
  std::vector<float> values = random_values(6);
  values[0] = kNan;
  values[1] = kInfinity;
  values[2] = -1000;
  const std::vector<float> back = there_and_back(int8, values, {0.5F, 0});
  EXPECT_EQ(back[0], 0);
  EXPECT_EQ(back[1], 63.5F);
  EXPECT_EQ(back[2], -63.5F);
  const KvTensor fp8 = tensor(KvDtype::kFp8E4m3);
  const std::vector<float> floats = there_and_back(fp8, values, {1, 0});
  EXPECT_TRUE(std::isnan(floats[0]));
  EXPECT_EQ(floats[1], 448);
  EXPECT_EQ(floats[2], -448);
  // A scale that divides nothing gives codes of zero.
  for (const float scale : {0.0F, -1.0F, kNan, kInfinity}) {
    for (const std::uint8_t code :
         quantize_kv(int8, kHeads, kDim, values.data(), {scale, 0}).codes) {
      EXPECT_EQ(code, 128);
    }
  }
  const KvTensor asymmetric = tensor(KvDtype::kInt4, KvGranularity::kTensor, false);
  values.assign(values.size(), 1);
  for (const float value : there_and_back(asymmetric, values, {0.25F, 4})) EXPECT_EQ(value, 1);
}

// A channel of a block is to its scale what a head of a token is: the same codes and scales, in
// other places, and the same edges.
TEST(KvCodec, ChannelsOfABlockAreHeadsOfItsTranspose) {
  constexpr int kTokens = 32;
  constexpr int kChannels = kHeads * kDim;
  for (const KvTensor& by_head : every_tensor()) {
    if (by_head.granularity != KvGranularity::kHead) continue;
    KvTensor t = by_head;
    t.granularity = KvGranularity::kChannel;
    t.group_size = kTokens;
    ASSERT_EQ(kv_block_tokens(t), kTokens);
    std::vector<float> block;
    for (int token = 0; token < kTokens; ++token) {
      const std::vector<float> row = random_values(static_cast<unsigned>(token), 3);
      block.insert(block.end(), row.begin(), row.end());
    }
    for (int token = 0; token < kTokens; ++token) block[token * kChannels + 3] = 0;
    for (int token = 0; token < kTokens; ++token) block[token * kChannels + 5] = -0.75F;
    block[7 * kChannels + 9] = kNan;
    block[2 * kChannels + 70] = 1e37F;
    std::vector<float> turned(block.size());
    for (int i = 0; i < kTokens * kChannels; ++i) {
      turned[i % kChannels * kTokens + i / kChannels] = block[i];
    }
    const KvToken got = quantize_kv(t, kHeads, kDim, block.data());
    EXPECT_EQ(got.scales, quantize_kv(by_head, kChannels, kTokens, turned.data()).scales)
        << name_of(t);
    const std::vector<float> values = dequantize_kv(t, kHeads, kDim, got);
    const std::vector<float> expected = dequantize_kv(
        by_head, kChannels, kTokens, quantize_kv(by_head, kChannels, kTokens, turned.data()));
    for (int i = 0; i < kTokens * kChannels; ++i) {
      const float value = expected[i % kChannels * kTokens + i / kChannels];
      if (i % kChannels == 9) {
        EXPECT_TRUE(std::isnan(values[i])) << name_of(t);
      } else {
        EXPECT_EQ(values[i], value) << name_of(t) << ' ' << i;
      }
    }
  }
}

TEST(KvCodec, SixteenBitsAreRounded) {
  std::vector<float> values = random_values(7);
  values[0] = 1e6F;
  values[1] = kNan;
  const std::vector<float> half = there_and_back(tensor(KvDtype::kFp16), values);
  EXPECT_EQ(half[0], kInfinity);
  EXPECT_TRUE(std::isnan(half[1]));
  EXPECT_NEAR(half[2], values[2], 1e-3);
  EXPECT_NEAR(there_and_back(tensor(KvDtype::kBf16), values)[0], 1e6F, 4e3F);
}

}  // namespace
}  // namespace heddle
