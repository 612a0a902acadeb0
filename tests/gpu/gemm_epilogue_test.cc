// What follows the sums of a GEMM: gates and ups, and Y of another type than X, by every family.
#include <gtest/gtest.h>

#include <tuple>

#include "tests/gpu/gemm_fixture.h"

namespace heddle {
namespace {

using enum DType;

constexpr EpilogueSpec kEverything = {true, Activation::kSilu, true, true};
constexpr EpilogueSpec kGate = {false, Activation::kSilu, false, true};
constexpr EpilogueSpec kClamped = {true, Activation::kClampedSwiglu, false, true, 7};

GemmSpec gated(std::int64_t n, std::int64_t k, DType dtype, int group,
               const EpilogueSpec& epilogue) {
  GemmSpec spec = spec_of(n, k, dtype, group, ZeroPoint::kInt);
  spec.epilogue = epilogue;
  return spec;
}

class GemmEpilogueGpu : public GemmGpu {};

// Every family that the planner chooses for some M; rows that end inside of a tile.
TEST_F(GemmEpilogueGpu, GatedActivations) {
  for (const Activation activation :
       {Activation::kNone, Activation::kRelu, Activation::kGelu, Activation::kGeluTanh,
        Activation::kSilu, Activation::kRelu2}) {
    for (const DType dtype : kSixteenBitTypes) {
      check_in_turn(gated(272, 416, dtype, 32, {true, activation, true, true}), {1, 17, 64, 150});
    }
  }
  check_in_turn(gated(272, 416, kBf16, 32, kClamped), {1, 17, 64, 150});
}

TEST_F(GemmEpilogueGpu, GatedAtEveryKindOfM) {
  for (const EpilogueSpec& epilogue : {kEverything, kGate, kClamped}) {
    for (const DType dtype : {kFp16, kBf16}) {
      for (const int group : {32, 128, kPerChannel}) {
        check_in_turn(gated(4112, 1280, dtype, group, epilogue),
                      {1, 2, 8, 9, 16, 17, 33, 64, 65, 100, 129, 200, 257, 500});
      }
    }
  }
}

// Few rows, whose kernels share K in clusters and through the workspace.
TEST_F(GemmEpilogueGpu, GatedOfFewRows) {
  check(gated(144, 7168, kFp16, 128, kEverything), {1, 4, 8, 16, 32, 64, 100, 256});
  check(gated(576, 8192, kBf16, 32, kGate), {1, 3, 16, 31, 64, 128});
}

TEST_F(GemmEpilogueGpu, GatedOnOlderPaths) {
  for (const EpilogueSpec& epilogue : {kEverything, kGate, kClamped}) {
    GemmSpec turing = gated(528, 1056, kFp16, 32, epilogue);
    turing.path = Path::kTuring;
    check_in_turn(turing, {1, 7, 33, 100});
    GemmSpec ampere = gated(528, 1056, kBf16, 32, epilogue);
    ampere.path = Path::kAmpere;
    check_in_turn(ampere, {1, 7, 16, 33, 64, 100, 300});
  }
}

TEST_F(GemmEpilogueGpu, GatedFormats) {
  for (const int bits : {2, 3, 8}) {
    GemmSpec spec = gated(528, 1024, kFp16, 128, kGate);
    spec.weight.bits = bits;
    check_in_turn(spec, {1, 8, 33, 129, 300});
  }
  GemmSpec fp4 = spec_of(528, 1024, kBf16, 16, ZeroPoint::kNone);
  fp4.weight.type = WeightType::kE2m1;
  fp4.weight.scale_dtype = kE4m3;
  fp4.weight.tensor_scale = true;
  fp4.epilogue = kClamped;
  check_in_turn(fp4, {1, 8, 33, 129, 300});
}

TEST_F(GemmEpilogueGpu, OutputTypes) {
  for (const auto& [x, y] :
       {std::tuple{kFp16, kFp32}, {kBf16, kFp32}, {kFp16, kBf16}, {kBf16, kFp16}}) {
    for (const EpilogueSpec& epilogue :
         {EpilogueSpec{}, EpilogueSpec{true, Activation::kRelu2, true}, kEverything, kGate}) {
      GemmSpec spec = gated(528, 1280, x, 128, epilogue);
      spec.output = y;
      check_in_turn(spec, {1, 8, 9, 33, 64, 100, 300});
    }
  }
}

}  // namespace
}  // namespace heddle
