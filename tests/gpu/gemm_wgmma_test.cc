// GEMM with wgmma on the GPU: every kind of weight, ragged shapes, whole and shared tiles.
#include <algorithm>
#include <functional>
#include <vector>

#include "tests/gpu/gemm_fixture.h"

namespace heddle {
namespace {

// Around the ends of token tiles.
const std::vector<std::int64_t> kWgmmaTokens{9,   16,  17,  33,  63,  64,  65,  96,  97,  127, 128,
                                             129, 160, 161, 192, 193, 255, 256, 257, 384, 385};

class WgmmaGpu : public GemmGpu {
 protected:
  void SetUp() override {
    GemmGpu::SetUp();
    if (IsSkipped()) return;
    if (target().arch() != 90) GTEST_SKIP() << "wgmma is of sm_90";
  }
  // By the fastest kernel with wgmma for one of the ranges of M that the list reaches, where the
  // planner may prefer bulk copies.
  void check_wgmma(const GemmSpec& spec, const std::vector<std::int64_t>& m_list) {
    const auto serves_one = [&](const MRange& range) {
      return std::any_of(m_list.begin(), m_list.end(),
                         [&](std::int64_t m) { return range.min <= m && m <= range.max; });
    };
    std::vector<MRange> ranges{{9, 16}, {17, 64}, {65, 128}, {129, 512}};
    std::erase_if(ranges, std::not_fn(serves_one));
    check_in_turn(spec, ranges, is_wgmma, m_list);
  }
};

GemmSpec wgmma(std::int64_t n, std::int64_t k, DType dtype, int group, ZeroPoint zero) {
  GemmSpec spec = spec_of(n, k, dtype, group, zero);
  spec.shape.m_min = 9;
  spec.path = Path::kHopper;
  return spec;
}

// Up to 16 tokens, which streams would take if it were not for the tile.
GemmSpec of_few_tokens(GemmSpec spec) {
  spec.shape.m_max = 16;
  spec.tile.n = 128;
  return spec;
}

TEST_F(WgmmaGpu, EveryTypeAndGroup) {
  bool bf16 = false;
  for (const int group : {16, 32, 64, 128, 256, kPerChannel}) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
      const DType dtype = bf16 ? DType::kBf16 : DType::kFp16;
      check_wgmma(wgmma(520, 1280, dtype, group, zero), {9, 17, 64, 130});
      bf16 = !bf16;
    }
    bf16 = !bf16;
  }
}

TEST_F(WgmmaGpu, EveryWidth) {
  for (int bits = 1; bits <= 8; ++bits) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
      const bool odd = (bits + (zero == ZeroPoint::kInt ? 1 : 0)) % 2 != 0;
      GemmSpec spec = wgmma(264, 2048, odd ? DType::kBf16 : DType::kFp16, odd ? 32 : 128, zero);
      spec.weight.bits = bits;
      check_wgmma(spec, {16, 32, 100});
    }
  }
}

// Decoding multiplies by the scale: to BF16 without zero points.
TEST_F(WgmmaGpu, ScalesInDecoding) {
  for (const int bits : {2, 4, 6, 8}) {
    for (const int group : {32, 128}) {
      GemmSpec spec = wgmma(520, 1280, DType::kBf16, group, ZeroPoint::kNone);
      spec.weight.bits = bits;
      spec.weight.type = group == 32 ? WeightType::kUint : WeightType::kInt;
      check_wgmma(spec, {16, 31, 64, 127, 300});
    }
  }
}

// Lanes pass each other scales of 8 bits: in whole chunks, and in stages of half a chunk.
TEST_F(WgmmaGpu, ScalesOfEightBits) {
  for (const DType scale : {DType::kE8m0, DType::kE4m3}) {
    GemmSpec spec =
        wgmma(1288, 4096, DType::kBf16, scale == DType::kE8m0 ? 32 : 16, ZeroPoint::kNone);
    spec.weight.type = WeightType::kE2m1;
    spec.weight.scale_dtype = scale;
    check(spec, {17, 32, 64, 96, 128, 300, 600});
  }
}

