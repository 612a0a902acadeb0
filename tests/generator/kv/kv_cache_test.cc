// Where everything lies in a cache, and rotary embeddings.
#include "heddle/kv_cache.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>

#include "generator/kv/rope.h"
#include "heddle/spec.h"

namespace heddle {
namespace {

KvCacheLayout layout_of(const std::string& kv, int heads, int head_dim) {
  const Spec spec = Spec::parse(
      R"({"heddle":1,"op":"kv_append","activation":{"dtype":"fp16"},"shape":{"kv_heads":)" +
      std::to_string(heads) + R"(,"head_dim":)" + std::to_string(head_dim) + R"(},"kv":{)" + kv +
      "}}");
  return kv_cache_layout(spec.kv(), heads, head_dim);
}

TEST(KvCacheLayout, BytesOfAToken) {
  const auto bytes = [](const char* kv) { return kv_token_bytes(layout_of(kv, 8, 128)); };
  EXPECT_EQ(bytes(R"("dtype":"int8")").codes, 2048U);
  EXPECT_EQ(bytes(R"("dtype":"int8")").scales, 32U);
  EXPECT_EQ(bytes(R"("dtype":"int4","symmetric":false)").codes, 1024U);
  EXPECT_EQ(bytes(R"("dtype":"int4","symmetric":false)").scales, 64U);
  EXPECT_EQ(bytes(R"("dtype":"int2","granularity":"token","scale_dtype":"fp32")").scales, 8U);
  EXPECT_EQ(bytes(R"("dtype":"int8","granularity":"group","group_size":32)").scales, 128U);
  EXPECT_EQ(bytes(R"("dtype":"fp8_e4m3")").scales, 0U);
  EXPECT_EQ(bytes(R"("dtype":"nvfp4")").scales, 128U);
  EXPECT_EQ(bytes(R"("dtype":"bf16")").codes, 4096U);
}

TEST(KvCacheLayout, OrdersByHand) {
  const std::string spec = R"("dtype":"int4","granularity":"group","group_size":16)";
  const KvTensorLayout hnd = layout_of(spec, 4, 64).k;
  const KvTensorLayout nhd = layout_of(spec + R"(,"order":"nhd")", 4, 64).k;
  // Page 2 of 16 tokens, token 5, head 3: rows of 32 bytes of codes and 8 of scales.
  EXPECT_EQ(hnd.code_offset(2, 16, 5, 3), ((2 * 4 + 3) * 16 + 5) * 32U);
  EXPECT_EQ(nhd.code_offset(2, 16, 5, 3), ((2 * 16 + 5) * 4 + 3) * 32U);
  EXPECT_EQ(hnd.scale_offset(2, 16, 5, 3), ((2 * 4 + 3) * 16 + 5) * 8U);
  const KvTensorLayout token = layout_of(R"("granularity":"token")", 4, 64).v;
  EXPECT_EQ(token.scale_offset(2, 16, 5, 3), (2 * 16 + 5) * 2U);
}

TEST(KvCacheLayout, ChannelsHaveARowForABlockOfTokens) {
  const std::string spec =
      R"("k":{"dtype":"int4","granularity":"channel","group_size":32,"symmetric":false})";
  const KvTensorLayout hnd = layout_of(spec, 4, 64).k;
  const KvTensorLayout nhd = layout_of(spec + R"(,"order":"nhd")", 4, 64).k;
  EXPECT_EQ(hnd.scale_tokens, 32);
  EXPECT_EQ(hnd.scale_row_bytes, 64 * 4);
  EXPECT_EQ(hnd.scale_bytes(3, 128), 3 * 4 * 4 * 256U);
  // Page 2 of 128 tokens, token 70 in its third block, head 3.
  EXPECT_EQ(hnd.scale_offset(2, 128, 70, 3), ((2 * 4 + 3) * 4 + 2) * 256U);
  EXPECT_EQ(nhd.scale_offset(2, 128, 70, 3), ((2 * 4 + 2) * 4 + 3) * 256U);
  EXPECT_EQ(hnd.code_offset(2, 128, 70, 3), ((2 * 4 + 3) * 128 + 70) * 32U);
  EXPECT_EQ(hnd.residual_bytes(5), 5 * 4 * 32 * 128U);
  EXPECT_EQ(hnd.residual_offset(3, 70, 2), ((3 * 4 + 2) * 32 + 6) * 128U);
  EXPECT_EQ(nhd.residual_offset(3, 70, 2), hnd.residual_offset(3, 70, 2));
  // 4 heads of 64 scales and zero points, over 32 tokens; V has a scale for each of its 4 heads.
  EXPECT_EQ(kv_token_bytes(layout_of(spec, 4, 64)).scales, 4 * 64 * 4 / 32 + 4 * 2U);
  EXPECT_EQ(layout_of(R"("dtype":"int8")", 4, 64).k.residual_bytes(5), 0U);
}

// Rows tile the tensors: none overlaps another, none is missing.
TEST(KvCacheLayout, MoreBytesThanHaveANumber) {
  const KvTensorLayout layout = layout_of(R"("granularity":"group","group_size":16)", 8, 128).k;
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  EXPECT_EQ(layout.code_bytes(kMost, kMost), SIZE_MAX);
  EXPECT_EQ(layout.scale_bytes(kMost, kMost), SIZE_MAX);
  EXPECT_EQ(layout.code_bytes(0, kMost), 0U);
}

TEST(KvCacheLayout, RowsTileTheTensors) {
  for (const char* kv : {R"("order":"hnd")", R"("order":"nhd")",
                         R"("order":"nhd","granularity":"group","group_size":16)"}) {
    const KvTensorLayout layout = layout_of(kv, 3, 48).k;
    std::set<std::size_t> codes;
    std::set<std::size_t> scales;
    for (int page = 0; page < 2; ++page) {
      for (int token = 0; token < 5; ++token) {
        for (int head = 0; head < 3; ++head) {
          codes.insert(layout.code_offset(page, 5, token, head));
          scales.insert(layout.scale_offset(page, 5, token, head));
        }
      }
    }
    ASSERT_EQ(codes.size(), 30U);
    ASSERT_EQ(scales.size(), 30U);
    EXPECT_EQ(*codes.rbegin() + layout.row_bytes, layout.code_bytes(2, 5));
    EXPECT_EQ(*scales.rbegin() + layout.scale_row_bytes, layout.scale_bytes(2, 5));
  }
}

TEST(Rope, RotationsAreNearTheTrueOnes) {
  RopeSpec rope;
  rope.pairing = RopePairing::kNeox;
  rope.dim = 128;
  for (const std::int64_t base : {10000, 500000, 1000000}) {
    rope.base = base;
    const auto frequencies = rope_frequencies(rope);
    ASSERT_EQ(frequencies.size(), 64U);
    for (const std::uint32_t position : {0U, 1U, 2U, 77U, 4096U, 131071U, 1000000U, 1U << 30}) {
      for (std::size_t i = 0; i < frequencies.size(); i += 9) {
        const long double angle =
            position * std::pow(static_cast<long double>(base), -2.0L * i / 128);
        const Rotation rotation = rope_rotation(frequencies[i], position);
        // The frequency is a double's: what it lacks grows with the position.
        const double slack = 1.2e-7 + 4e-16 * position;
        EXPECT_NEAR(rotation.cosine, static_cast<double>(std::cos(angle)), slack) << position;
        EXPECT_NEAR(rotation.sine, static_cast<double>(std::sin(angle)), slack) << position;
      }
    }
  }
}

TEST(Rope, Pairings) {
  const std::vector<Rotation> quarter(2, Rotation{0, 1});
  RopeSpec rope;
  rope.dim = 4;
  rope.pairing = RopePairing::kNeox;
  float neox[] = {1, 2, 3, 4, 5};
  rotate_row(rope, quarter, neox);
  EXPECT_EQ(std::vector<float>(neox, neox + 5), (std::vector<float>{-3, -4, 1, 2, 5}));
  rope.pairing = RopePairing::kGptj;
  float gptj[] = {1, 2, 3, 4, 5};
  rotate_row(rope, quarter, gptj);
  EXPECT_EQ(std::vector<float>(gptj, gptj + 5), (std::vector<float>{-2, 1, -4, 3, 5}));
}

}  // namespace
}  // namespace heddle
