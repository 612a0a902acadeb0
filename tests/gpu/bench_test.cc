// What `heddle bench` times: the weights are those that it says, and the report is whole.
#include "tools/gpu_harness/operations/gemm/bench.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "heddle/weights.h"
#include "runtime/driver/context.h"
#include "tests/gpu/gemm_fixture.h"
#include "tools/gpu_harness/numbers/random_weights.h"
#include "tools/gpu_harness/operations/gemm/weight_copies.h"

namespace heddle {
namespace {

constexpr std::int64_t kUnitRows = 128;  // as in weight_copies.cc

template <class T>
std::vector<T> repeated(const std::vector<T>& unit, std::size_t size) {
  std::vector<T> whole;
  for (std::size_t i = 0; i < size; ++i) whole.push_back(unit[i % unit.size()]);
  return whole;
}

std::vector<std::uint8_t> packed_with_repeated_rows(const GemmSpec& spec) {
  const QuantizedWeights unit = random_weights({kUnitRows, spec.shape.k}, spec.weight, 1);
  const auto grown = [&](std::size_t size) {
    return size * static_cast<std::size_t>(spec.shape.n) / kUnitRows;
  };
  QuantizedWeights whole;
  whole.codes = repeated(unit.codes, grown(unit.codes.size()));
  whole.scales = repeated(unit.scales, grown(unit.scales.size()));
  whole.zeros = repeated(unit.zeros, grown(unit.zeros.size()));
  whole.tensor_scale = unit.tensor_scale;
  return pack_weights(spec, whole);
}

class BenchGpu : public GemmGpu {
 protected:
  bool makes_kernels() const override { return false; }
};

TEST_F(BenchGpu, CopiesAreThePackedWeightsOfRowsThatRepeat) {
  const cuda::CurrentContext context;
  const OwnedStream stream;
  const HelperKernels helpers;
  GemmSpec grouped = spec_of(336, 1280, DType::kFp16, 128, ZeroPoint::kInt);
  GemmSpec channel = spec_of(336, 1280, DType::kBf16, kPerChannel, ZeroPoint::kNone);
  channel.weight.tensor_scale = true;
  for (const GemmSpec& spec : {grouped, channel}) {
    const WeightCopies copies(spec, helpers, stream, 2);
    ASSERT_EQ(copies.packed().size(), 2U);
    const std::vector<std::uint8_t> expected = packed_with_repeated_rows(spec);
    for (const DeviceBuffer& copy : copies.packed()) {
      std::vector<std::uint8_t> bytes(copy.bytes());
      copy.download(bytes.data(), 0, bytes.size(), stream);
      EXPECT_EQ(bytes, expected);
    }
  }
}

TEST_F(BenchGpu, EverySpecHasARowForEachMAndTheChainOne) {
  const GemmSpec small = spec_of(256, 512, DType::kFp16, 128, ZeroPoint::kNone);
  const GemmSpec large = spec_of(512, 1024, DType::kBf16, 64, ZeroPoint::kInt);
  GemmBenchOptions options;
  options.chain = true;
  options.budget = {200, 2000};
  const GemmBenchReport report =
      bench_gemm(runtime(), {Spec::from_gemm(small), Spec::from_gemm(large)}, {1, 33}, options);
  EXPECT_GT(report.read_tb_per_s, 0);
  EXPECT_GT(report.launch_us, 0);
  ASSERT_EQ(report.rows.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(report.rows[i].spec, i / 2);
    EXPECT_EQ(report.rows[i].m, i % 2 == 0 ? 1 : 33);
    EXPECT_GT(report.rows[i].us, 0);
    EXPECT_GT(report.rows[i].floor_us, 0);
    // Bounds that the clock of any GPU keeps, idle or not.
    EXPECT_GT(report.rows[i].sm_mhz, 100);
    EXPECT_LT(report.rows[i].sm_mhz, 4000);
  }
  ASSERT_EQ(report.chain.size(), 2U);
  EXPECT_GT(report.chain[0].us, report.rows[0].floor_us);
  EXPECT_EQ(report.chain[1].bytes, report.rows[1].bytes + report.rows[3].bytes);
}

}  // namespace
}  // namespace heddle