// Tiles of four warpgroups, by themselves and with all that may follow the sums.
TEST_F(WgmmaGpu, FourWarpgroups) {
  for (const bool around : {false, true}) {
    for (const std::int64_t n : {28672, 27800}) {
      GemmSpec spec = wgmma(n, 1184, around ? DType::kBf16 : DType::kFp16, 32,
                            around ? ZeroPoint::kInt : ZeroPoint::kNone);
      spec.shape.m_max = 64;
      spec.tile.n = 256;
      if (around) spec.epilogue = {true, Activation::kSilu, true};
      const Plan plan = resolve(Spec::from_gemm(spec), target());
      for (const std::int64_t m : {16, 32, 64})
        ASSERT_EQ(plan.kernels[plan.kernel_for(m)].threads, 640) << m;
      check_in_turn(spec, {9, 15, 16, 17, 31, 32, 33, 63, 64});
      spec.shape.k = 32;  // a stage
      check_in_turn(spec, {16, 32, 64});
    }
  }
}

TEST_F(WgmmaGpu, EndsOfTokenTiles) {
  check(wgmma(520, 2048, DType::kFp16, 128, ZeroPoint::kInt), kWgmmaTokens);
  check(wgmma(520, 2048, DType::kBf16, 32, ZeroPoint::kNone), kWgmmaTokens);
  check(wgmma(2048, 512, DType::kFp16, 128, ZeroPoint::kNone), {300, 1000, 2049, 4100});
}

// N below a tile and behind its end, K below a stage, inside of a chunk, and over many stages; more
// tiles than blocks, some of them shared.
TEST_F(WgmmaGpu, RaggedShapes) {
  for (const std::int64_t n : {8, 40, 136, 2120}) {
    for (const std::int64_t k : {32, 160, 2208}) {
      const GemmSpec spec = wgmma(n, k, DType::kFp16, 32, ZeroPoint::kInt);
      check(of_few_tokens(spec), {9});
      check(spec, {40, 129});
    }
  }
  for (const GemmSpec& spec : {wgmma(35072, 160, DType::kFp16, 32, ZeroPoint::kInt),
                               wgmma(17536, 2048, DType::kFp16, 32, ZeroPoint::kInt)}) {
    check(of_few_tokens(spec), {9});
    check(spec, {40});
  }
  check(wgmma(40, 18944, DType::kFp16, 128, ZeroPoint::kNone), {10, 31, 64, 300});
}

// Tiles that can be forced, each to one block and shared.
std::vector<GemmSpec> forced_tiles(const std::vector<int>& tokens) {
  std::vector<GemmSpec> specs;
  for (const int m : tokens) {
    for (const int n : {64, 128, 256}) {
      if (n == 64 && (m < 32 || m > 128)) continue;  // warpgroups share no such rows
      if (m * n > 128 * 256) continue;               // too many sums
      for (const bool shared : {false, true}) {
        GemmSpec spec = wgmma(1288, 3072, DType::kFp16, 128, ZeroPoint::kNone);
        spec.tile.m = m;
        spec.tile.n = n;
        if (!shared) spec.tile.split_k = 1;
        specs.push_back(spec);
      }
    }
  }
  return specs;
}

TEST_F(WgmmaGpu, EveryTileOfFewTokens) {
  for (const GemmSpec& spec : forced_tiles({16, 32, 64})) check_in_turn(spec, {9, 77, 200, 1000});
}
TEST_F(WgmmaGpu, EveryTileOfManyTokens) {
  for (const GemmSpec& spec : forced_tiles({96, 128, 160, 192, 256}))
    check(spec, {9, 77, 200, 1000});
}

// Pairs of blocks that read tokens once, the last tiles shared or not; rows of the last pair for a
// part of one of its blocks. Of 8-bit weights stages are half a chunk.
TEST_F(WgmmaGpu, TokensReadByPairs) {
  for (const bool around : {false, true}) {
    GemmSpec spec = wgmma(8200, 4096, around ? DType::kFp16 : DType::kBf16, 128,
                          around ? ZeroPoint::kInt : ZeroPoint::kNone);
    spec.shape.m_min = 513;
    spec.shape.m_max = 4100;
    if (around) spec.epilogue = {true, Activation::kSilu, true};
    const auto pairs = [](const PlannedKernel& kernel) {
      const auto* wgmma = config_if<WarpgroupKernel>(kernel);
      return wgmma != nullptr && wgmma->cluster == 2;
    };
    check_kernel(spec, pairs, {513, 640, 1000, 1025, 1300, 1536, 2048});
    spec.weight.bits = 8;
    const auto halves = [&](const PlannedKernel& kernel) {
      return pairs(kernel) && config_of<WarpgroupKernel>(kernel).half_stages;
    };
    check_kernel(spec, halves, {640, 1300, 2048});
  }
}

