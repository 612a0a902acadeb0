// kv_append, run on the CPU, byte for byte against quantize_kv().
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "generator/decode/float16.h"
#include "generator/kv/kv_rule.h"
#include "runtime/launch/kv_append_launch.h"
#include "tests/emulator/case_names.h"
#include "tests/emulator/device.h"
#include "tests/emulator/interleavings.h"
#include "tests/emulator/kv_append_cases.h"
#include "tests/emulator/kv_append_kernels.h"
#include "tests/emulator/machine.h"
#include "tests/emulator/query_reference.h"
#include "tools/gpu_harness/operations/kv_append/problem.h"

namespace heddle {
namespace {

using emulator::Access;

constexpr std::uint8_t kPatternByte = 0x5A;

// A cache and Q's output in the emulated memory.
class Images {
 public:
  Images(const KvProblem& problem, emulator::GlobalMemory& memory) : bytes_(problem.bytes) {
    const KvImages images = kv_images(problem, kPatternByte);
    for (std::size_t part = 0; part < kKvParts; ++part) {
      if (bytes_[part] == 0) continue;
      parts_[part] = memory.allocate(images[part].data(), bytes_[part], Access::kWrite);
    }
  }

  void set(KvAppendArgs* args) const {
    const auto memory = [this](KvPart part) { return DeviceOutput{parts_[part], bytes_[part]}; };
    args->cache.k.codes = memory(kKCodes);
    args->cache.k.scales = memory(kKScales);
    args->cache.v.codes = memory(kVCodes);
    args->cache.v.scales = memory(kVScales);
    args->cache.k.residual = memory(kKResidual);
    args->q_out = memory(kQuery);
  }
  std::vector<std::uint8_t> part(std::size_t part) const {
    return {parts_[part], parts_[part] + bytes_[part]};
  }

 private:
  KvPartBytes bytes_;
  std::array<std::uint8_t*, kKvParts> parts_{};
};

template <class T>
DeviceOutput to_memory(const std::vector<T>& values, emulator::GlobalMemory& memory) {
  if (values.empty()) return {};
  const std::size_t bytes = values.size() * sizeof(T);
  return {memory.allocate(values.data(), bytes, Access::kRead), bytes};
}

// The first byte that differs; a NaN of 16 bits is any NaN.
std::string difference(std::vector<std::uint8_t> expected, const std::vector<std::uint8_t>& got,
                       std::optional<DType> of_16_bits) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == got[i]) continue;
    if (of_16_bits) {
      const auto is_nan = [&](const std::vector<std::uint8_t>& bytes) {
        std::uint16_t value = 0;
        std::memcpy(&value, &bytes[i / 2 * 2], 2);
        return (value & 0x7FFF) > float16_format(*of_16_bits).exponent_mask();
      };
      if (is_nan(expected) && is_nan(got)) continue;
    }
    return fmt::format("byte {} of {} is {:#x}, not {:#x}", i, got.size(), got[i], expected[i]);
  }
  return {};
}

class EmulatedKvAppend : public testing::TestWithParam<std::size_t> {
 protected:
  EmulatedKvAppend() : plan_(kv_append_cases()[GetParam()].plan()), spec_(plan_.spec.kv_append()) {}

  KvAppendArgs arguments(const KvProblem& problem, emulator::GlobalMemory& memory) const {
    KvAppendArgs args;
    args.k = to_memory(problem.k, memory);
    args.v = to_memory(problem.v, memory);
    args.k_stride = args.v_stride = problem.stride;
    args.q = to_memory(problem.q, memory);
    args.q_stride = problem.q_stride;
    args.k_norm = to_memory(problem.k_norm, memory);
    args.q_norm = to_memory(problem.q_norm, memory);
    args.tokens = problem.tokens;
    args.sequences = static_cast<std::int64_t>(problem.lengths.size());
    args.offsets = to_memory(problem.offsets, memory);
    args.lengths = to_memory(problem.lengths, memory);
    args.rotations = to_memory(problem.rotations, memory);
    args.rotation_rows = problem.rotation_rows;
    args.cache.pages = problem.pages;
    args.cache.page_tokens = problem.page_tokens;
    args.cache.block_table = to_memory(problem.block_table, memory);
    args.cache.table_stride = problem.table_stride;
    args.cache.residual_slots = to_memory(problem.residual_slots, memory);
    args.cache.residual_slot_count = problem.residual_slot_count;
    const auto& [k, v] = problem.given;
    const auto* given = static_cast<const float*>(
        to_memory(std::vector<float>{k.scale, k.zero, v.scale, v.zero}, memory).data);
    if (takes_given(spec_.kv.k)) args.cache.k.given = device_input(given, 2);
    if (takes_given(spec_.kv.v)) args.cache.v.given = device_input(given + 2, 2);
    return args;
  }

  void launch(const KvAppendArgs& args, unsigned seed, const emulator::GlobalMemory& memory) const {
    validate(plan_, args);
    const KernelLaunch planned = plan_.launch(0, kv_append_size(args));
    const KvAppendParameters parameters = kv_append_parameters(plan_, args, planned);
    ASSERT_EQ(planned.grid_y, 1U) << "the emulated grid has one dimension";
    const PlannedKernel& kernel = plan_.kernels.front();
    emulator::run(
        {static_cast<int>(planned.grid_x), 1, kernel.threads, kernel.shared_bytes, seed, true},
        memory, [&] {
          emulator::predecessor_has_ended();
          kv_append_kernels[GetParam()](parameters);
        });
    ASSERT_TRUE(memory.guards_intact());
  }

