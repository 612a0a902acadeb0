#include <stdexcept>
#include <tuple>
#include <utility>

#include "tests/emulator/gemm_cases.h"
#include "tests/emulator/one_kernel.h"
#include "tests/emulator/scaled_gemm.h"
#include "tests/gemm_tile.h"
#include "tests/plain_weight.h"

namespace heddle {
namespace {

// The tiles that the planner has, and one with two chunks to a stage.
TileSpec small_tile() { return mma_tile(64, 128, 128, 1, 4, 2); }
TileSpec broad_tile() { return mma_tile(64, 256, 128, 1, 8, 1); }
TileSpec tall_tile() { return mma_tile(64, 256, 128, 1, 4, 2); }
TileSpec large_tile() { return mma_tile(128, 256, 128, 1, 8, 1); }
TileSpec long_tile() { return mma_tile(64, 256, 256, 1, 4, 2); }

GemmSpec mma_gemm(std::int64_t n, std::int64_t k, std::int64_t m_max, TileSpec tile, DType dtype,
                  int group, ZeroPoint zero) {
  GemmSpec spec = scaled_gemm({n, k, 33, m_max}, dtype, group, zero);
  spec.path = Path::kAmpere;
  spec.tile = tile;
  return spec;
}

// The tile that the planner takes.
GemmSpec few(std::int64_t m_min, std::int64_t m_max, int bits, ZeroPoint zero) {
  GemmSpec spec = mma_gemm(136, 1056, m_max, {}, DType::kFp16, 32, zero);
  spec.shape.m_min = m_min;
  spec.weight.bits = bits;
  return spec;
}

std::vector<MmaCase> make_mma_cases() {
  using enum DType;
  constexpr auto kInt = ZeroPoint::kInt;
  constexpr auto kNone = ZeroPoint::kNone;
  std::vector<MmaCase> cases;
  const auto add = [&](std::string name, GemmSpec spec) -> GemmSpec& {
    cases.push_back({{std::move(name), std::move(spec)}});
    return cases.back().spec;
  };
  // Ends of N inside of a tile and of a row block, of K inside of a chunk and of a stage; fewer
  // stages than the ring has, and more.
  add("OneChunk", mma_gemm(8, 32, 40, small_tile(), kFp16, 32, kInt));
  add("RaggedSmall", mma_gemm(200, 1056, 70, small_tile(), kFp16, 32, kInt));
  add("RaggedBroad", mma_gemm(264, 416, 70, broad_tile(), kBf16, 32, kNone));
  add("RaggedTall", mma_gemm(264, 672, 70, tall_tile(), kFp16, 32, kInt));
  add("RaggedLarge", mma_gemm(264, 672, 140, large_tile(), kFp16, 32, kInt));
  add("RaggedLong", mma_gemm(136, 928, 70, long_tile(), kBf16, 16, kNone));
  add("WholeSmall", mma_gemm(128, 1024, 64, small_tile(), kBf16, 128, kInt));
  add("WholeBroad", mma_gemm(256, 512, 64, broad_tile(), kFp16, 64, kNone));
  add("WholeLarge", mma_gemm(256, 512, 128, large_tile(), kBf16, 128, kNone));
  for (const int stages : {2, 3}) {
    add("Stages" + std::to_string(stages), mma_gemm(256, 640, 100, broad_tile(), kFp16, 128, kNone))
        .tile.stages = stages;
  }
  add("SplitSmall", mma_gemm(136, 1056, 70, small_tile(), kFp16, 32, kInt)).tile.split_k = 3;
  add("SplitLarge", mma_gemm(256, 512, 130, large_tile(), kFp16, 128, kNone)).tile.split_k = 2;

  // Widths, types and scales.
  add("Channels", mma_gemm(136, 416, 64, broad_tile(), kFp16, kPerChannel, kInt));
  add("EightBits", mma_gemm(136, 416, 64, small_tile(), kBf16, 16, kInt)).weight.bits = 8;
  add("EightBitsLarge", mma_gemm(256, 640, 128, large_tile(), kFp16, 128, kNone)).weight.bits = 8;
  for (const DType dtype : {kFp16, kBf16}) {  // whose scales take over a power of two
    WeightSpec& fp8 = add(dtype == kFp16 ? "Fp8" : "Fp8Bf16",
                          mma_gemm(136, 512, 64, broad_tile(), dtype, 128, kNone))
                          .weight;
    fp8.type = WeightType::kE4m3;
    fp8.bits = 8;
  }
  WeightSpec& nvfp4 = add("Nvfp4", mma_gemm(136, 416, 64, small_tile(), kBf16, 16, kNone)).weight;
  nvfp4.type = WeightType::kE2m1;
  nvfp4.scale_dtype = kE4m3;
  nvfp4.tensor_scale = true;
  WeightSpec& mxfp4 = add("Mxfp4", mma_gemm(136, 416, 128, large_tile(), kBf16, 32, kNone)).weight;
  mxfp4.type = WeightType::kE2m1;
  mxfp4.scale_dtype = kE8m0;

  // Few tokens, and codes that are decoded in longer units, do not read ahead.
  add("EightTokens", few(1, 8, 4, kNone));
  add("SixteenTokens", few(9, 16, 4, kInt));
  add("ThirtyTwoTokens", few(17, 32, 8, kNone));
  // The rows of few SMs: several row blocks to each, in one round or more.
  add("EightTokensByThreeRowBlocks", few(1, 8, 4, kNone)).shape.n = 328;
  cases.back().sm_count = 7;
  add("SixteenTokensByFourRowBlocks", few(9, 16, 4, kInt)).shape.n = 328;
  cases.back().sm_count = 6;
  // A warp's part of a stage is not whole chunks.
  GemmSpec& runs_of_192 = add("RunsOf192", few(1, 8, 4, kInt));
  runs_of_192.weight.group_size = 128;
  runs_of_192.shape.k = 768;
  runs_of_192.tile = mma_tile(8, 32, 384, 1, 2, 2);
  runs_of_192.tile.m.reset();
  add("EightTokensInThreeRounds", few(1, 8, 8, kNone)).shape.n = 1000;
  cases.back().sm_count = 3;
  add("ThreeBits", few(33, 64, 3, kInt));
  add("SixBits", few(65, 128, 6, kNone));

  // Shards that begin inside of a group: tiles that read ahead and tiles that do not, scales on
  // weights and on sums, float zero points, K that ends inside of a chunk.
  const auto cut = [](GemmSpec spec, int group, int offset) {
    spec.weight.group_size = group;
    spec.weight.group_offset = offset;
    return spec;
  };
  add("CutSmall", cut(mma_gemm(200, 1056, 70, small_tile(), kFp16, 0, kInt), 128, 96));
  add("CutBroad", cut(mma_gemm(264, 416, 70, broad_tile(), kBf16, 0, kInt), 128, 16));
  add("CutTall", cut(mma_gemm(264, 672, 70, tall_tile(), kFp16, 0, kInt), 64, 32));
  add("CutLarge", cut(mma_gemm(264, 672, 140, large_tile(), kFp16, 0, kInt), 32, 16));
  add("CutLong", cut(mma_gemm(136, 928, 70, long_tile(), kFp16, 0, kNone), 256, 176));
  add("CutOf256", cut(mma_gemm(136, 672, 70, small_tile(), kFp16, 0, kInt), 256, 128));
  add("CutSplit", cut(mma_gemm(136, 1056, 70, small_tile(), kFp16, 0, kInt), 128, 32))
      .tile.split_k = 3;
  add("CutFewTokens", cut(few(1, 8, 4, kInt), 128, 96));
  add("CutFewTokensOnSums", cut(few(9, 16, 4, kInt), 128, 80)).weight.scale_dtype = kFp32;
  add("CutOf64OnSums", cut(few(17, 32, 4, kInt), 64, 48)).weight.scale_dtype = kFp32;
  add("CutThreeBits", cut(few(33, 64, 3, kInt), 128, 32));
  for (const auto& [name, m, bits, group, offset] : {std::tuple{"CutFloatZeros", 8, 4, 128, 96},
                                                     {"CutFloatZerosOf64", 16, 4, 64, 16},
                                                     {"CutFloatZerosOf32", 32, 4, 32, 16},
                                                     {"CutFloatZerosOfThreeBits", 64, 3, 128, 48},
                                                     {"CutFloatZerosOfTwoBits", 8, 2, 256, 208}}) {
    add(name, cut(few(m / 2 + 1, m, bits, ZeroPoint::kFloat), group, offset));
  }
  WeightSpec& cut_mxfp4 =
      add("CutMxfp4", cut(mma_gemm(136, 416, 128, large_tile(), kBf16, 0, kNone), 32, 16)).weight;
  cut_mxfp4.type = WeightType::kE2m1;
  cut_mxfp4.scale_dtype = kE8m0;

  // Weights of 16 bits, which read ahead where others do, and with few tokens do not.
  add("Plain", mma_gemm(200, 1056, 70, small_tile(), kFp16, 32, kNone)).weight =
      plain_weight(kFp16);
  add("PlainBroad", mma_gemm(264, 416, 70, broad_tile(), kBf16, 32, kNone)).weight =
      plain_weight(kBf16);
  GemmSpec& plain_split = add("PlainSplit", mma_gemm(272, 672, 70, broad_tile(), kFp16, 32, kNone));
  plain_split.weight = plain_weight(kFp16);
  plain_split.epilogue = {true, Activation::kSilu, true, true};
  plain_split.tile.split_k = 2;
  add("PlainOfEightTokens", few(1, 8, 4, kNone)).weight = plain_weight(kFp16);
  add("PlainOfThirtyTwoTokens", few(17, 32, 4, kNone)).weight = plain_weight(kFp16);

  // What surrounds the product.
  for (const int split : {1, 2}) {
    GemmSpec& around = add("EverythingAroundSplitBy" + std::to_string(split),
                           mma_gemm(264, 672, 70, broad_tile(), kBf16, 32, kInt));
    around.epilogue = {true, Activation::kSilu, true};
    around.pre_scale = true;
    around.tile.split_k = split;
    GemmSpec& gated = add("GatedSplitBy" + std::to_string(split),
                          mma_gemm(272, 672, 70, broad_tile(), kFp16, 32, kInt));
    gated.epilogue = {true, Activation::kSilu, true, true};
    gated.tile.split_k = split;
    GemmSpec& fp32 =
        add("Fp32OutputSplitBy" + std::to_string(split),
            mma_gemm(136, 1056, 70, small_tile(), split == 1 ? kBf16 : kFp16, 32, kInt));
    fp32.output = kFp32;
    fp32.epilogue.residual = true;
    fp32.tile.split_k = split;
  }
  GemmSpec& clamped = add("ClampedSwiglu", mma_gemm(144, 416, 64, small_tile(), kBf16, 32, kNone));
  clamped.epilogue = {false, Activation::kClampedSwiglu, false, true, 7};
  GemmSpec& silu = add("ClampedSilu", mma_gemm(144, 416, 64, small_tile(), kFp16, 32, kNone));
  silu.epilogue = {false, Activation::kSilu, false, true, 2};
  GemmSpec& situ = add("Situ", mma_gemm(144, 416, 64, small_tile(), kBf16, 32, kNone));
  situ.epilogue = {false, Activation::kSitu, false, true, 25, 4};
  GemmSpec& few_gated = add("GatedFewTokens", few(1, 8, 4, kNone));
  few_gated.shape.n = 144;
  few_gated.epilogue = {false, Activation::kGelu, false, true};
  return cases;
}

}  // namespace

Plan MmaCase::plan() const {
  Plan plan = plan_of_one(Spec::from_gemm(spec), name, is_tiles, sm_count);
  if (config_of<device::TilesConfig>(plan.kernels[0]).reads_ahead != spec.tile.m.has_value()) {
    throw std::logic_error("not the kind of tiles that it is to be: " + name);
  }
  return plan;
}

const std::vector<MmaCase>& mma_cases() {
  static const std::vector<MmaCase> cases = make_mma_cases();
  return cases;
}

}  // namespace heddle
