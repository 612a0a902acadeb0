// decode_attention, run on the CPU, against FP64.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "generator/decode/float16.h"
#include "generator/kv/kv_rule.h"
#include "generator/plan/attention_tile.h"
#include "heddle/kv_cache.h"
#include "runtime/decode_attention_launch.h"
#include "tests/emulator/attention_cases.h"
#include "tests/emulator/attention_kernels.h"
#include "tests/emulator/machine.h"
#include "tools/gpu_harness/attention_problem.h"

namespace heddle {
namespace {

using emulator::Access;

// Interleavings of each launch, all with one workspace.
constexpr unsigned kSeeds = 3;

template <class T>
T* to_memory(const std::vector<T>& values, emulator::GlobalMemory& memory) {
  if (values.empty()) return nullptr;
  return reinterpret_cast<T*>(
      memory.allocate(values.data(), values.size() * sizeof(T), Access::kRead));
}

// Where the kernel ahead writes what the kernel finds.
const std::int32_t* to_late(const std::vector<std::int32_t>& values,
                            const std::vector<std::int32_t>& before,
                            emulator::GlobalMemory& memory) {
  if (values.empty()) return nullptr;
  return reinterpret_cast<const std::int32_t*>(
      memory.allocate_late(values.data(), before.data(), values.size() * sizeof(std::int32_t)));
}

// More tokens than a sequence can have, and less than none.
std::vector<std::int32_t> lengths_before(std::size_t count) {
  constexpr std::int32_t kLengths[] = {100000, -1, std::numeric_limits<std::int32_t>::max()};
  std::vector<std::int32_t> lengths(count);
  for (std::size_t i = 0; i < count; ++i) lengths[i] = kLengths[i % 3];
  return lengths;
}
// In another order, and some that are none.
std::vector<std::int32_t> pages_before(std::vector<std::int32_t> pages) {
  std::reverse(pages.begin(), pages.end());
  for (std::size_t i = 0; i < pages.size(); i += 3) pages[i] = i % 2 == 0 ? -1 : 1 << 30;
  return pages;
}

double largest_difference(const float* got, const std::vector<double>& expected) {
  double most = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isinf(expected[i]) && double{got[i]} == expected[i]) continue;
    const double difference = std::fabs(double{got[i]} - expected[i]);
    if (!(difference <= most)) most = difference;
  }
  return most;
}

class EmulatedAttention : public testing::TestWithParam<std::size_t> {
 protected:
  EmulatedAttention()
      : plan_(attention_cases()[GetParam()].plan()),
        spec_(plan_.spec.decode_attention()),
        tile_(attention_cases()[GetParam()].tile()) {}

  DecodeAttentionArgs arguments(const AttentionProblem& problem, emulator::GlobalMemory& memory,
                                bool same_lengths = false) const {
    DecodeAttentionArgs args;
    args.q = to_memory(problem.q, memory);
    args.sequences = static_cast<std::int64_t>(problem.lengths.size());
    args.lengths =
        to_late(problem.lengths,
                same_lengths ? problem.lengths : lengths_before(problem.lengths.size()), memory);
    args.cache.k.codes = to_memory(problem.codes[0], memory);
    args.cache.k.scales = to_memory(problem.scales[0], memory);
    args.cache.v.codes = to_memory(problem.codes[1], memory);
    args.cache.v.scales = to_memory(problem.scales[1], memory);
    const float* given =
        to_memory(std::vector<float>(problem.given.begin(), problem.given.end()), memory);
    if (takes_given(spec_.kv.k)) args.cache.k.given = given;
    if (takes_given(spec_.kv.v)) args.cache.v.given = given + 2;
    args.cache.k.residual = to_memory(problem.residual, memory);
    args.cache.residual_slots = to_memory(problem.residual_slots, memory);
    args.cache.residual_slot_count = problem.residual_slot_count;
    args.cache.pages = problem.pages;
    args.cache.page_tokens = problem.page_tokens;
    args.cache.block_table =
        to_late(problem.block_table, pages_before(problem.block_table), memory);
    args.cache.table_stride = problem.table_stride;
    if (spec_.alibi == Alibi::kGiven) args.slopes = to_memory(problem.slopes, memory);
    if (spec_.sink_logits) args.sink_logits = to_memory(problem.sinks, memory);
    args.out = memory.allocate(2 * problem.q.size(), Access::kWrite);
    if (spec_.log_sum_exp) {
      args.log_sum_exp =
          reinterpret_cast<float*>(memory.allocate(log_sum_bytes(problem), Access::kWrite));
    }
    args.workspace_bytes = plan_.max_workspace_bytes();
    args.workspace = memory.allocate(args.workspace_bytes, Access::kWrite);
    std::memset(args.workspace, 0, counter_bytes());
    return args;
  }

