// GEMM on the GPU against FP64: every combination of types, group sizes and zero points, at ragged
// and boundary shapes, with poisoned outputs and guard bands. Skips where there is no GPU.
#include "tests/gpu/gemm_fixture.h"

namespace heddle {
namespace {

// Both ends of every M range, and what lies between.
const std::vector<std::int64_t> kBoundaries{1,   2,   7,   8,   9,   15,  16,  17,
                                            31,  32,  33,  63,  64,  65,  127, 128,
                                            129, 255, 256, 257, 511, 512, 513, 1000};

TEST_F(GemmGpu, EveryTypeGroupAndZeroPoint) {
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    for (const int group : {32, 64, 128, 256, kPerChannel}) {
      for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
        check_in_turn(spec_of(1000, 1280, dtype, group, zero), {1, 8, 13, 30, 64, 130, 300});
      }
    }
  }
}

TEST_F(GemmGpu, EveryBoundaryOfM) {
  check(spec_of(520, 640, DType::kFp16, 128, ZeroPoint::kInt), kBoundaries);
  check(spec_of(520, 640, DType::kBf16, 64, ZeroPoint::kNone), kBoundaries);
}

TEST_F(GemmGpu, RaggedShapes) {
  for (const std::int64_t n : {8, 16, 24, 72, 136, 248, 1032}) {
    for (const std::int64_t k : {32, 64, 96, 160, 416, 1056}) {
      check_in_turn(spec_of(n, k, DType::kFp16, 32, ZeroPoint::kInt), {1, 9, 33, 70});
    }
  }
}

TEST_F(GemmGpu, ShapesOfModels) {
  for (const auto& [n, k] : {std::pair{6144, 4096}, {4096, 14336}, {1152, 896}, {9728, 896}}) {
    check(spec_of(n, k, DType::kFp16, 128, ZeroPoint::kNone), {1, 16, 64, 200});
  }
  check(spec_of(3584, 18944, DType::kBf16, 128, ZeroPoint::kInt), {1, 16, 64, 200});
}

TEST_F(GemmGpu, EveryWidth) {
  for (int bits = 1; bits <= 8; ++bits) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
      const DType dtype = rotate(kSixteenBitTypes, bits + (zero == ZeroPoint::kInt));
      for (const int group : {16, 128}) {
        GemmSpec spec = spec_of(264, 1280, dtype, group, zero);
        spec.weight.bits = bits;
        // Both types, each with and without zero points.
        spec.weight.type = (bits + (group == 16)) % 2 == 0 ? WeightType::kUint : WeightType::kInt;
        check_in_turn(spec, {1, 12, 40, 100, 300});
      }
    }
    GemmSpec channel =
        spec_of(264, 1056, rotate(kSixteenBitTypes, bits), kPerChannel, ZeroPoint::kInt);
    channel.weight.bits = bits;
    check_in_turn(channel, {1, 30, 70, 200});
  }
}

TEST_F(GemmGpu, TwosComplementCodes) {
  for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
    for (const DType dtype : {DType::kFp16, DType::kBf16}) {
      GemmSpec spec = spec_of(264, 512, dtype, 64, zero);
      spec.weight.type = WeightType::kInt;
      check_in_turn(spec, {1, 20, 70, 200});
    }
  }
}

TEST_F(GemmGpu, ScalesOfAnotherType) {
  std::size_t i = 0;
  for (const DType scale : {DType::kFp16, DType::kBf16, DType::kFp32}) {
    for (const int group : {32, 128, kPerChannel}) {
      GemmSpec spec = spec_of(264, 1024, rotate(kSixteenBitTypes, i++), group, ZeroPoint::kInt);
      spec.weight.scale_dtype = scale;
      check_in_turn(spec, {1, 20, 70, 200});
    }
  }
}

TEST_F(GemmGpu, Epilogues) {
  for (const Activation activation :
       {Activation::kNone, Activation::kRelu, Activation::kGelu, Activation::kGeluTanh,
        Activation::kSilu, Activation::kRelu2}) {
    for (int i = 0; i < 3; ++i) {  // as many families serve the list of M
      GemmSpec spec = spec_of(264, 416, DType::kFp16, 32, ZeroPoint::kNone);
      spec.epilogue = {true, activation, i % 2 == 1};
      check_in_turn(spec, {1, 17, 64, 150});
    }
  }
}

TEST_F(GemmGpu, TheTuringPathGivesTheSameNumbers) {
  for (const int group : {32, 128, kPerChannel}) {
    GemmSpec spec = spec_of(1000, 1280, DType::kFp16, group, ZeroPoint::kInt);
    spec.path = Path::kTuring;
    if (group == 128) check(spec, kBoundaries);
    check_in_turn(spec, kBoundaries);
  }
}

TEST_F(GemmGpu, SplitsAndTilesOfTheUser) {
  for (const int split : {1, 2, 3, 8}) {
    GemmSpec spec = spec_of(264, 8192, DType::kBf16, 128, ZeroPoint::kInt);
    spec.shape.m_max = 256;
    spec.tile.split_k = split;
    check(spec, {1, 8, 40, 100, 256});
  }
  GemmSpec odd = spec_of(264, 2048, DType::kFp16, 64, ZeroPoint::kInt);
  odd.tile.m = 24;
  odd.tile.n = 48;
  odd.tile.k = 256;
  odd.tile.stages = 2;
  odd.tile.warps_m = 1;
  odd.tile.warps_n = 3;
  odd.tile.warps_k = 2;
  check(odd, {1, 24, 25, 100});
}

// The path of older GPUs: several row blocks to each SM, an even and an odd number of them, ragged.
TEST_F(GemmGpu, FewTokensByTiles) {
  bool bf16 = false;
  for (const int bits : {4, 8}) {
    for (const std::int64_t n : {520, 4104, 6152, 14344, 28680}) {
      GemmSpec spec = spec_of(n, 1184, bf16 ? DType::kBf16 : DType::kFp16, bf16 ? 32 : 128,
                              bf16 ? ZeroPoint::kInt : ZeroPoint::kNone);
      if (spec.weight.group_size == 128) spec.shape.k = 1280;
      spec.weight.bits = bits;
      spec.path = Path::kAmpere;
      spec.shape.m_max = 16;
      check_in_turn(spec, {1, 5, 7, 8, 9, 13, 16});
      bf16 = !bf16;
    }
  }
}

// The workspace is left as it was found: launches of different M share one.
TEST_F(GemmGpu, LaunchesShareAWorkspace) {
  GemmSpec spec = spec_of(520, 4096, DType::kFp16, 128, ZeroPoint::kNone);
  check(spec, {64, 1, 128, 8, 64, 256, 1, 512, 16});
}

}  // namespace
}  // namespace heddle
