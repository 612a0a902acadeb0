// Y of eight bits in a spec of a gemm: what is taken, what is refused, which types bias and
// residual have.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "generator/operations/gemm/gemm.h"
#include "generator/operations/kernel_argument.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "tests/byte_gemm.h"
#include "tests/generator/planner/plan_refusals.h"
#include "tests/generator/spec/spec_helpers.h"
#include "tests/planned_kernel.h"

namespace heddle {
namespace {

constexpr DType kTypes[] = {DType::kInt8, DType::kFp8E4m3, DType::kFp8E5m2};

GemmSpec codes_of(GemmSpec spec, DType dtype) {
  spec.output = dtype;
  spec.output_scale.granularity = RowGranularity::kTensor;
  return spec;
}

GemmSpec small(DType activation = DType::kFp16) {
  GemmSpec spec;
  spec.shape = {256, 512, 1, 300};
  spec.activation = spec.weight.scale_dtype = activation;
  return spec;
}

std::vector<Problem> problems_of(const GemmSpec& spec) { return check_meaning(spec); }

TEST(SpecOutput, IsReadAndWritten) {
  const std::string text =
      changed(R"({"dtype":"fp16"})",
              R"({"dtype":"fp16"},"output":{"dtype":"fp8_e4m3","granularity":"tensor"})");
  const Spec spec = Spec::parse(text);
  EXPECT_EQ(spec.gemm().output_dtype(), DType::kFp8E4m3);
  EXPECT_EQ(spec.gemm().output_scale.granularity, RowGranularity::kTensor);
  EXPECT_NE(spec.canonical_json().find(R"("output":{"dtype":"fp8_e4m3","granularity":"tensor"})"),
            std::string::npos)
      << spec.canonical_json();
  EXPECT_EQ(Spec::parse(spec.canonical_json()).canonical_json(), spec.canonical_json());
  EXPECT_EQ(Spec::from_gemm(spec.gemm()).canonical_json(), spec.canonical_json());
}

TEST(SpecOutput, OfSixteenBitsSaysNothingMore) {
  const std::string text = Spec::parse(kSmallSpec).canonical_json();
  EXPECT_EQ(text.find("output"), std::string::npos) << text;
}

TEST(SpecOutput, OfTheTypeOfXStaysInTheSpec) {
  const GemmSpec spec = codes_of(byte_gemm(256, 512, DType::kInt8), DType::kInt8);
  EXPECT_EQ(Spec::from_gemm(spec).gemm().output, DType::kInt8);
  EXPECT_TRUE(problems_of(Spec::from_gemm(spec).gemm()).empty());
}

TEST(SpecOutput, IsServedOnEveryTarget) {
  for (const DType dtype : kTypes) {
    for (const char* target : {"t4", "a100", "rtx4090", "h100", "b200"}) {
      const Plan plan =
          resolve(Spec::from_gemm(codes_of(small(), dtype)), target_from_name(target));
      for (const PlannedKernel& kernel : plan.kernels) {
        EXPECT_EQ(kernel.arguments.back(), KernelArgument::kYScales) << target;
        EXPECT_NE(kernel.name.find("_tensor_"), std::string::npos) << kernel.name;
      }
    }
    for (const GemmSpec& spec : {byte_gemm(256, 512, DType::kInt8),
                                 four_bit_gemm(256, 512, DType::kFp8E4m3), block_gemm(256, 512)}) {
      EXPECT_FALSE(resolve(Spec::from_gemm(codes_of(spec, dtype)), target_from_name("h100"))
                       .kernels.empty());
    }
  }
}

// Other outputs have the kernels that they had: nothing in the arguments or the text tells of
// codes.
TEST(SpecOutput, ChangesNoOtherKernel) {
  GemmSpec spec = small();
  for (const auto output : {std::optional<DType>(), std::optional(DType::kFp32)}) {
    spec.output = output;
    const Plan plan = resolve(Spec::from_gemm(spec), target_from_name("h100"));
    for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
      EXPECT_FALSE(plan.kernels[i].takes(KernelArgument::kYScales));
      EXPECT_EQ(render(plan, i).text.find("using Result = ResultCodes"), std::string::npos);
    }
  }
}

TEST(SpecOutput, BiasAndResidualHaveTheTypeOfXOr32Bits) {
  const GemmSpec halves = codes_of(small(DType::kBf16), DType::kInt8);
  EXPECT_EQ(halves.bias_dtype(), DType::kBf16);
  EXPECT_EQ(halves.residual_dtype(), DType::kBf16);
  const GemmSpec bytes = codes_of(byte_gemm(256, 512, DType::kInt8), DType::kFp8E4m3);
  EXPECT_EQ(bytes.bias_dtype(), DType::kFp32);
  EXPECT_EQ(bytes.residual_dtype(), DType::kFp32);
  GemmSpec wide = small();
  wide.output = DType::kFp32;
  EXPECT_EQ(wide.bias_dtype(), DType::kFp16);
  EXPECT_EQ(wide.residual_dtype(), DType::kFp32);
}

void expect_refused(const GemmSpec& spec, const char* pointer, const char* hint) {
  const std::vector<Problem> problems = problems_of(spec);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].pointer, pointer);
  EXPECT_NE(problems[0].allowed.find(hint), std::string::npos) << problems[0].allowed;
}