// Stages of half a chunk: K that ends in the first half of one, scales and zero points of both
// halves or of each.
TEST_F(WgmmaGpu, HalfStages) {
  int i = 0;
  for (const int group : {16, 32, kPerChannel}) {
    for (const std::int64_t k : {32, 160, 4128}) {
      const bool bf16 = i % 2 == 0;
      GemmSpec spec = wgmma(1288, k, bf16 ? DType::kBf16 : DType::kFp16, group,
                            i % 3 == 0 ? ZeroPoint::kNone : ZeroPoint::kInt);
      spec.weight.bits = 8 - i % 5;
      spec.tile.m = bf16 ? 256 : 128;
      spec.tile.n = 128;
      spec.tile.k = 64;
      check(spec, {9, 129, 300});
      ++i;
    }
  }
}

// Stages of one, two and four chunks; the last of K shorter than the others, or the only one.
TEST_F(WgmmaGpu, EveryStage) {
  for (const int columns : {128, 256, 512}) {
    for (const std::int64_t k : {96, 1152, 2048, 2336}) {
      GemmSpec spec = wgmma(1288, k, DType::kFp16, 32, ZeroPoint::kInt);
      spec.tile.m = columns == 512 ? 32 : 64;
      spec.tile.n = 128;
      spec.tile.k = columns;
      check(spec, {9, 77});
    }
  }
}

// Tiles left whole, shared by pairs of blocks in a cluster, by more of them, and by any in a row,
// of which one may come late to a tile that it begins.
TEST_F(WgmmaGpu, EveryShare) {
  for (const std::int64_t n : {8184, 5120, 4096, 2048, 256, 20480}) {
    const GemmSpec spec = wgmma(n, 4096, DType::kBf16, 128, ZeroPoint::kNone);
    check(of_few_tokens(spec), {9});
    check(spec, {20, 60, 100, 200});
  }
}

// Two warpgroups to 64 rows: groups within a half of a chunk and across both, a pair of blocks, any
// blocks, and one.
TEST_F(WgmmaGpu, SharedRows) {
  const int groups[] = {16, 32, 64, 128, kPerChannel};
  int i = 0;
  for (const std::int64_t n : {72, 4096, 16448}) {
    for (const int m : {32, 64, 128}) {
      const DType dtype = i % 2 == 0 ? DType::kFp16 : DType::kBf16;
      GemmSpec spec = wgmma(n, 1408, dtype, groups[i % 5], ZeroPoint::kInt);
      spec.tile.n = 64;
      spec.tile.m = m;
      check_in_turn(spec, {31, 70});
      ++i;
    }
  }
}

TEST_F(WgmmaGpu, EverythingAround) {
  const auto check_all = [this](const GemmSpec& spec) { check_wgmma(spec, {9, 33, 100, 300}); };
  for (const bool act_order : {false, true}) {
    GemmSpec spec = wgmma(520, 4096, DType::kBf16, 128, ZeroPoint::kInt);
    spec.epilogue = {true, Activation::kSilu, true};
    spec.pre_scale = act_order;
    spec.act_order = act_order;
    check_all(spec);
  }
  GemmSpec nvfp4 = wgmma(520, 2048, DType::kFp16, 16, ZeroPoint::kNone);
  nvfp4.weight.type = WeightType::kE2m1;
  nvfp4.weight.scale_dtype = DType::kE4m3;
  nvfp4.weight.tensor_scale = true;
  check_all(nvfp4);
  GemmSpec mxfp4 = wgmma(520, 2048, DType::kFp16, 32, ZeroPoint::kNone);
  mxfp4.weight.type = WeightType::kE2m1;
  mxfp4.weight.scale_dtype = DType::kE8m0;
  check_all(mxfp4);
  GemmSpec fp8 = wgmma(520, 2048, DType::kFp16, kPerChannel, ZeroPoint::kNone);
  fp8.weight.type = WeightType::kE4m3;
  fp8.weight.bits = 8;
  fp8.weight.scale_dtype = DType::kFp32;
  check_all(fp8);
  fp8.weight.group_size = 128;
  check_all(fp8);
  GemmSpec trtllm = wgmma(520, 2048, DType::kFp16, 64, ZeroPoint::kNone);
  trtllm.weight.interleave = Interleave::kTrtllm;
  check_all(trtllm);
}

}  // namespace
}  // namespace heddle