  // In several interleavings.
  void run(const KvAppendShape& shape) {
    const KvProblem problem = make_kv_problem(spec_, shape, static_cast<std::uint32_t>(GetParam()));
    KvImages expected = kv_images(problem, kPatternByte);
    append_on_host(spec_, problem, expected);
    for (unsigned seed = 1; seed <= interleavings(); ++seed) {
      SCOPED_TRACE(fmt::format("seed {}", seed));
      emulator::GlobalMemory memory;
      KvAppendArgs args = arguments(problem, memory);
      const Images images(problem, memory);
      images.set(&args);
      ASSERT_NO_FATAL_FAILURE(launch(args, seed, memory));
      for (std::size_t part = 0; part < kKvParts; ++part) {
        ASSERT_EQ(difference(expected[part], images.part(part), type_of(part)), "")
            << "part " << part;
      }
    }
  }

  std::optional<DType> type_of(std::size_t part) const {
    if (part == kKResidual || part == kQuery) return spec_.activation;
    if (part != kKCodes && part != kVCodes) return std::nullopt;
    const KvDtype dtype = (part == kKCodes ? spec_.kv.k : spec_.kv.v).dtype;
    if (dtype == KvDtype::kFp16) return DType::kFp16;
    if (dtype == KvDtype::kBf16) return DType::kBf16;
    return std::nullopt;
  }

  Plan plan_;
  const KvAppendSpec& spec_;
};

TEST_P(EmulatedKvAppend, OfRaggedSequences) { run(ragged_shape(3, false)); }

TEST_P(EmulatedKvAppend, OfTokensOutsideTheCache) { run(ragged_shape(4, true)); }

TEST_P(EmulatedKvAppend, OfOneTokenEach) { run(decode_shape(7, 70, 5)); }

// Not by the arithmetic of the host that all other tests compare with.
TEST_P(EmulatedKvAppend, QueryIsThatOfTheFormulas) {
  if (spec_.query.heads == 0 || spec_.rope.source == RopeSource::kTable) return;
  for (const KvAppendShape& shape : {ragged_shape(3, false), decode_shape(7, 70, 5)}) {
    const KvProblem problem = make_kv_problem(spec_, shape, 9);
    emulator::GlobalMemory memory;
    KvAppendArgs args = arguments(problem, memory);
    const Images images(problem, memory);
    images.set(&args);
    ASSERT_NO_FATAL_FAILURE(launch(args, 1, memory));
    EXPECT_EQ(query_difference(spec_, problem, images.part(kQuery)), "");
  }
}

// Q that is dense may become what attention takes where it is.
TEST_P(EmulatedKvAppend, QueryInPlace) {
  if (spec_.query.heads == 0) return;
  KvAppendShape shape = ragged_shape(3, false);
  shape.spare_elements = 0;
  const KvProblem problem = make_kv_problem(spec_, shape, 8);
  KvImages expected = kv_images(problem, kPatternByte);
  append_on_host(spec_, problem, expected);
  emulator::GlobalMemory memory;
  KvAppendArgs args = arguments(problem, memory);
  const Images images(problem, memory);
  images.set(&args);
  std::memcpy(args.q_out.data, problem.q.data(), args.q_out.bytes);
  args.q = args.q_out;
  ASSERT_NO_FATAL_FAILURE(launch(args, 1, memory));
  EXPECT_EQ(difference(expected[kQuery], images.part(kQuery), spec_.activation), "");
}

// Through the end of a block, by one token and by many.
TEST_P(EmulatedKvAppend, OneByOneIsTheSameAsAtOnce) {
  constexpr int kSequences = 2;
  const int block = kv_block_tokens(spec_.kv.k);
  const std::vector<int> steps = {1, 1, 3, std::max(block - 1, 2), 1, 1};
  int sum = 0;
  for (const int step : steps) sum += step;
  KvAppendShape shape;
  shape.new_tokens.assign(kSequences, sum);
  shape.lengths = {sum, sum};
  const KvProblem all = make_kv_problem(spec_, shape, 6);
  emulator::GlobalMemory memory;
  KvAppendArgs args = arguments(all, memory);
  const Images at_once(all, memory);
  at_once.set(&args);
  ASSERT_NO_FATAL_FAILURE(launch(args, 1, memory));

  const Images step_by_step(all, memory);
  int before = 0;
  for (const int step : steps) {
    KvProblem part = all;
    part.tokens = std::int64_t{kSequences} * step;
    part.offsets = {0, step, 2 * step};
    part.lengths.assign(kSequences, before + step);
    for (auto [from, to] : {std::pair{&all.k, &part.k}, std::pair{&all.v, &part.v}}) {
      to->clear();
      for (int sequence = 0; sequence < kSequences; ++sequence) {
        const auto first = from->begin() + (sequence * sum + before) * all.stride;
        to->insert(to->end(), first, first + step * all.stride);
      }
    }
    KvAppendArgs step_args = arguments(part, memory);
    step_by_step.set(&step_args);
    ASSERT_NO_FATAL_FAILURE(launch(step_args, 1, memory));
    before += step;
  }
  for (const KvPart part : {kKCodes, kKScales, kVCodes, kVScales}) {
    EXPECT_EQ(difference(at_once.part(part), step_by_step.part(part), std::nullopt), "") << part;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedKvAppend, numbers_of<kv_append_cases>(),
                         name_of<kv_append_cases>);

}  // namespace
}  // namespace heddle