TEST(SpecOutput, FindsScalesWhereATileHas128Outputs) {
  for (const DType dtype : kTypes) {
    for (const bool gated : {false, true}) {
      for (GemmSpec spec : {small(), byte_gemm(512, 512, DType::kInt8),
                            four_bit_gemm(512, 512, DType::kInt8), block_gemm(512, 512)}) {
        spec = codes_of(spec, dtype);
        spec.output_scale.granularity = RowGranularity::kGroup;
        spec.epilogue = {false, Activation::kSilu, false, gated};
        const Plan plan = resolve(Spec::from_gemm(spec), target_from_name("h100"));
        for (const PlannedKernel& kernel : plan.kernels) {
          const auto* tile = config_if<WarpgroupKernel>(kernel);
          ASSERT_NE(tile, nullptr);
          EXPECT_EQ(tile->tile_n % (gated ? 256 : 128), 0);
          EXPECT_TRUE(tile->has_own_groups() || !tile->shares_tiles() || tile->shares_in_pairs());
          EXPECT_EQ(kernel.arguments.back(), KernelArgument::kYScales);
        }
      }
    }
  }
}

TEST(SpecOutput, FindsScalesWithWeightsOfEveryKind) {
  for (const bool gated : {false, true}) {
    for (const int bits : {1, 3, 4, 8}) {
      for (const int group : {16, 128, kPerChannel}) {
        GemmSpec spec = codes_of(small(DType::kBf16), DType::kFp8E4m3);
        spec.output_scale.granularity = RowGranularity::kGroup;
        spec.shape = {2048, 4096, 1, 65536};
        spec.epilogue.gated = gated;
        spec.weight.bits = bits;
        spec.weight.group_size = group;
        spec.weight.zero_point = ZeroPoint::kInt;
        EXPECT_EQ(refused_fields(Spec::from_gemm(spec), "h100"), Pointers())
            << bits << ' ' << group;
        spec.path = Path::kHopper;
        EXPECT_EQ(refused_fields(Spec::from_gemm(spec), "h100"), Pointers())
            << bits << ' ' << group;
      }
    }
  }
}

GemmSpec groups_of(GemmSpec spec, DType dtype = DType::kFp8E4m3) {
  spec = codes_of(std::move(spec), dtype);
  spec.output_scale.granularity = RowGranularity::kGroup;
  return spec;
}

