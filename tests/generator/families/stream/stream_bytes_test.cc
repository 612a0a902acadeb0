// Streams of tokens of eight bits: whom they serve, what they decode to, and what tokens take.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "generator/decode/decode_plan.h"
#include "heddle/inspect/source.h"
#include "tests/byte_gemm.h"
#include "tests/generator/planner/gemm_plans.h"
#include "tests/planned_kernel.h"

namespace heddle {
namespace {

using device::StreamConfig;
using device::TokenValues;

// The path hopper and eight warps along K.
GemmSpec streamed(GemmSpec spec, std::int64_t m) {
  spec.shape.m_min = spec.shape.m_max = m;
  spec.path = Path::kHopper;
  spec.tile.warps_k = 8;
  return spec;
}

bool has_stream(const GemmSpec& spec, const char* target) {
  return !candidates_of(spec, target, is_stream).empty();
}

TEST(StreamBytes, ServeWeightsOfFourBits) {
  for (const DType dtype : {DType::kInt8, DType::kFp8E4m3, DType::kFp8E5m2}) {
    for (const int group : {32, 96, 128, kPerChannel, kPerTensor}) {
      const GemmSpec spec = four_bit_gemm(4096, 4608, dtype, group);
      EXPECT_TRUE(has_stream(streamed(spec, 16), "h200"));
      EXPECT_FALSE(has_stream(streamed(spec, 17), "h200"));
      EXPECT_FALSE(has_stream(streamed(spec, 16), "a100"));
    }
    EXPECT_FALSE(has_stream(streamed(byte_gemm(4096, 4096, dtype), 8), "h200")) << "of eight bits";
  }
  EXPECT_TRUE(has_stream(streamed(two_level_gemm(4096, 4096), 8), "h200"));
  EXPECT_FALSE(has_stream(streamed(block_gemm(4096, 4096), 8), "h200"));
  GemmSpec spec = streamed(four_bit_gemm(4096, 4096, DType::kInt8), 8);
  spec.output = DType::kFp8E4m3;
  spec.output_scale.granularity = RowGranularity::kTensor;
  EXPECT_TRUE(has_stream(spec, "h200"));
  spec.output_scale.granularity = RowGranularity::kGroup;
  EXPECT_FALSE(has_stream(spec, "h200")) << "scales of Y that are found";
}

// Where there is little work the planner takes them, and wgmma for more tokens.
TEST(StreamBytes, ArePlannedForFewTokens) {
  for (const DType dtype : {DType::kInt8, DType::kFp8E4m3}) {
    GemmSpec spec = four_bit_gemm(2112, 7168, dtype);
    spec.shape.m_max = 300;
    const Plan plan = plan_of(spec, "h100");
    EXPECT_TRUE(is_stream(kernel_at(plan, 1)));
    EXPECT_TRUE(is_wgmma(kernel_at(plan, 17)));
    EXPECT_TRUE(is_wgmma(kernel_at(plan, 300)));
    spec.tile.m = 16;
    for (const PlannedKernel& kernel : plan_of(spec, "h100").kernels) {
      EXPECT_TRUE(is_wgmma(kernel)) << "a tile without a path is of wgmma";
    }
  }
}

// From sm_90 on; where there is no wgmma nothing else takes tokens of eight bits for weights of
// four.
TEST(StreamBytes, ServeWhereThereIsNoWgmma) {
  for (const char* target : {"b200", "rtx5090"}) {
    for (const GemmSpec& one :
         {four_bit_gemm(4096, 2048, DType::kInt8), four_bit_gemm(4096, 2048, DType::kFp8E4m3)}) {
      GemmSpec spec = streamed(one, 16);
      EXPECT_TRUE(has_stream(spec, target));
      EXPECT_TRUE(is_stream(plan_of(spec, target).kernels.front()));
      spec.shape.m_max = 17;
      EXPECT_NE(refusal(spec, target).find("/shape/m/1: byte_stream: it serves up to 16 tokens"),
                std::string::npos)
          << refusal(spec, target);
      spec = streamed(one, 8);
      spec.output = DType::kInt8;
      spec.output_scale.granularity = RowGranularity::kGroup;
      EXPECT_NE(refusal(spec, target).find("/output/granularity: byte_stream: "), std::string::npos)
          << refusal(spec, target);
      spec = streamed(one, 16);
      spec.tile.split_k = 9;
      EXPECT_EQ(refused_fields(Spec::from_gemm(spec), target), Pointers{"/tile"});
    }
  }
}

TEST(StreamBytes, TakeTheScalesOfTokens) {
  using A = KernelArgument;
  const std::vector<PlannedKernel> kernels =
      candidates_of(streamed(four_bit_gemm(4096, 4096, DType::kInt8), 8), "h200", is_stream);
  ASSERT_FALSE(kernels.empty());
  const std::vector<A>& arguments = kernels.front().arguments;
  EXPECT_EQ(std::count(arguments.begin(), arguments.end(), A::kXScales), 1);
  EXPECT_EQ(std::count(arguments.begin(), arguments.end(), A::kPreScale), 0);
}

// INT8 is multiplied as it is, FP8 as FP16: their plans leave other powers of two to the sums.
TEST(StreamBytes, DecodeToWhatTheyMultiply) {
  const auto check = [](const GemmSpec& spec, DType to, int exponent) {
    const Plan plan = plan_of(streamed(spec, 8), "h200");
    const PlannedKernel& kernel = plan.kernels.front();
    const DecodePlan decode = gemm_family_of(kernel).decode_plan(plan, kernel);
    EXPECT_EQ(decode.request.dtype, to);
    EXPECT_EQ(config_of<StreamConfig>(kernel).scaling.result_exponent, exponent);
    EXPECT_EQ(decode.result_exponent, exponent);
    EXPECT_EQ(prove_decode_plan(decode).mismatches, 0U);
  };
  check(four_bit_gemm(4096, 4096, DType::kInt8), DType::kInt8, -4);
  check(two_level_gemm(4096, 4096), DType::kInt8, 0);
  check(four_bit_gemm(4096, 4096, DType::kFp8E4m3), DType::kFp16, 0);
  check(four_bit_gemm(4096, 4096, DType::kFp8E5m2), DType::kFp16, 0);
  // The bias's type is another one.
  GemmSpec spec = streamed(four_bit_gemm(4096, 4096, DType::kFp8E4m3), 8);
  spec.output = DType::kBf16;
  const std::string text = render(plan_of(spec, "h200"), 0).text;
  EXPECT_NE(text.find("using Value = Bf16;"), std::string::npos);
  EXPECT_NE(text.find("struct Decode {\n  using Value = Fp16;"), std::string::npos);
}

bool has_reason(const Plan& plan, const char* part) {
  return std::any_of(plan.reasons.begin(), plan.reasons.end(), [&](const std::string& reason) {
    return reason.find(part) != std::string::npos;
  });
}

// Tensor cores add no products of FP8 there.
TEST(StreamBytes, PlansSayHowFp8IsMultiplied) {
  const GemmSpec spec = four_bit_gemm(4096, 4096, DType::kFp8E4m3);
  const Plan of_fp8 = plan_of(streamed(spec, 8), "h200");
  EXPECT_TRUE(has_reason(of_fp8, "multiply FP8 as FP16"));
  EXPECT_FALSE(has_reason(of_fp8, "in the tensor cores"));
  ASSERT_EQ(decode_plans_of(of_fp8).size(), 1U);
  const Plan of_int8 = plan_of(streamed(four_bit_gemm(4096, 4096, DType::kInt8), 8), "h200");
  EXPECT_FALSE(has_reason(of_int8, "FP16"));
  EXPECT_TRUE(has_reason(of_int8, "of 128 columns are added exactly"));
}

// Codes take half of the shared memory of 16 bits, but for FP8 that becomes FP16 on its way there,
// which only tokens do that pass through registers.
TEST(StreamBytes, TokensTakeTheirBytes) {
  for (const DType dtype : {DType::kInt8, DType::kFp8E4m3}) {
    for (const std::int64_t m : {8, 16}) {
      GemmSpec spec = streamed(four_bit_gemm(4096, 4096, dtype), m);
      spec.tile.split_k = 1;
      std::set<std::pair<TokenValues, bool>> kinds;
      for (const PlannedKernel& kernel : candidates_of(spec, "h200", is_stream)) {
        const auto& c = config_of<StreamConfig>(kernel);
        const int bytes = c.token_values == TokenValues::kFp8OnTheWay ? 2 : 1;
        EXPECT_EQ(c.token_row_bytes(), bytes * 4096 / 8 + 16);
        kinds.insert({c.token_values, c.bulk_tokens});
      }
      std::set<std::pair<TokenValues, bool>> expected{{TokenValues::kInt8, false}};
      if (dtype != DType::kInt8) {
        expected = {{TokenValues::kFp8InLoop, false}, {TokenValues::kFp8OnTheWay, false}};
      }
      if (m > 8) expected.insert({expected.begin()->first, true});
      EXPECT_EQ(kinds, expected) << to_string(dtype) << " M = " << m;
    }
  }
}

// Where a block has little shared memory and no cluster, warps become fewer and stages shorter
// before long rows are refused.
TEST(StreamBytes, TakeLongRowsWithFewWarps) {
  const auto of_columns = [](std::int64_t k, std::int64_t m) {
    GemmSpec spec = four_bit_gemm(4096, k, DType::kInt8);
    spec.shape.m_min = spec.shape.m_max = m;
    return spec;
  };
  const Plan usual = plan_of(of_columns(28672, 1), "rtx5090");
  EXPECT_GE(config_of<StreamConfig>(usual.kernels.front()).warps_k, 6);
  const Plan longest = plan_of(of_columns(98304, 1), "rtx5090");
  EXPECT_EQ(config_of<StreamConfig>(longest.kernels.front()).warps_k, 1);
  // Tiles that such kernels have can be asked for.
  GemmSpec tile = of_columns(4096, 16);
  tile.path = Path::kHopper;
  const Plan free = plan_of(tile, "rtx5090");
  for (const bool has_warps : {false, true}) {
    tile.tile.n = 16;
    if (has_warps) tile.tile.warps_k = config_of<StreamConfig>(free.kernels.front()).warps_k;
    EXPECT_EQ(plan_of(tile, "rtx5090").kernels.front().shared_bytes,
              free.kernels.front().shared_bytes);
  }
  for (const std::int64_t m : {1, 8, 16}) {
    const Spec spec = Spec::from_gemm(of_columns(131072, m));
    EXPECT_EQ(refused_fields(spec, "rtx5090"), Pointers{"/shape/k"});
  }
  GemmSpec few = of_columns(28672, 16);
  few.shape.m_min = 1;
  const std::string says = refusal(few, "rtx5090");
  EXPECT_NE(says.find("shorter rows, or M up to 3"), std::string::npos) << says;
  EXPECT_FALSE(plan_of(of_columns(28672, 3), "rtx5090").kernels.empty());
}

}  // namespace
}  // namespace heddle
