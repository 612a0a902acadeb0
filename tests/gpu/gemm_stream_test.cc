// GEMM that streams its weights on the GPU: the path for the fewest tokens, by default and up to
// where it serves.
#include "tests/gpu/gemm_fixture.h"

namespace heddle {
namespace {

const std::vector<std::int64_t> kTokens{1, 2, 3, 5, 8, 9, 16};

GemmSpec streamed(std::int64_t n, std::int64_t k, DType dtype, int group, ZeroPoint zero) {
  GemmSpec spec = spec_of(n, k, dtype, group, zero);
  spec.shape.m_max = 16;
  spec.path = Path::kHopper;
  return spec;
}

TEST_F(GemmGpu, StreamsOfEveryTypeAndGroup) {
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    for (const int group : {16, 32, 64, 128, 256, kPerChannel, kPerTensor}) {
      for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
        check(streamed(1000, 2560, dtype, group, zero), kTokens);
      }
    }
  }
}

TEST_F(GemmGpu, StreamsOfEveryWidth) {
  for (int bits = 1; bits <= 8; ++bits) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
      GemmSpec spec = streamed(264, 4096, bits % 2 == 0 ? DType::kFp16 : DType::kBf16, 32, zero);
      spec.weight.bits = bits;
      check(spec, kTokens);
    }
  }
}

// Fewer chunks than warps, warps with more chunks than others, an end of K inside of a stage and
// inside of a chunk, and K over the blocks of a cluster.
TEST_F(GemmGpu, StreamsOfRaggedShapes) {
  for (const std::int64_t n : {8, 24, 136, 2120, 4352}) {
    for (const std::int64_t k : {32, 160, 896, 2208, 3584, 8192, 8320, 18944}) {
      check(streamed(n, k, DType::kFp16, 32, ZeroPoint::kInt), {1, 2, 7, 15});
    }
  }
}

// Seven, ten, twelve, ten, eleven, twelve, nine and seven warps, in stages of three, four and five
// chunks.
TEST_F(GemmGpu, StreamsOfEveryNumberOfWarps) {
  for (const std::int64_t k : {3584, 3840, 4608, 5120, 5632, 6144, 6912, 8960}) {
    check(streamed(2120, k, DType::kFp16, 128, ZeroPoint::kInt), kTokens);
    GemmSpec spec = streamed(264, k, DType::kBf16, 32, ZeroPoint::kNone);
    spec.weight.type = WeightType::kE2m1;
    spec.weight.scale_dtype = DType::kE8m0;
    check(spec, kTokens);
    spec = streamed(264, k, DType::kFp16, 128, ZeroPoint::kNone);
    spec.weight.bits = 8;
    check(spec, {1, 3, 8});
  }
}

// As few bits have with few tokens; an end of K inside of a chunk, and more rows than a round.
TEST_F(GemmGpu, StreamsOfSixteenWarps) {
  for (int bits = 1; bits <= 3; ++bits) {
    for (const auto& [n, k] : {std::pair{264, 8160}, {264, 10240}, {8200, 8192}}) {
      for (const int group : {32, 128}) {
        if (k % group != 0) continue;
        GemmSpec spec = streamed(n, k, group == 32 ? DType::kBf16 : DType::kFp16, group,
                                 bits == 2 ? ZeroPoint::kInt : ZeroPoint::kNone);
        spec.shape.m_max = 8;
        spec.weight.bits = bits;
        spec.tile.warps_k = 16;
        check(spec, {1, 2, 3, 4, 8});
      }
    }
  }
}

// Tokens in one piece and in two, which pairs of blocks read for each other; fewer row blocks than
// SMs, so that one block of a pair has none, or neither has.
TEST_F(GemmGpu, StreamsOfSixteenTokens) {
  const auto check_stream = [this](GemmSpec spec) {
    spec.shape.m_min = 9;
    const auto wanted = [](const PlannedKernel& kernel) {
      const auto* stream = config_if<device::StreamConfig>(kernel);
      return stream != nullptr && stream->cluster == 2 && stream->warps_k == 8;
    };
    check_kernel(spec, wanted, {9, 15, 16});
  };
  for (const std::int64_t n : {24, 264, 1000, 2120}) {
    for (const std::int64_t k : {1056, 1376, 2208, 4096}) {
      for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
        check_stream(streamed(n, k, n == 264 ? DType::kBf16 : DType::kFp16, 32, zero));
      }
    }
  }
  for (int bits = 1; bits <= 8; ++bits) {
    GemmSpec spec = streamed(264, 2560, DType::kFp16, 128, ZeroPoint::kInt);
    spec.weight.bits = bits;
    check_stream(spec);
  }
}

// Slots of sums and stages come round several times.
TEST_F(GemmGpu, StreamsOfManyRowBlocks) {
  for (const WeightType type : {WeightType::kUint, WeightType::kInt}) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
      GemmSpec spec = streamed(17000, 1280, DType::kFp16, 128, zero);
      spec.weight.type = type;
      for (const int bits : {2, 3, 4, 8}) {
        spec.weight.bits = bits;
        check(spec, {1, 7});
      }
    }
  }
}

TEST_F(GemmGpu, StreamsWithEverythingAround) {
  for (const bool act_order : {false, true}) {
    GemmSpec spec = streamed(520, 4096, DType::kBf16, 128, ZeroPoint::kInt);
    spec.epilogue = {true, Activation::kSilu, true};
    spec.pre_scale = true;
    spec.act_order = act_order;
    check(spec, kTokens);
  }
  GemmSpec nvfp4 = streamed(520, 4096, DType::kFp16, 16, ZeroPoint::kNone);
  nvfp4.weight.type = WeightType::kE2m1;
  nvfp4.weight.scale_dtype = DType::kE4m3;
  nvfp4.weight.tensor_scale = true;
  check(nvfp4, kTokens);
  GemmSpec fp8 = streamed(520, 4096, DType::kFp16, kPerChannel, ZeroPoint::kNone);
  fp8.weight.type = WeightType::kE4m3;
  fp8.weight.bits = 8;
  fp8.weight.scale_dtype = DType::kFp32;
  check(fp8, kTokens);
  GemmSpec trtllm = streamed(520, 4096, DType::kFp16, 64, ZeroPoint::kNone);
  trtllm.weight.interleave = Interleave::kTrtllm;
  check(trtllm, kTokens);
}

TEST_F(GemmGpu, StreamsSplitByTheUser) {
  for (const int split : {1, 2, 3, 4, 5, 8}) {
    GemmSpec spec = streamed(4128, 2560, DType::kFp16, 64, ZeroPoint::kInt);
    spec.tile.split_k = split;
    check(spec, kTokens);
  }
}

}  // namespace
}  // namespace heddle