TEST(SpecOutput, RefusesToFindScalesByField) {
  GemmSpec spec = groups_of(small());
  spec.output_scale.scale_dtype = RowScaleDtype::kE8m0;
  const auto refused = [&](const char* target) {
    return refused_fields(Spec::from_gemm(spec), target);
  };
  for (const char* target : {"t4", "a100", "rtx4090", "h100", "b200", "rtx5090"}) {
    EXPECT_EQ(refused(target), Pointers()) << target;
  }
  spec.path = Path::kAmpere;
  EXPECT_EQ(refused("h100"), Pointers());
  // What wgmma does not multiply tiles of mma.sync do, unless the spec asks for the path hopper.
  for (const auto& [zeros, pre_scale, field] :
       {std::tuple{ZeroPoint::kFloat, false, "/weight/zero_point"},
        {ZeroPoint::kNone, true, "/activation/pre_scale"}}) {
    spec.weight.zero_point = zeros;
    spec.pre_scale = pre_scale;
    spec.path = Path::kAuto;
    EXPECT_EQ(refused("h100"), Pointers());
    spec.path = Path::kHopper;
    const std::string why = refusal(Spec::from_gemm(spec), "h100");
    EXPECT_NE(why.find("/path: tiles: "), std::string::npos) << why;
    const std::size_t at = why.find(std::string(field) + ": ");
    ASSERT_NE(at, std::string::npos) << why;
    const std::string line = why.substr(at, why.find('\n', at) - at);
    EXPECT_NE(line.find("warpgroup"), std::string::npos) << why;
  }
  spec.pre_scale = false;
  EXPECT_EQ(refused("b200").front(), "/path");
  spec.tile.m = 64;
  spec.tile.n = 64;
  EXPECT_EQ(refused("h100"), Pointers{"/tile/n"});
  for (const Path path : {Path::kAmpere, Path::kTuring}) {
    spec.path = path;
    EXPECT_EQ(refused("h100"), Pointers{"/tile/n"});
  }
  spec.tile = {};
  spec.tile.warps_n = 4;
  spec.path = Path::kHopper;
  EXPECT_EQ(refused("h100"), Pointers{"/tile/warps_n"});
}

TEST(SpecOutput, RefusesGroupsThatLeaveNoSharedMemory) {
  GemmSpec gated = groups_of(byte_gemm(512, 512, DType::kInt8), DType::kInt8);
  gated.epilogue.gated = true;
  EXPECT_EQ(refused_fields(Spec::from_gemm(gated), "t4"), Pointers{"/output/granularity"});
  EXPECT_EQ(refused_fields(Spec::from_gemm(gated), "rtx4090"), Pointers());
  GemmSpec halves = groups_of(small());
  halves.weight = {};
  halves.weight.type = WeightType::kFp16;
  halves.weight.bits = 16;
  EXPECT_EQ(refused_fields(Spec::from_gemm(halves), "t4"), Pointers{"/output/granularity"});
  EXPECT_EQ(refused_fields(Spec::from_gemm(halves), "rtx4090"), Pointers());
}

TEST(SpecOutput, IsRefusedByName) {
  for (const DType dtype : kTypes) {
    GemmSpec spec = codes_of(small(), dtype);
    spec.output_scale.scale_dtype = RowScaleDtype::kE8m0;
    expect_refused(spec, "/output/scale_dtype", "fp32");
    spec.output_scale = {};
    expect_refused(spec, "/output/granularity", "tensor");
    spec.output_scale.granularity = RowGranularity::kToken;
    expect_refused(spec, "/output/granularity", "row_transform");
  }
  for (const auto output : {std::optional<DType>(), std::optional(DType::kFp32)}) {
    GemmSpec spec = small();
    spec.output = output;
    spec.output_scale.granularity = RowGranularity::kTensor;
    expect_refused(spec, "/output/granularity", "none");
    spec.output_scale = {RowGranularity::kNone, RowScaleDtype::kE8m0};
    expect_refused(spec, "/output/scale_dtype", "fp32");
  }
}

}  // namespace
}  // namespace heddle