  // In several interleavings, with the same bits each time.
  void launch(const std::vector<std::int32_t>& lengths, const std::vector<AttentionGrid>& grids,
              bool same_lengths = false) {
    const AttentionProblem problem =
        make_attention_problem(spec_, lengths, static_cast<std::uint32_t>(GetParam()));
    const ExpectedAttention expected = expected_attention(spec_, problem);
    emulator::GlobalMemory memory;
    const DecodeAttentionArgs args = arguments(problem, memory, same_lengths);
    validate(plan_, args);
    const DecodeAttentionParameters parameters = decode_attention_parameters(plan_, args);
    for (AttentionGrid grid : grids) {
      if (grid.blocks == 0) grid = decode_attention_grid(plan_, tile_, parameters);
      std::vector<std::uint8_t> first;
      for (unsigned seed = 1; seed <= kSeeds; ++seed) {
        SCOPED_TRACE(fmt::format("{} blocks, teams of {}, seed {}", grid.blocks, grid.team, seed));
        clear(args, problem);
        run(grid, seed, parameters, memory);
        ASSERT_TRUE(memory.guards_intact());
        if (first.empty()) {
          first = results(args, problem);
          ASSERT_NO_FATAL_FAILURE(compare(args, expected));
        }
        ASSERT_EQ(results(args, problem), first) << "other bits";
        const auto* workspace = static_cast<const std::uint8_t*>(args.workspace);
        ASSERT_TRUE(std::all_of(workspace, workspace + counter_bytes(), [](std::uint8_t byte) {
          return byte == 0;
        })) << "counters that are not zero";
        merged_ =
            merged_ || std::any_of(workspace + counter_bytes(), workspace + args.workspace_bytes,
                                   [](std::uint8_t byte) { return byte != 0xff; });
      }
    }
  }

  // The output of one launch, element after element.
  std::vector<double> output_of(const AttentionProblem& problem) const {
    emulator::GlobalMemory memory;
    const DecodeAttentionArgs args = arguments(problem, memory);
    clear(args, problem);
    const DecodeAttentionParameters parameters = decode_attention_parameters(plan_, args);
    run(decode_attention_grid(plan_, tile_, parameters), 1, parameters, memory);
    std::vector<double> out;
    const auto* bits = static_cast<const std::uint16_t*>(args.out);
    for (std::size_t i = 0; i < problem.q.size(); ++i) {
      out.push_back(float16_to_double(float16_format(spec_.activation), bits[i]));
    }
    return out;
  }

  const DecodeAttentionSpec& spec() const { return spec_; }
  int most_blocks() const { return tile_.blocks; }
  // Whether blocks have shared an item.
  bool merged() const { return merged_; }
  int page() const { return std::max(2, spec_.kv.page_size); }

