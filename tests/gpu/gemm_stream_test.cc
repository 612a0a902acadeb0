// GEMM that streams its weights on the GPU, for the fewest tokens: streams are asked for by name,
// since the planner may prefer bulk copies.
#include "generator/target/capabilities.h"
#include "tests/gpu/gemm_fixture.h"

namespace heddle {
namespace {

GemmSpec streamed(std::int64_t n, std::int64_t k, DType dtype, int group, ZeroPoint zero) {
  GemmSpec spec = spec_of(n, k, dtype, group, zero);
  spec.shape.m_max = 16;
  spec.path = Path::kHopper;
  return spec;
}

class StreamGpu : public GemmGpu {
 protected:
  void SetUp() override {
    GemmGpu::SetUp();
    if (!IsSkipped() && !has_multicast(target())) GTEST_SKIP() << "no clusters";
  }
  // By the fastest stream for up to 8 tokens, or that for more.
  void check_stream(const GemmSpec& spec, const std::vector<std::int64_t>& m_list) {
    check_in_turn(spec, {{1, 8}, {9, 16}}, is_stream, m_list);
  }
};

TEST_F(StreamGpu, OfEveryTypeAndGroup) {
  constexpr ZeroPoint kZeroPoints[] = {ZeroPoint::kNone, ZeroPoint::kInt};
  constexpr int kGroups[] = {16, 32, 64, 96, 128, 256, kPerChannel, kPerTensor};
  for (std::size_t i = 0; i < std::size(kGroups); ++i) {
    for (std::size_t j = 0; j < std::size(kZeroPoints); ++j) {
      const DType dtype = rotate(kSixteenBitTypes, i + j);
      check_stream(streamed(1000, 2304, dtype, kGroups[i], kZeroPoints[j]), kStreamTokens);
    }
  }
}

TEST_F(StreamGpu, OfEveryWidth) {
  for (int bits = 1; bits <= 8; ++bits) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
      GemmSpec spec = streamed(264, 4096, bits % 2 == 0 ? DType::kFp16 : DType::kBf16, 32, zero);
      spec.weight.bits = bits;
      check_stream(spec, kStreamTokens);
    }
  }
}

// Fewer chunks than warps, warps with more chunks than others, an end of K inside of a stage and
// inside of a chunk, and K over the blocks of a cluster.
TEST_F(StreamGpu, OfRaggedShapes) {
  for (const std::int64_t n : {8, 24, 136, 2120, 4352}) {
    for (const std::int64_t k : {32, 160, 896, 2208, 3584, 8192, 8320, 18944}) {
      check_stream(streamed(n, k, DType::kFp16, 32, ZeroPoint::kInt), {1, 2, 7, 15});
    }
  }
}

// From six to twelve warps along K, in blocks by themselves and in clusters of two and four.
TEST_F(StreamGpu, OfEveryNumberOfWarps) {
  for (const std::int64_t k : {3584, 3840, 4608, 5120, 5632, 6144, 6912, 8960}) {
    check_stream(streamed(2120, k, DType::kFp16, 128, ZeroPoint::kInt), kStreamTokens);
    GemmSpec spec = streamed(264, k, DType::kBf16, 32, ZeroPoint::kNone);
    spec.weight.type = WeightType::kE2m1;
    spec.weight.scale_dtype = DType::kE8m0;
    check_stream(spec, kStreamTokens);
    spec = streamed(264, k, DType::kFp16, 128, ZeroPoint::kNone);
    spec.weight.bits = 8;
    check_stream(spec, {1, 3, 8, 16});
  }
}

// As few bits have with few tokens; an end of K inside of a chunk, and more rows than a round.
TEST_F(StreamGpu, OfSixteenWarps) {
  for (int bits = 1; bits <= 3; ++bits) {
    for (const auto& [n, k] : {std::pair{264, 8160}, {264, 10240}, {8200, 8192}}) {
      for (const int group : {32, 128}) {
        if (k % group != 0) continue;
        GemmSpec spec = streamed(n, k, group == 32 ? DType::kBf16 : DType::kFp16, group,
                                 bits == 2 ? ZeroPoint::kInt : ZeroPoint::kNone);
        spec.shape.m_max = 8;
        spec.weight.bits = bits;
        spec.tile.warps_k = 16;
        check_in_turn(spec, {1, 2, 3, 4, 8});
      }
    }
  }
}

