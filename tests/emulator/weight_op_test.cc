// repack, quantize_weight and dequantize, run on the CPU, byte for byte against the host: packed
// weights in the order of plain and of gated epilogues.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "generator/decode/float16.h"
#include "heddle/weights.h"
#include "tests/emulator/case_names.h"
#include "tests/emulator/device.h"
#include "tests/emulator/machine.h"
#include "tests/emulator/weight_op_cases.h"
#include "tests/emulator/weight_op_kernels.h"
#include "tools/gpu_harness/operations/weight_ops/checkpoint_tensors.h"
#include "tools/gpu_harness/operations/weight_ops/dequantize_problem.h"

namespace heddle {
namespace {

using emulator::Access;
using Bytes = std::vector<std::uint8_t>;

template <class Values>
std::uint8_t* to_memory(const Values& values, emulator::GlobalMemory& memory) {
  if (values.empty()) return nullptr;
  return memory.allocate(values.data(), values.size() * sizeof values[0], Access::kReadEarly);
}

void launch(const Plan& plan, unsigned seed, const emulator::GlobalMemory& memory,
            const std::function<void()>& kernel) {
  const KernelLaunch planned = plan.launch(0, {});
  emulator::Launch launch;
  launch.blocks = static_cast<int>(planned.grid_x * planned.grid_y);
  launch.grid_x = static_cast<int>(planned.grid_x);
  launch.grid_y = static_cast<int>(planned.grid_y);
  launch.threads = plan.kernels.front().threads;
  launch.shared_bytes = plan.kernels.front().shared_bytes;
  launch.seed = seed;
  // These kernels begin when the one ahead has ended.
  emulator::run(launch, memory, [&] {
    emulator::predecessor_has_ended();
    kernel();
  });
  ASSERT_TRUE(memory.guards_intact());
}

// Buffers begin as 0xFF: a byte that is not written differs from one that is 0 or a code.
void expect_bytes(const std::uint8_t* got, const Bytes& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(got[i], expected[i]) << "byte " << i << " of " << expected.size();
  }
}

class EmulatedRepack : public testing::TestWithParam<std::size_t> {};

TEST_P(EmulatedRepack, GivesTheBytesOfTheHost) {
  const Plan plan = repack_cases()[GetParam()].plan();
  const WeightOpSpec& spec = plan.spec.weight_op();
  for (const unsigned seed : {1U, 2U}) {
    const SourceTensors tensors = random_tensors(spec, seed);
    const Bytes expected = pack_on_host(spec, tensors);
    emulator::GlobalMemory memory;
    const std::uint8_t* const weights = to_memory(tensors.weights, memory);
    const std::uint8_t* const scales = to_memory(tensors.scales, memory);
    const std::uint8_t* const zeros = to_memory(tensors.zeros, memory);
    const std::uint8_t* const order = to_memory(tensors.permutation, memory);
    std::uint8_t* const packed = memory.allocate(expected.size(), Access::kWrite);
    ASSERT_NO_FATAL_FAILURE(launch(plan, seed, memory, [&] {
      repack_kernels[GetParam()](weights, scales, zeros, order, packed);
    }));
    ASSERT_NO_FATAL_FAILURE(expect_bytes(packed, expected));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedRepack, numbers_of<repack_cases>(), name_of<repack_cases>);

class EmulatedQuantize : public testing::TestWithParam<std::size_t> {};

// Ordinary values, and now and then a group of zeros.
std::vector<std::uint16_t> some_matrix(const WeightOpSpec& spec, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<std::uint16_t> w(static_cast<std::size_t>(spec.shape.n * spec.shape.k));
  double size = 1;
  for (std::size_t i = 0; i < w.size(); ++i) {
    if (i % 32 == 0) size = random() % 9 == 0 ? 0 : static_cast<double>(1 + random() % 64);
    w[i] = float16_from_double(float16_format(spec.dtype), size * normal(random));
  }
  return w;
}

TEST_P(EmulatedQuantize, GivesTheBytesOfTheHost) {
  const Plan plan = quantize_cases()[GetParam()].plan();
  const WeightOpSpec& spec = plan.spec.weight_op();
  for (const unsigned seed : {1U, 2U}) {
    const std::vector<std::uint16_t> w = some_matrix(spec, seed);
    const Bytes expected = pack_weights(gemm_spec_of(spec), quantize_weights(spec, w));
    emulator::GlobalMemory memory;
    const std::uint8_t* const from = to_memory(w, memory);
    std::uint8_t* const packed = memory.allocate(expected.size(), Access::kWrite);
    ASSERT_NO_FATAL_FAILURE(
        launch(plan, seed, memory, [&] { quantize_kernels[GetParam()](from, packed); }));
    ASSERT_NO_FATAL_FAILURE(expect_bytes(packed, expected));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedQuantize, numbers_of<quantize_cases>(),
                         name_of<quantize_cases>);

class EmulatedDequantize : public testing::TestWithParam<std::size_t> {};

// W is in the order of the checkpoint, whichever order the packed weights have.
TEST_P(EmulatedDequantize, GivesTheBitsOfTheReference) {
  const Plan plan = dequantize_cases()[GetParam()].plan();
  const WeightOpSpec& spec = plan.spec.weight_op();
  for (const unsigned seed : {1U, 2U}) {
    const DequantizeProblem problem = make_dequantize_problem(spec, seed);
    emulator::GlobalMemory memory;
    const std::uint8_t* const weights = to_memory(problem.source.weights, memory);
    const std::uint8_t* const scales = to_memory(problem.source.scales, memory);
    const std::uint8_t* const zeros = to_memory(problem.source.zeros, memory);
    const auto* const order =
        reinterpret_cast<const int*>(to_memory(problem.source.permutation, memory));
    std::uint8_t* const w = memory.allocate(2 * problem.expected.size(), Access::kWrite);
    ASSERT_NO_FATAL_FAILURE(launch(plan, seed, memory, [&] {
      dequantize_kernels[GetParam()](weights, scales, zeros, order, w);
    }));
    std::vector<std::uint16_t> got(problem.expected.size());
    std::memcpy(got.data(), w, 2 * got.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_TRUE(same_weight(spec.dtype, got[i], problem.expected[i]))
          << "W[" << i / static_cast<std::size_t>(spec.shape.k) << ", "
          << i % static_cast<std::size_t>(spec.shape.k) << "]";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedDequantize, numbers_of<dequantize_cases>(),
                         name_of<dequantize_cases>);

}  // namespace
}  // namespace heddle
