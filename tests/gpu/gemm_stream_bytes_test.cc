// GEMM on the GPU that streams weights of four bits past tokens of eight: every type and group,
// ragged shapes, K over the blocks of a cluster, and the bits of wgmma.
#include <algorithm>

#include "generator/target/capabilities.h"
#include "runtime/driver/context.h"
#include "stream/config.h"
#include "tests/byte_gemm.h"
#include "tests/gpu/gemm_fixture.h"
#include "tools/gpu_harness/operations/gemm/data.h"

namespace heddle {
namespace {

using device::TokenValues;

// By warps along K, which streams alone have.
GemmSpec streamed_bytes(GemmSpec spec, int split = 1) {
  const std::int64_t chunks = device::ceil_div(spec.shape.k, WeightLayout::kChunkK) / split;
  spec.shape.m_max = 16;
  spec.path = Path::kHopper;
  spec.tile.warps_k = static_cast<int>(std::min<std::int64_t>(chunks, 8));
  spec.tile.split_k = split;
  return spec;
}

class StreamBytesGpu : public GemmGpu {
 protected:
  void SetUp() override {
    GemmGpu::SetUp();
    if (!IsSkipped() && !has_multicast(target())) GTEST_SKIP() << "no clusters";
  }
};

TEST_F(StreamBytesGpu, OfEveryTypeAndGroup) {
  constexpr ZeroPoint kZeroPoints[] = {ZeroPoint::kNone, ZeroPoint::kInt};
  std::size_t i = 0;
  for (const DType dtype : kEightBitTypes) {
    for (const int group : {32, 64, 96, 128, 256, kPerChannel, kPerTensor}) {
      GemmSpec spec = streamed_bytes(four_bit_gemm(1000, 2304, dtype, group));
      spec.weight.zero_point = rotate(kZeroPoints, i++);
      if (group % 64 == 0) spec.weight.type = WeightType::kInt;
      check_in_turn(spec, kStreamTokens);
    }
  }
}

// Fewer chunks than warps, warps with more chunks than others, an end of K inside of a stage and of
// a chunk, more row blocks than a round has.
TEST_F(StreamBytesGpu, OfRaggedShapes) {
  constexpr DType kTypes[] = {DType::kInt8, DType::kFp8E4m3};
  constexpr std::int64_t kRows[] = {8, 24, 136, 4352};
  constexpr std::int64_t kColumns[] = {32, 160, 896, 2208};
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    for (std::size_t j = 0; j < std::size(kColumns); ++j) {
      check_in_turn(streamed_bytes(four_bit_gemm(kRows[i], kColumns[j], rotate(kTypes, i + j), 32)),
                    {1, 2, 7, 15});
    }
  }
  for (const DType dtype : kTypes) {
    check_in_turn(streamed_bytes(four_bit_gemm(17000, 1280, dtype)), {1, 7, 16});
  }
}

TEST_F(StreamBytesGpu, OfTwoLevels) {
  for (const int group : {32, 64, 96, 128, 384}) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
      GemmSpec spec = streamed_bytes(two_level_gemm(1000, 2304, group));
      spec.weight.zero_point = zero;
      if (group % 64 == 0) spec.weight.type = WeightType::kInt;
      check_in_turn(spec, kStreamTokens);
    }
  }
}

TEST_F(StreamBytesGpu, WithKOverTheBlocksOfACluster) {
  std::size_t i = 0;
  for (const int split : {2, 3, 4, 8}) {
    for (const DType dtype : kEightBitTypes) {
      const GemmSpec specs[] = {four_bit_gemm(4128, 2560, dtype, 64),
                                four_bit_gemm(264, 7168, dtype, kPerChannel)};
      check_in_turn(streamed_bytes(rotate(specs, i++), split), kStreamTokens);
    }
    check_in_turn(streamed_bytes(two_level_gemm(264, 2560, 32), split), kStreamTokens);
  }
}