// Tokens in one piece and in two, which pairs of blocks read for each other; fewer row blocks than
// SMs, so that one block of a pair has none, or neither has.
TEST_F(StreamGpu, OfSixteenTokens) {
  const auto check_cluster = [this](GemmSpec spec) {
    spec.shape.m_min = 9;
    const auto wanted = [](const PlannedKernel& kernel) {
      const auto* stream = config_if<device::StreamConfig>(kernel);
      return stream != nullptr && stream->cluster == 2 && stream->warps_k == 8;
    };
    check_kernel(spec, wanted, {9, 15, 16});
  };
  constexpr ZeroPoint kZeroPoints[] = {ZeroPoint::kNone, ZeroPoint::kInt};
  constexpr std::int64_t kRows[] = {24, 264, 1000, 2120};
  constexpr std::int64_t kColumns[] = {1056, 1376, 2208, 4096};
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    for (std::size_t j = 0; j < std::size(kColumns); ++j) {
      check_cluster(streamed(kRows[i], kColumns[j], kRows[i] == 264 ? DType::kBf16 : DType::kFp16,
                             32, rotate(kZeroPoints, i + j)));
    }
  }
  for (int bits = 1; bits <= 8; ++bits) {
    GemmSpec spec = streamed(264, 2560, DType::kFp16, 128, ZeroPoint::kInt);
    spec.weight.bits = bits;
    check_cluster(spec);
  }
}

// Slots of sums and stages come round several times.
TEST_F(StreamGpu, OfManyRowBlocks) {
  constexpr int kWidths[] = {2, 3, 4, 8};
  for (std::size_t i = 0; i < std::size(kWidths); ++i) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
      GemmSpec spec = streamed(17000, 1280, DType::kFp16, 128, zero);
      spec.weight.type = rotate(kIntegers, i + (zero == ZeroPoint::kInt));
      spec.weight.bits = kWidths[i];
      check_stream(spec, {1, 7, 16});
    }
  }
}

TEST_F(StreamGpu, WithEverythingAround) {
  for (const bool act_order : {false, true}) {
    GemmSpec spec = streamed(520, 4096, DType::kBf16, 128, ZeroPoint::kInt);
    spec.epilogue = {true, Activation::kSilu, true};
    spec.pre_scale = true;
    spec.act_order = act_order;
    check_stream(spec, kStreamTokens);
  }
  GemmSpec fp32 = streamed(520, 4096, DType::kFp16, 128, ZeroPoint::kInt);
  fp32.output = DType::kFp32;
  check_stream(fp32, kStreamTokens);
  GemmSpec nvfp4 = streamed(520, 4096, DType::kFp16, 16, ZeroPoint::kNone);
  nvfp4.weight.type = WeightType::kE2m1;
  nvfp4.weight.scale_dtype = DType::kE4m3;
  nvfp4.weight.tensor_scale = true;
  check_stream(nvfp4, kStreamTokens);
  GemmSpec fp8 = streamed(520, 4096, DType::kFp16, kPerChannel, ZeroPoint::kNone);
  fp8.weight.type = WeightType::kE4m3;
  fp8.weight.bits = 8;
  fp8.weight.scale_dtype = DType::kFp32;
  check_stream(fp8, kStreamTokens);
  GemmSpec trtllm = streamed(520, 4096, DType::kFp16, 64, ZeroPoint::kNone);
  trtllm.weight.interleave = Interleave::kTrtllm;
  check_stream(trtllm, kStreamTokens);
}

TEST_F(StreamGpu, SplitByTheUser) {
  for (const int split : {1, 2, 3, 4, 5, 8}) {
    GemmSpec spec = streamed(4128, 2560, DType::kFp16, 64, ZeroPoint::kInt);
    spec.tile.split_k = split;
    check_in_turn(spec, kStreamTokens);
  }
}

}  // namespace
}  // namespace heddle
