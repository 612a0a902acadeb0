// The kernels with wgmma of tokens of eight bits, run on the CPU, against FP64, and integers
// bit for bit.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "generator/decode/float16.h"
#include "generator/decode/integer_code.h"
#include "generator/decode/requests.h"
#include "generator/layout/groups.h"
#include "tests/emulator/case_names.h"
#include "tests/emulator/wgmma_bytes_cases.h"
#include "tests/emulator/wgmma_bytes_kernels.h"
#include "tests/emulator/wgmma_run.h"
#include "tools/gpu_harness/numbers/random_weights.h"
#include "tools/gpu_harness/numbers/stored_scale.h"

namespace heddle {
namespace {

WgmmaRun run_of_bytes(std::size_t number) {
  return wgmma_bytes_run(wgmma_bytes_cases()[number], wgmma_bytes_kernels[number]);
}
WgmmaRun run_of_decoded(std::size_t number) {
  return wgmma_bytes_run(wgmma_decoded_cases()[number], wgmma_decoded_kernels[number]);
}

WgmmaRun run_of_blocks(std::size_t number) {
  return {wgmma_blocks_cases()[number],
          [number](const GemmProblem::Buffers& buffers, const WgmmaArguments& arguments) {
            wgmma_blocks_kernels[number](arguments.tokens, arguments.token_scales, buffers.weights,
                                         buffers.y, buffers.bias, buffers.residual,
                                         arguments.workspace, arguments.shape, arguments.m,
                                         arguments.shared_tiles);
          }};
}

class EmulatedWgmmaBytes : public testing::TestWithParam<std::size_t> {};
TEST_P(EmulatedWgmmaBytes, ComputesTheProduct) { run_of_bytes(GetParam()).launch_all(); }

class EmulatedWgmmaBlocks : public testing::TestWithParam<std::size_t> {};
TEST_P(EmulatedWgmmaBlocks, ComputesTheProduct) { run_of_blocks(GetParam()).launch_all(); }

class EmulatedWgmmaDecoded : public testing::TestWithParam<std::size_t> {};
TEST_P(EmulatedWgmmaDecoded, ComputesTheProduct) { run_of_decoded(GetParam()).launch_all(); }

// Integer sums of both levels' codes, then the three roundings that the epilogue has: FP16 bits.
std::vector<std::uint16_t> expected_of_levels(const GemmSpec& spec, std::int64_t m) {
  const std::int64_t n = spec.shape.n, k = spec.shape.k;
  const QuantizedWeights weights = random_weights({n, k}, spec.weight, 1);
  const ByteActivations x = random_byte_activations(spec, spec.shape.m_max, 2);
  const DecodeRequest request = decode_request(spec.weight, DType::kInt8);
  const std::int64_t groups = groups_along_k(spec.weight, k);
  const DType type = *spec.weight.channel_scale;
  std::vector<std::uint16_t> y(static_cast<std::size_t>(m * n));
  std::vector<std::int32_t> row(static_cast<std::size_t>(k));
  for (std::int64_t r = 0; r < n; ++r) {
    for (std::int64_t i = 0; i < k; ++i) {
      const std::int64_t at = r * groups + group_of_column(spec.weight, i);
      const unsigned zero = weights.zeros.empty() ? 0 : weights.zeros[at];
      row[i] = weights.scales[at] * integer_weight(request, weights.codes[r * k + i], zero);
    }
    const std::uint32_t bits =
        read_bits(weights.channel_scales, static_cast<std::size_t>(r), bytes_of(type));
    const float row_scale = stored_scale(type, bits);
    for (std::int64_t token = 0; token < m; ++token) {
      std::int32_t sum = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        sum += row[i] * static_cast<std::int8_t>(x.codes[token * k + i]);
      }
      const float of_token = static_cast<float>(sum) * x.scales[token];
      y[token * n + r] = float16_from_double(kBinary16, of_token * row_scale);
    }
  }
  return y;
}

TEST(EmulatedWgmmaLevels, SumsAreExact) {
  int compared = 0;
  for (std::size_t number = 0; number < wgmma_decoded_cases().size(); ++number) {
    const WgmmaCase& one = wgmma_decoded_cases()[number];
    const EpilogueSpec& epilogue = one.spec.epilogue;
    const bool is_plain = !epilogue.bias && !epilogue.gated;
    if (!one.spec.weight.has_two_levels() || !is_plain || one.spec.shape.n > 200) continue;
    SCOPED_TRACE(one.name);
    const WgmmaRun run = run_of_decoded(number);
    const std::int64_t m = one.tokens.back();
    std::vector<std::uint8_t> y;
    ASSERT_NO_FATAL_FAILURE(run.launch(m, one.shares(run.plan(), m), &y));
    const std::vector<std::uint16_t> expected = expected_of_levels(one.spec, m);
    ASSERT_EQ(y.size(), 2 * expected.size());
    EXPECT_EQ(std::memcmp(y.data(), expected.data(), y.size()), 0);
    ++compared;
  }
  EXPECT_GT(compared, 4);
}

// The cases whose blocks may share tiles in more ways than one.
class EmulatedWgmmaBytesShares : public EmulatedWgmmaBytes {};
TEST_P(EmulatedWgmmaBytesShares, ComputesTheProductInOtherShares) {
  run_of_bytes(GetParam()).launch_other_shares();
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedWgmmaBytes, numbers_of<wgmma_bytes_cases>(),
                         name_of<wgmma_bytes_cases>);
INSTANTIATE_TEST_SUITE_P(Cases, EmulatedWgmmaBlocks, numbers_of<wgmma_blocks_cases>(),
                         name_of<wgmma_blocks_cases>);
INSTANTIATE_TEST_SUITE_P(Cases, EmulatedWgmmaDecoded, numbers_of<wgmma_decoded_cases>(),
                         name_of<wgmma_decoded_cases>);
INSTANTIATE_TEST_SUITE_P(Cases, EmulatedWgmmaBytesShares,
                         testing::ValuesIn(cases_that_share(wgmma_bytes_cases())),
                         name_of<wgmma_bytes_cases>);

}  // namespace
}  // namespace heddle
