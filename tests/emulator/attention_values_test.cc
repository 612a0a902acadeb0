// decode_attention, run on the CPU: values that are none, very small or very large.
#include <algorithm>
#include <cmath>

#include "generator/decode/float16.h"
#include "heddle/kv_cache.h"
#include "tests/emulator/attention_cases.h"
#include "tests/emulator/attention_fixture.h"

namespace heddle {
namespace {

// A NaN in K reaches all queries of the head; one in V reaches their elements of the group.
class EmulatedNanOfNvfp4 : public EmulatedAttention {
 protected:
  void check(bool value) const {
    const auto& [heads, kv_heads, head_dim, query_len] = spec().shape;
    constexpr int kHead = 1;
    constexpr int kGroup = 2;
    AttentionProblem problem = make_attention_problem(spec(), {70, 40}, 3);
    const KvCacheLayout cache = kv_cache_layout(spec().kv, kv_heads, head_dim);
    const KvTensorLayout& layout = value ? cache.v : cache.k;
    // Token 5 of sequence 1.
    const std::int32_t page = problem.block_table[static_cast<std::size_t>(problem.table_stride)];
    problem
        .scales[value ? 1 : 0][layout.scale_offset(page, problem.page_tokens, 5, kHead) + kGroup] =
        0x7F;
    const std::vector<double> out = output_of(problem);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const int element = static_cast<int>(i);
      const int head = element / head_dim % heads;
      const bool reached = element / head_dim / heads == 1 && head / (heads / kv_heads) == kHead &&
                           (!value || element % head_dim / 16 == kGroup);
      ASSERT_EQ(std::isnan(out[i]), reached) << i;
    }
  }
};

TEST_P(EmulatedNanOfNvfp4, OfK) { check(false); }
TEST_P(EmulatedNanOfNvfp4, OfV) { check(true); }

// Queries so small or so large that they need another power of two, and keys that make up for it.
class EmulatedSizesOfQueries : public EmulatedAttention {
 protected:
  void check(int exponent) const {
    AttentionProblem problem = make_attention_problem(spec(), {70, 40}, 3);
    const Float16Format format = float16_format(spec().activation);
    for (std::uint16_t& q : problem.q) {
      q = float16_from_double(format, std::ldexp(float16_to_double(format, q), exponent));
    }
    problem.given[0] = std::ldexp(problem.given[0], -exponent);
    const std::vector<double> out = output_of(problem);
    const std::vector<double> expected = expected_attention(spec(), problem).out;
    expect_close(out, expected);
  }
  bool is_bf16() const { return spec().activation == DType::kBf16; }
};

TEST_P(EmulatedSizesOfQueries, Small) { check(is_bf16() ? -30 : -16); }
TEST_P(EmulatedSizesOfQueries, Large) { check(is_bf16() ? 30 : 13); }

std::size_t case_named(const char* name) {
  const std::vector<AttentionCase>& all = attention_cases();
  return static_cast<std::size_t>(
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; }) -
      all.begin());
}
INSTANTIATE_TEST_SUITE_P(Scales, EmulatedNanOfNvfp4, testing::Values(case_named("Nvfp4")));

INSTANTIATE_TEST_SUITE_P(OfKeysWithAGivenScale, EmulatedSizesOfQueries,
                         testing::Values(case_named("Int8Tensor"), case_named("Int4Tensor"),
                                         case_named("E4m3Tensor")));

}  // namespace
}  // namespace heddle