// Scales, a shard that begins inside of a group, and what surrounds the product.
TEST_F(StreamBytesGpu, WithEverythingAround) {
  int i = 0;
  for (const DType dtype : kEightBitTypes) {
    GemmSpec scales = streamed_bytes(four_bit_gemm(520, 1152, dtype));
    scales.weight.scale_dtype = DType::kFp32;
    scales.activation_scale.granularity = RowGranularity::kTensor;
    check_in_turn(scales, kStreamTokens);
    GemmSpec shard = streamed_bytes(four_bit_gemm(520, 1120, dtype));
    shard.weight.group_offset = 32;
    shard.weight.zero_point = ZeroPoint::kInt;
    check_in_turn(shard, kStreamTokens);
    for (const DType output : {DType::kFp16, DType::kBf16, DType::kFp32}) {
      const int group = output == DType::kBf16 ? kPerChannel : 128;
      GemmSpec spec = streamed_bytes(four_bit_gemm(528, 1152, dtype, group));
      spec.output = output;
      spec.epilogue = {true, Activation::kSilu, true, i++ % 2 == 1};  // with gates and without
      check_in_turn(spec, kStreamTokens);
    }
    GemmSpec codes = streamed_bytes(four_bit_gemm(528, 1152, dtype));
    codes.output = DType::kFp8E4m3;
    codes.output_scale.granularity = RowGranularity::kTensor;
    check_in_turn(codes, kStreamTokens);
  }
}

// Tokens by bulk copies and through registers, codes of FP8 that become FP16 here and there.
TEST_F(StreamBytesGpu, WithTokensOfEveryWay) {
  struct Way {
    DType dtype;
    TokenValues values;
    bool is_bulk;
  };
  constexpr Way kWays[] = {{DType::kInt8, TokenValues::kInt8, true},
                           {DType::kInt8, TokenValues::kInt8, false},
                           {DType::kFp8E4m3, TokenValues::kFp8InLoop, true},
                           {DType::kFp8E4m3, TokenValues::kFp8InLoop, false},
                           {DType::kFp8E5m2, TokenValues::kFp8OnTheWay, false}};
  constexpr std::int64_t kColumns[] = {2208, 4096};
  std::size_t i = 0;
  for (const Way& way : kWays) {
    const auto goes_so = [&](const PlannedKernel& kernel) {
      const auto* config = config_if<device::StreamConfig>(kernel);
      return config && config->token_values == way.values && config->bulk_tokens == way.is_bulk;
    };
    for (const int split : {1, 4}) {
      const std::int64_t k = rotate(kColumns, i++);
      GemmSpec spec = streamed_bytes(four_bit_gemm(1000, k, way.dtype, 32), split);
      spec.weight.zero_point = ZeroPoint::kInt;
      spec.shape.m_min = 9;
      check_kernel(spec, goes_so, {9, 13, 16});
      spec.shape.m_min = 1;
      spec.shape.m_max = 8;
      if (!way.is_bulk) check_kernel(spec, goes_so, {1, 5, 8});
    }
    ++i;  // the other split for each K
  }
}

// Integers of all of K are added exactly and scaled in the same order, whichever instruction
// multiplies them.
TEST_F(StreamBytesGpu, GivesTheBitsOfWgmma) {
  if (!has_wgmma(target())) GTEST_SKIP() << "wgmma is sm_90's alone";
  constexpr std::int64_t kTokens[] = {1, 8, 16};
  std::size_t number = 0;
  for (GemmSpec spec : {four_bit_gemm(528, 2560, DType::kInt8, kPerChannel),
                        two_level_gemm(528, 2560, 32), two_level_gemm(528, 2560)}) {
    spec.shape.m_max = 16;
    spec.weight.zero_point = ZeroPoint::kInt;
    spec.epilogue = {true, Activation::kSilu, true};
    GemmSpec by_wgmma = spec;
    by_wgmma.tile.m = 16;
    by_wgmma.tile.n = 128;
    const std::int64_t m = rotate(kTokens, number++);
    std::vector<Plan> plans{plan_of(by_wgmma, {m})};
    for (const int split : {1, 4}) plans.push_back(plan_of(streamed_bytes(spec, split), {m}));
    if (only_makes(plans)) continue;
    const cuda::CurrentContext context;
    GemmData problem(spec, 16);
    std::vector<std::vector<std::uint8_t>> outputs;
    for (const Plan& plan : plans) {
      const GemmKernel kernel(runtime().load(plan));
      problem.renew_workspace(kernel);
      problem.poison_output();
      kernel.launch(problem.args(m), problem.stream().get());
      outputs.push_back(problem.read_output(m));
    }
    for (std::size_t i = 1; i < outputs.size(); ++i) {
      EXPECT_EQ(outputs[0], outputs[i]) << plans[i].spec.canonical_json() << " M = " << m;
    }
  }
}

}  // namespace
}  // namespace heddle
