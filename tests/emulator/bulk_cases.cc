#include <utility>

#include "tests/emulator/gemm_cases.h"
#include "tests/emulator/one_kernel.h"
#include "tests/emulator/scaled_gemm.h"
#include "tests/gemm_tile.h"
#include "tests/plain_weight.h"

namespace heddle {
namespace {

GemmSpec bulk_gemm(std::int64_t n, std::int64_t k, MRange m, DType dtype, int group, ZeroPoint zero,
                   TileSpec tile) {
  GemmSpec spec = scaled_gemm({n, k, m.min, m.max}, dtype, group, zero);
  spec.path = Path::kHopper;
  spec.tile = tile;
  return spec;
}

std::vector<BulkCase> make_bulk_cases() {
  using enum DType;
  constexpr auto kInt = ZeroPoint::kInt;
  constexpr auto kNone = ZeroPoint::kNone;
  std::vector<BulkCase> cases;
  const auto add = [&](std::string name, GemmSpec spec) -> GemmSpec& {
    cases.push_back({std::move(name), std::move(spec)});
    return cases.back().spec;
  };
  const auto add_split = [&](std::string name, int split, GemmSpec spec) -> GemmSpec& {
    spec.tile.split_k = split;
    return add(std::move(name), std::move(spec));
  };
  // Ends of N inside of a tile and of a row block, of K inside of a stage and inside of a chunk;
  // fewer chunks than a stage has.
  add("OneChunk", bulk_gemm(8, 32, {9, 16}, kFp16, 32, kInt, tile_of(16, 256, 1, 4)));
  add("RaggedN", bulk_gemm(200, 1280, {9, 16}, kBf16, 64, kNone, tile_of(80, 512, 1, 8)));
  add("RaggedK", bulk_gemm(136, 2208, {15, 16}, kFp16, 32, kInt, tile_of(48, 512, 3, 4)));
  add("StagesOfOneChunk",
      bulk_gemm(232, 1184, {16, 16}, kFp16, 32, kNone, tile_of(112, 128, 7, 1)));
  // A warp's part of a stage is not whole chunks.
  add("RunsOf192", bulk_gemm(64, 768, {9, 16}, kFp16, 128, kInt, tile_of(32, 384, 2, 2)));
  add("ManyRowBlocks", bulk_gemm(448, 1024, {16, 16}, kBf16, 128, kInt, tile_of(224, 256, 2, 4)));
  add("WholeChunks", bulk_gemm(128, 2560, {12, 12}, kFp16, 128, kNone, tile_of(64, 512, 2, 4)));
  // Stages come round several times.
  add("ManyStages", bulk_gemm(40, 8192, {9, 9}, kFp16, 128, kNone, tile_of(32, 128, 2, 2)))
      .tile.stages = 2;

  // Row blocks, or stages, that begin at every place of a line.
  add("PlacesOfRowBlocks",
      bulk_gemm(232, 1152, {16, 16}, kFp16, 128, kInt, tile_of(112, 1024, 1, 8)));
  add("PlacesOfStages", bulk_gemm(72, 2048, {16, 16}, kBf16, 128, kInt, tile_of(80, 128, 1, 2)));

  // Other numbers of tokens.
  add("EightTokens", bulk_gemm(136, 2208, {3, 8}, kFp16, 32, kInt, tile_of(64, 512, 1, 8)));
  // Weights of two stages ahead of them, or of one that is all there is, or of a ring of two.
  add("EightTokensOfOneStage",
      bulk_gemm(40, 160, {5, 8}, kBf16, 32, kNone, tile_of(32, 512, 1, 4)));
  add("EightTokensOfTwoStages",
      bulk_gemm(72, 2208, {1, 8}, kFp16, 32, kInt, tile_of(32, 256, 2, 4)))
      .tile.stages = 2;
  add_split("OneTokenInParts", 4,
            bulk_gemm(136, 1280, {1, 1}, kBf16, 128, kInt, tile_of(64, 256, 1, 4)));
  add("TwentyTokens", bulk_gemm(136, 1280, {17, 20}, kBf16, 128, kNone, tile_of(80, 512, 1, 4)));
  add("ThirtyTwoTokens", bulk_gemm(72, 2208, {31, 32}, kFp16, 32, kInt, tile_of(48, 256, 1, 4)));

  add("SixtyFourTokens", bulk_gemm(72, 1376, {63, 64}, kBf16, 32, kNone, tile_of(48, 256, 3, 2)))
      .weight.scale_dtype = kFp32;

  // K over the blocks of a cluster, also in unequal parts; vectors of sums that do not come out
  // even, tokens that no block has, rows past the end of W.
  add_split("SplitByTwo", 2,
            bulk_gemm(136, 2208, {9, 16}, kFp16, 32, kInt, tile_of(64, 256, 2, 4)));
  add_split("SplitByThree", 3,
            bulk_gemm(72, 4096, {16, 16}, kBf16, 128, kNone, tile_of(32, 512, 1, 8)));
  add_split("SplitByFour", 4,
            bulk_gemm(200, 2304, {17, 19}, kFp16, 64, kInt, tile_of(16, 256, 1, 4)));
  add_split("SplitByFive", 5,
            bulk_gemm(136, 2208, {25, 32}, kBf16, 32, kInt, tile_of(48, 256, 3, 2)));
  add_split("SplitBySeven", 7,
            bulk_gemm(24, 1120, {3, 8}, kFp16, 32, kNone, tile_of(16, 128, 1, 2)));
  add_split("SplitByEight", 8,
            bulk_gemm(72, 1184, {9, 16}, kBf16, 32, kInt, tile_of(64, 128, 4, 1)));
  add_split("SplitOfManyStages", 3,
            bulk_gemm(40, 8192, {9, 9}, kFp16, 128, kNone, tile_of(32, 128, 2, 2)))
      .tile.stages = 2;
  add_split("SplitOfFortyTokens", 6,
            bulk_gemm(40, 1664, {33, 40}, kFp16, 128, kInt, tile_of(32, 256, 1, 2)));
  add_split("SplitOfSixtyFourTokens", 3,
            bulk_gemm(72, 1376, {63, 64}, kBf16, 32, kInt, tile_of(64, 256, 4, 2)));
  add_split("SplitOfChannels", 3,
            bulk_gemm(72, 896, {9, 16}, kFp16, kPerChannel, kInt, tile_of(32, 256, 2, 4)))
      .weight.bits = 8;

  // Widths, types and scales.
  add("Channels", bulk_gemm(136, 896, {9, 16}, kFp16, kPerChannel, kInt, tile_of(64, 256, 2, 4)))
      .weight.bits = 8;
  add("Tensor", bulk_gemm(40, 1184, {16, 16}, kBf16, kPerTensor, kNone, tile_of(32, 256, 2, 2)))
      .weight.type = WeightType::kInt;
  add("TwoBits", bulk_gemm(136, 1280, {16, 16}, kBf16, 128, kInt, tile_of(64, 512, 1, 8)))
      .weight.bits = 2;
  add("ThreeBits", bulk_gemm(136, 2560, {16, 16}, kFp16, 64, kInt, tile_of(64, 512, 2, 4)))
      .weight.bits = 3;
  WeightSpec& fp8 =
      add("Fp8", bulk_gemm(136, 1184, {16, 16}, kFp16, kPerChannel, kNone, tile_of(64, 256, 1, 4)))
          .weight;
  fp8.type = WeightType::kE4m3;
  fp8.bits = 8;
  fp8.scale_dtype = kFp32;
  WeightSpec& nvfp4 =
      add("Nvfp4", bulk_gemm(136, 2208, {15, 16}, kFp16, 16, kNone, tile_of(64, 512, 2, 4))).weight;
  nvfp4.type = WeightType::kE2m1;
  nvfp4.scale_dtype = kE4m3;
  nvfp4.tensor_scale = true;
  WeightSpec& mxfp4 =
      add("Mxfp4", bulk_gemm(72, 1184, {16, 16}, kBf16, 32, kNone, tile_of(32, 256, 2, 4))).weight;
  mxfp4.type = WeightType::kE2m1;
  mxfp4.scale_dtype = kE8m0;
  add("Trtllm", bulk_gemm(136, 2560, {9, 16}, kFp16, 64, kNone, tile_of(64, 512, 2, 4)))
      .weight.interleave = Interleave::kTrtllm;

  // Shards that begin inside of a group: groups cut early and late in a chunk, small ones and ones
  // of several chunks; scales on weights and on sums, with few tokens and many.
  const auto add_cut = [&](std::string name, int offset, GemmSpec spec) -> GemmSpec& {
    spec.weight.group_offset = offset;
    return add(std::move(name), std::move(spec));
  };
  add_cut("CutAt96", 96, bulk_gemm(136, 2208, {9, 16}, kFp16, 128, kInt, tile_of(48, 512, 3, 4)));
  add_cut("CutAt32", 32, bulk_gemm(136, 1376, {3, 8}, kBf16, 128, kInt, tile_of(64, 512, 1, 8)))
      .weight.scale_dtype = kFp32;
  add_cut("CutAt16OfManyTokens", 16,
          bulk_gemm(72, 1376, {63, 64}, kFp16, 128, kInt, tile_of(48, 256, 3, 2)));
  add_cut("CutOfManyTokensOnSums", 80,
          bulk_gemm(72, 1376, {63, 64}, kBf16, 128, kNone, tile_of(48, 256, 3, 2)))
      .weight.scale_dtype = kFp32;
  add_cut("CutOf64", 32, bulk_gemm(136, 2208, {15, 16}, kBf16, 64, kInt, tile_of(64, 256, 2, 4)))
      .weight.scale_dtype = kFp32;
  add_cut("CutOf32", 16, bulk_gemm(136, 1184, {16, 16}, kFp16, 32, kInt, tile_of(112, 128, 7, 1)));
  add_cut("CutOf256", 128, bulk_gemm(136, 1376, {9, 16}, kFp16, 256, kInt, tile_of(64, 512, 1, 4)));
  add_cut("CutOf256InAChunk", 208,
          bulk_gemm(136, 1376, {1, 8}, kFp16, 256, kInt, tile_of(64, 512, 1, 8)));
  add_cut("CutFolded", 48,
          bulk_gemm(136, 1376, {31, 32}, kBf16, 128, kNone, tile_of(48, 256, 1, 4)));
  add_cut("CutOfThreeBits", 96,
          bulk_gemm(40, 1376, {9, 9}, kFp16, 128, kInt, tile_of(32, 128, 2, 2)))
      .weight.bits = 3;
  WeightSpec& cut_mxfp4 =
      add_cut("CutMxfp4", 16,
              bulk_gemm(72, 1184, {16, 16}, kBf16, 32, kNone, tile_of(32, 256, 2, 4)))
          .weight;
  cut_mxfp4.type = WeightType::kE2m1;
  cut_mxfp4.scale_dtype = kE8m0;
  add_cut("CutSplit", 96, bulk_gemm(136, 2208, {25, 32}, kBf16, 128, kInt, tile_of(48, 256, 3, 2)))
      .tile.split_k = 5;

  // Weights of 16 bits, of one row tile of a warp and several, with few tokens and many.
  add("Plain", bulk_gemm(136, 1184, {9, 16}, kFp16, 32, kNone, tile_of(64, 256, 2, 4))).weight =
      plain_weight(kFp16);
  add("PlainOfManyTokens", bulk_gemm(72, 1376, {63, 64}, kBf16, 32, kNone, tile_of(48, 128, 3, 1)))
      .weight = plain_weight(kBf16);
  GemmSpec& plain_split = add_split(
      "PlainSplit", 3, bulk_gemm(144, 1184, {1, 8}, kBf16, 32, kNone, tile_of(32, 256, 1, 4)));
  plain_split.weight = plain_weight(kBf16);
  plain_split.epilogue = {true, Activation::kSilu, true, true};

  // What surrounds the product.
  GemmSpec& around = add("EverythingAround",
                         bulk_gemm(136, 2208, {9, 16}, kBf16, 32, kInt, tile_of(48, 512, 1, 8)));
  around.epilogue = {true, Activation::kSilu, true};
  GemmSpec& split_around =
      add("SplitWithEverythingAround",
          bulk_gemm(136, 2208, {31, 33}, kFp16, 32, kInt, tile_of(48, 256, 1, 4)));
  split_around.epilogue = {true, Activation::kSilu, true};
  split_around.tile.m = 40;
  split_around.tile.split_k = 4;

  // Gates and ups, and Y of another type than X.
  add("Gated", bulk_gemm(144, 2208, {9, 16}, kFp16, 32, kInt, tile_of(48, 512, 1, 8))).epilogue = {
      true, Activation::kSilu, true, true};
  GemmSpec& split_gated = add_split(
      "SplitGated", 5, bulk_gemm(144, 2208, {25, 32}, kBf16, 32, kInt, tile_of(48, 256, 3, 2)));
  split_gated.epilogue = {false, Activation::kClampedSwiglu, false, true, 7};
  split_gated.output = kFp32;
  GemmSpec& fp32 = add_split(
      "Fp32Output", 3, bulk_gemm(72, 4096, {16, 16}, kBf16, 128, kNone, tile_of(32, 512, 1, 8)));
  fp32.output = kFp32;
  fp32.epilogue.residual = true;
  return cases;
}

}  // namespace

Plan BulkCase::plan() const { return plan_of_one(Spec::from_gemm(spec), name, is_bulk, 132); }

const std::vector<BulkCase>& bulk_cases() {
  static const std::vector<BulkCase> cases = make_bulk_cases();
  return cases;
}

}  // namespace heddle
