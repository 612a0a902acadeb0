#include "tests/emulator/attention_fixture.h"

#include <fmt/core.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "generator/decode/float16.h"
#include "generator/families/configuration.h"
#include "generator/kv/kv_rule.h"
#include "tests/emulator/attention_cases.h"
#include "tests/emulator/attention_kernels.h"
#include "tests/emulator/interleavings.h"

namespace heddle {
namespace {

using emulator::Access;

template <class T>
DeviceOutput to_memory(const std::vector<T>& values, emulator::GlobalMemory& memory) {
  if (values.empty()) return {};
  const std::size_t bytes = values.size() * sizeof(T);
  return {memory.allocate(values.data(), bytes, Access::kRead), bytes};
}

// Where the kernel ahead writes what the kernel finds.
DeviceInput to_late(const std::vector<std::int32_t>& values,
                    const std::vector<std::int32_t>& before, emulator::GlobalMemory& memory) {
  if (values.empty()) return {};
  const std::size_t bytes = values.size() * sizeof(std::int32_t);
  return {memory.allocate_late(values.data(), before.data(), bytes), bytes};
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

}  // namespace

EmulatedAttention::EmulatedAttention()
    : plan_(attention_cases()[GetParam()].plan()),
      spec_(plan_.spec.decode_attention()),
      config_(config_of<device::DecodeAttentionConfig>(kernel())) {}

DecodeAttentionArgs EmulatedAttention::arguments(const AttentionProblem& problem,
                                                 emulator::GlobalMemory& memory,
                                                 bool same_lengths) const {
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
  const auto* given = static_cast<const float*>(
      to_memory(std::vector<float>(problem.given.begin(), problem.given.end()), memory).data);
  if (takes_given(spec_.kv.k)) args.cache.k.given = device_input(given, 2);
  if (takes_given(spec_.kv.v)) args.cache.v.given = device_input(given + 2, 2);
  args.cache.k.residual = to_memory(problem.residual, memory);
  args.cache.residual_slots = to_memory(problem.residual_slots, memory);
  args.cache.residual_slot_count = problem.residual_slot_count;
  args.cache.pages = problem.pages;
  args.cache.page_tokens = problem.page_tokens;
  args.cache.block_table = to_late(problem.block_table, pages_before(problem.block_table), memory);
  args.cache.table_stride = problem.table_stride;
  if (spec_.alibi == Alibi::kGiven) args.slopes = to_memory(problem.slopes, memory);
  if (spec_.sink_logits) args.sink_logits = to_memory(problem.sinks, memory);
  const auto to_write = [&](std::size_t bytes) {
    return DeviceOutput{memory.allocate(bytes, Access::kWrite), bytes};
  };
  args.out = to_write(2 * problem.q.size());
  if (spec_.log_sum_exp) args.log_sum_exp = to_write(log_sum_bytes(problem));
  args.workspace = to_write(plan_.max_workspace_bytes());
  std::memset(args.workspace.data, 0, counter_bytes());
  return args;
}

void EmulatedAttention::launch(const std::vector<std::int32_t>& lengths,
                               const std::vector<Grid>& grids, bool same_lengths) {
  const AttentionProblem problem =
      make_attention_problem(spec_, lengths, static_cast<std::uint32_t>(GetParam()));
  const ExpectedAttention expected = expected_attention(spec_, problem);
  emulator::GlobalMemory memory;
  const DecodeAttentionArgs args = arguments(problem, memory, same_lengths);
  validate(plan_, args);
  const AttentionParameters parameters = decode_attention_parameters(plan_, args);
  for (Grid grid : grids) {
    if (grid.blocks == 0) grid = planned_grid(args);
    std::vector<std::uint8_t> first;
    // All with one workspace.
    for (unsigned seed = 1; seed <= interleavings(); ++seed) {
      SCOPED_TRACE(
          fmt::format("{} blocks, clusters of {}, seed {}", grid.blocks, grid.cluster, seed));
      clear(args, problem);
      run(grid, seed, parameters, memory);
      ASSERT_TRUE(memory.guards_intact());
      if (first.empty()) {
        first = results(args, problem);
        ASSERT_NO_FATAL_FAILURE(compare(args, expected));
      }
      ASSERT_EQ(results(args, problem), first) << "other bits";
      const auto* workspace = static_cast<const std::uint8_t*>(args.workspace.data);
      ASSERT_TRUE(std::all_of(workspace, workspace + counter_bytes(), [](std::uint8_t byte) {
        return byte == 0;
      })) << "counters that are not zero";
      merged_ =
          merged_ || std::any_of(workspace + counter_bytes(), workspace + args.workspace.bytes,
                                 [](std::uint8_t byte) { return byte != 0xff; });
    }
  }
}

std::vector<double> EmulatedAttention::output_of(const AttentionProblem& problem) const {
  emulator::GlobalMemory memory;
  const DecodeAttentionArgs args = arguments(problem, memory);
  clear(args, problem);
  const AttentionParameters parameters = decode_attention_parameters(plan_, args);
  run(planned_grid(args), 1, parameters, memory);
  return outputs(args, problem.q.size());
}

void EmulatedAttention::expect_close(const std::vector<double>& out,
                                     const std::vector<double>& expected) const {
  double wrong = 0;
  double size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double difference = out[i] - expected[i];
    wrong += difference * difference;
    size += expected[i] * expected[i];
  }
  ASSERT_LT(std::sqrt(wrong / size), spec_.activation == DType::kBf16 ? 4e-3 : 6e-4);
}

EmulatedAttention::Grid EmulatedAttention::planned_grid(const DecodeAttentionArgs& args) const {
  const KernelLaunch launch = plan_.launch(0, decode_attention_size(plan_, args));
  return {static_cast<int>(launch.grid_x), static_cast<int>(launch.cluster)};
}

void EmulatedAttention::run(Grid grid, unsigned seed, const AttentionParameters& parameters,
                            const emulator::GlobalMemory& memory) const {
  emulator::run({grid.blocks, grid.cluster, kernel().threads, kernel().shared_bytes, seed, true},
                memory, [&] { attention_kernels[GetParam()](parameters); });
}

std::size_t EmulatedAttention::counter_bytes() const {
  return static_cast<std::size_t>(config_.counter_bytes());
}

std::size_t EmulatedAttention::log_sum_bytes(const AttentionProblem& problem) const {
  return 4 * problem.q.size() / static_cast<std::size_t>(spec_.shape.head_dim);
}

// What a launch does not write itself is NaN.
void EmulatedAttention::clear(const DecodeAttentionArgs& args,
                              const AttentionProblem& problem) const {
  std::memset(args.out.data, 0xff, 2 * problem.q.size());
  if (spec_.log_sum_exp) std::memset(args.log_sum_exp.data, 0xff, log_sum_bytes(problem));
  std::memset(static_cast<std::uint8_t*>(args.workspace.data) + counter_bytes(), 0xff,
              args.workspace.bytes - counter_bytes());
}

std::vector<double> EmulatedAttention::outputs(const DecodeAttentionArgs& args,
                                               std::size_t count) const {
  const auto* bits = static_cast<const std::uint16_t*>(args.out.data);
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back(float16_to_double(float16_format(spec_.activation), bits[i]));
  }
  return out;
}

std::vector<std::uint8_t> EmulatedAttention::results(const DecodeAttentionArgs& args,
                                                     const AttentionProblem& problem) const {
  const auto* out = static_cast<const std::uint8_t*>(args.out.data);
  std::vector<std::uint8_t> bytes(out, out + 2 * problem.q.size());
  const auto* sums = static_cast<const std::uint8_t*>(args.log_sum_exp.data);
  if (spec_.log_sum_exp) bytes.insert(bytes.end(), sums, sums + log_sum_bytes(problem));
  return bytes;
}

void EmulatedAttention::compare(const DecodeAttentionArgs& args,
                                const ExpectedAttention& expected) const {
  ASSERT_NO_FATAL_FAILURE(expect_close(outputs(args, expected.out.size()), expected.out));
  if (spec_.log_sum_exp) {
    const auto* sums = static_cast<const float*>(args.log_sum_exp.data);
    ASSERT_LT(largest_difference(sums, expected.log_sum_exp), log_sum_limit(spec_));
  }
}

}  // namespace heddle
