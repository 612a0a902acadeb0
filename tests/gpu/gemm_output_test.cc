// GEMM on the GPU whose Y has eight bits, by every family: rows and tokens that end inside of a
// tile, and what surrounds the product.
#include "generator/target/capabilities.h"
#include "tests/byte_gemm.h"
#include "tests/gpu/gemm_fixture.h"

namespace heddle {
namespace {

using enum DType;

const EpilogueSpec kAround[] = {{},
                                {false, Activation::kSilu, false, true},
                                {true, Activation::kGelu, true},
                                {true, Activation::kSilu, true, true}};

class OutputGpu : public GemmGpu {
 protected:
  // Every type of Y, with gates and without; all of kAround in two calls.
  void check_all(GemmSpec spec, const std::vector<std::int64_t>& m_list) {
    for (const DType dtype : kEightBitTypes) {
      for (int i = 0; i < 2; ++i) {
        spec.output = dtype;
        spec.output_scale.granularity = RowGranularity::kTensor;
        spec.epilogue = rotate(kAround, around_++);
        check_in_turn(spec, m_list);
      }
    }
  }

  std::size_t around_ = 0;
};

TEST_F(OutputGpu, CodesOfEveryRangeOfTokens) {
  for (const DType dtype : {kFp16, kBf16}) {
    check_all(spec_of(1040, 1184, dtype, 32, ZeroPoint::kInt),
              {1, 2, 8, 9, 16, 17, 33, 64, 100, 129, 257, 500});
  }
}

// Few rows, whose kernels share K in clusters and through the workspace.
TEST_F(OutputGpu, CodesOfFewRows) {
  check_all(spec_of(144, 7168, kFp16, 128, ZeroPoint::kNone), {1, 4, 8, 16, 32, 64, 100, 256});
}

TEST_F(OutputGpu, CodesOnOlderPaths) {
  for (const Path path : {Path::kTuring, Path::kAmpere}) {
    GemmSpec spec = spec_of(528, 1056, kFp16, 32, ZeroPoint::kInt);
    spec.path = path;
    check_all(spec, {1, 7, 16, 33, 100, 300});
  }
}

TEST_F(OutputGpu, CodesOfBytes) {
  if (!has_wgmma(target())) GTEST_SKIP() << "wgmma is sm_90's alone";
  check_all(byte_gemm(1040, 1184, kInt8), {1, 16, 33, 64, 100, 200, 600});
  check_all(byte_gemm(1040, 1184, kFp8E4m3), {1, 16, 33, 64, 100, 200, 600});
  check_all(four_bit_gemm(1040, 1152, kInt8), {1, 16, 33, 64, 100, 200, 600});
  check_all(block_gemm(1280, 1184), {1, 16, 33, 64, 100, 200, 600});
}

class GroupsGpu : public OutputGpu {
 protected:
  void check_int8(Path path) {
    GemmSpec spec = byte_gemm(1360, 1184, kInt8);
    spec.path = path;
    check_groups(spec, {1, 16, 33, 100, 300});
    spec = byte_gemm(144, 7168, kInt8);
    spec.path = path;
    spec.activation_scale.symmetric = false;
    check_groups(spec, {1, 32, 100});
  }
  // Every type of Y and of its scales: five cases, so that two calls have each with gates and
  // without.
  void check_groups(GemmSpec spec, const std::vector<std::int64_t>& m_list) {
    for (const DType dtype : kEightBitTypes) {
      for (const RowScaleDtype scale : {RowScaleDtype::kFp32, RowScaleDtype::kE8m0}) {
        if (dtype == kInt8 && scale == RowScaleDtype::kE8m0) continue;
        spec.output = dtype;
        spec.output_scale = {RowGranularity::kGroup, scale};
        spec.epilogue = rotate(kAround, around_++);
        check_in_turn(spec, m_list);
      }
    }
  }
};

// Rows that end inside of a group and of a word of groups.
TEST_F(GroupsGpu, EveryRangeOfTokens) {
  check_groups(spec_of(1360, 1184, kFp16, 32, ZeroPoint::kInt),
               {1, 2, 8, 9, 16, 17, 33, 64, 100, 129, 257, 500});
  check_groups(spec_of(1360, 1280, kBf16, 128, ZeroPoint::kNone), {1, 16, 33, 100, 300});
  check_groups(spec_of(144, 7168, kFp16, 128, ZeroPoint::kNone), {1, 4, 16, 32, 64, 100, 256});
}

// By tiles of mma.sync, also where K is shared through the workspace.
TEST_F(GroupsGpu, OnOlderPaths) {
  for (const Path path : {Path::kTuring, Path::kAmpere}) {
    if (path == Path::kAmpere && !has_async_copies(target())) continue;
    GemmSpec spec = spec_of(1360, 1184, kFp16, 32, ZeroPoint::kInt);
    spec.path = path;
    check_groups(spec, {1, 7, 16, 33, 100, 300});
    spec = spec_of(144, 7168, kFp16, 128, ZeroPoint::kNone);
    spec.path = path;
    check_groups(spec, {1, 32, 100});
  }
}

// On sm_90 by tiles, too.
TEST_F(GroupsGpu, WithFloatZeroPointsAndPreScale) {
  GemmSpec spec = spec_of(528, 1152, kFp16, 64, ZeroPoint::kFloat);
  check_groups(spec, {1, 40, 300});
  spec.weight.zero_point = ZeroPoint::kInt;
  spec.pre_scale = true;
  check_groups(spec, {1, 40, 300});
}

TEST_F(GroupsGpu, OfInt8Turing) { check_int8(Path::kTuring); }

TEST_F(GroupsGpu, OfInt8Ampere) {
  if (!has_async_copies(target())) GTEST_SKIP() << "no cp.async";
  check_int8(Path::kAmpere);
}

TEST_F(GroupsGpu, OfFp8Ampere) {
  if (!has_fp8_mma(target())) GTEST_SKIP() << "no FP8 in mma.sync";
  GemmSpec spec = byte_gemm(1360, 1184, kFp8E4m3);
  spec.path = Path::kAmpere;
  for (int i = 0; i < 2; ++i) check_groups(spec, {1, 16, 33, 100, 300});
}

TEST_F(GroupsGpu, OfBytes) {
  if (!has_wgmma(target())) GTEST_SKIP() << "wgmma is sm_90's alone";
  check_groups(byte_gemm(1360, 1184, kInt8), {1, 16, 33, 64, 100, 200, 600});
  check_groups(byte_gemm(1360, 1184, kFp8E4m3), {1, 16, 33, 64, 100, 200, 600});
}

TEST_F(GroupsGpu, OfBytesThatAreScaledInGroups) {
  if (!has_wgmma(target())) GTEST_SKIP() << "wgmma is sm_90's alone";
  check_groups(four_bit_gemm(1360, 1152, kInt8), {1, 16, 33, 64, 100, 200, 600});
  check_groups(block_gemm(1280, 1184), {1, 16, 33, 64, 100, 200, 600});
}

}  // namespace
}  // namespace heddle
