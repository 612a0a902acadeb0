// Batch-invariant GEMMs: a token has the same bits of Y whatever is launched with it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/byte_gemm.h"
#include "tests/gpu/gpu_fixture.h"
#include "tests/gpu/primary_context.h"
#include "tests/plain_weight.h"
#include "tools/gpu_harness/operations/gemm/data.h"

namespace heddle {
namespace {

constexpr std::int64_t kMost = 1000;
// Of every kernel's range some, and whole and partial tiles.
constexpr std::int64_t kSizes[] = {1, 2, 8, 9, 16, 17, 33, 64, 65, 130, 257, 600, 999};

class BatchInvariantGpu : public OnGpu {
 protected:
  bool makes_kernels() const override { return true; }

  static GemmSpec invariant(std::int64_t n, std::int64_t k) {
    GemmSpec spec;
    spec.shape = {.n = n, .k = k, .m_max = kMost};
    spec.batch_invariant = true;
    return spec;
  }
  void expect_invariant(const std::vector<GemmSpec>& gemms) {
    std::vector<Spec> specs;
    for (const GemmSpec& gemm : gemms) specs.push_back(Spec::from_gemm(gemm));
    if (only_makes(specs)) return;
    make(specs);
    const PrimaryContext context;
    for (const Spec& spec : specs) expect_same_bits(spec);
  }

 private:
  static void expect_same_bits(const Spec& spec) {
    const auto kernel = runtime().kernel<GemmKernel>(spec);
    GemmData data(kernel, kMost);
    const auto bits_of = [&](std::int64_t m) {
      data.poison_output();
      kernel.launch(data.args(m), data.stream().get());
      return data.read_output(m);
    };
    const std::vector<std::uint8_t> all = bits_of(kMost);
    for (const std::int64_t m : kSizes) {
      const std::vector<std::uint8_t> some = bits_of(m);
      ASSERT_LT(some.size(), all.size());
      EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin()))
          << spec.canonical_json() << ", M = " << m;
    }
  }
};

TEST_F(BatchInvariantGpu, WeightsOfFewBits) {
  GemmSpec four = invariant(1040, 2112);
  four.weight.group_size = 64;
  GemmSpec long_rows = invariant(512, 14336);
  GemmSpec gated = invariant(2048, 1024);
  gated.activation = gated.weight.scale_dtype = DType::kBf16;
  gated.epilogue = {.activation = Activation::kSilu, .gated = true};
  GemmSpec three = invariant(528, 1056);
  three.weight = {.bits = 3, .group_size = 32, .zero_point = ZeroPoint::kInt};
  expect_invariant({four, long_rows, gated, three});
}

TEST_F(BatchInvariantGpu, EightAndSixteenBits) {
  GemmSpec fp8 = invariant(1040, 2048);
  fp8.weight = {
      .bits = 8, .type = WeightType::kE4m3, .group_size = kPerChannel, .scale_dtype = DType::kFp32};
  GemmSpec plain = invariant(768, 4096);
  plain.activation = DType::kBf16;
  plain.weight = plain_weight(DType::kBf16);
  plain.epilogue.bias = true;
  expect_invariant({fp8, plain});
}

TEST_F(BatchInvariantGpu, ActivationsOfEightBits) {
  std::vector<GemmSpec> all = {byte_gemm(1040, 2048, DType::kFp8E4m3),
                               byte_gemm(528, 4096, DType::kInt8), block_gemm(1024, 2048)};
  for (GemmSpec& spec : all) {
    spec.shape.m_max = kMost;
    spec.batch_invariant = true;
  }
  expect_invariant(all);
}

}  // namespace
}  // namespace heddle