 private:
  void run(AttentionGrid grid, unsigned seed, const DecodeAttentionParameters& parameters,
           const emulator::GlobalMemory& memory) const {
    emulator::run({grid.blocks, grid.team, 32 * tile_.warps, tile_.shared_bytes, seed, true},
                  memory, [&] { attention_kernels[GetParam()](parameters); });
  }
  std::size_t counter_bytes() const {
    return (4 * static_cast<std::size_t>(tile_.blocks) + 15) / 16 * 16;
  }
  std::size_t log_sum_bytes(const AttentionProblem& problem) const {
    return 4 * problem.q.size() / static_cast<std::size_t>(spec_.shape.head_dim);
  }
  // What a launch does not write itself is NaN.
  void clear(const DecodeAttentionArgs& args, const AttentionProblem& problem) const {
    std::memset(args.out, 0xff, 2 * problem.q.size());
    if (spec_.log_sum_exp) std::memset(args.log_sum_exp, 0xff, log_sum_bytes(problem));
    std::memset(static_cast<std::uint8_t*>(args.workspace) + counter_bytes(), 0xff,
                args.workspace_bytes - counter_bytes());
  }
  std::vector<std::uint8_t> results(const DecodeAttentionArgs& args,
                                    const AttentionProblem& problem) const {
    const auto* out = static_cast<const std::uint8_t*>(args.out);
    std::vector<std::uint8_t> bytes(out, out + 2 * problem.q.size());
    const auto* sums = reinterpret_cast<const std::uint8_t*>(args.log_sum_exp);
    if (spec_.log_sum_exp) bytes.insert(bytes.end(), sums, sums + log_sum_bytes(problem));
    return bytes;
  }

  void compare(const DecodeAttentionArgs& args, const ExpectedAttention& expected) const {
    const auto* out = static_cast<const std::uint16_t*>(args.out);
    const Float16Format format = float16_format(spec_.activation);
    double wrong = 0;
    double size = 0;
    for (std::size_t i = 0; i < expected.out.size(); ++i) {
      const double difference = float16_to_double(format, out[i]) - expected.out[i];
      wrong += difference * difference;
      size += expected.out[i] * expected.out[i];
    }
    ASSERT_LT(std::sqrt(wrong / size), spec_.activation == DType::kBf16 ? 4e-3 : 6e-4);
    if (spec_.log_sum_exp) {
      ASSERT_LT(largest_difference(args.log_sum_exp, expected.log_sum_exp), log_sum_limit(spec_));
    }
  }

  Plan plan_;
  const DecodeAttentionSpec& spec_;
  AttentionTile tile_;
  bool merged_ = false;
};

// 0 blocks: as many as the runtime launches.
TEST_P(EmulatedAttention, OfRaggedSequences) {
  launch({0, 1, page() + 1, 31, 0, 290, 32}, {{0, 1}, {1, 1}, {4, 2}});
}

TEST_P(EmulatedAttention, OfSequencesThatBlocksShare) {
  ASSERT_NO_FATAL_FAILURE(
      launch({attention_cases()[GetParam()].shared, 3}, {{most_blocks(), 1}, {3, 1}}));
  EXPECT_TRUE(merged());
}

// Teams add what they have of a sequence, and leave what others need for the whole.
TEST_P(EmulatedAttention, OfSequencesThatTeamsShare) { launch({300, 3, 90}, {{8, 8}, {4, 2}}); }

// Lengths that the kernel ahead leaves as they are, but not the pages; equal ones, of which blocks
// take whole sequences or equal parts.
TEST_P(EmulatedAttention, OfLengthsThatStay) {
  ASSERT_NO_FATAL_FAILURE(launch({page() + 1, 31, 0, 290}, {{0, 1}, {4, 2}}, true));
  launch({300, 289, 320}, {{std::min(7, most_blocks()), 1}}, true);
}

TEST_P(EmulatedAttention, OfLessThanThereAreBlocksFor) {
  launch({0, 5}, {{most_blocks(), 1}, {6, 2}});
}

// Of K: the queries of the head; of V: their elements of the group.
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
    double wrong = 0;
    double size = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      wrong += (out[i] - expected[i]) * (out[i] - expected[i]);
      size += expected[i] * expected[i];
    }
    EXPECT_LT(std::sqrt(wrong / size), spec().activation == DType::kBf16 ? 4e-3 : 6e-4);
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

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedAttention,
                         testing::Range<std::size_t>(0, attention_cases().size()),
                         [](const testing::TestParamInfo<std::size_t>& info) {
                           return attention_cases()[info.param].name;
                         });

}  // namespace
}  // namespace heddle
