#include "tests/emulator/wgmma_cases.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "tests/emulator/one_kernel.h"
#include "tests/emulator/scaled_gemm.h"
#include "tests/plain_weight.h"
#include "tests/planned_kernel.h"

namespace heddle {
namespace {

class WgmmaCases {
 public:
  // `group` of FP16 or BF16 scales; tokens in ascending order.
  GemmSpec& add(std::string name, std::int64_t n, std::int64_t k, WgmmaTile tile, DType dtype,
                int group, ZeroPoint zero, int sm_count, std::vector<std::int64_t> tokens,
                Sharing sharing) {
    GemmSpec spec = scaled_gemm({n, k, tokens.front(), tokens.back()}, dtype, group, zero);
    spec.path = Path::kHopper;
    spec.tile.m = tile.m;
    spec.tile.n = tile.n;
    spec.tile.k = tile.k;
    if (sharing == Sharing::kNone) spec.tile.split_k = 1;
    cases.push_back({std::move(name), spec, sm_count, std::move(tokens), sharing});
    return cases.back().spec;
  }
  GemmSpec& add_pairs(std::string name, std::int64_t n, std::int64_t k, WgmmaTile tile, DType dtype,
                      int group, ZeroPoint zero, int sm_count, std::vector<std::int64_t> tokens,
                      Sharing sharing) {
    GemmSpec& spec =
        add(std::move(name), n, k, tile, dtype, group, zero, sm_count, std::move(tokens), sharing);
    cases.back().cluster = 2;
    return spec;
  }

  std::vector<WgmmaCase> cases;
};

std::vector<WgmmaCase> make_wgmma_cases() {
  using enum DType;
  using enum Sharing;
  constexpr auto kInt = ZeroPoint::kInt;
  constexpr auto kNo = ZeroPoint::kNone;
  WgmmaCases c;
  // Ends of N inside of a row block's tile, of K inside of a chunk and inside of a stage; M below
  // and between tiles.
  c.add("OneChunk", 8, 32, {16, 128, 128}, kFp16, 32, kInt, 3, {9, 16}, kNone);
  c.add("ShortStage", 8, 160, {16, 256, 512}, kBf16, 32, kNo, 3, {9, 16}, kNone);
  c.add("OddChunks", 40, 896, {32, 128, 256}, kFp16, 32, kInt, 4, {17, 31}, kNone);
  c.add("OddChunksOfFour", 136, 1184, {16, 128, 512}, kBf16, 16, kNo, 4, {9, 16}, kNone);
  c.add("ManyTiles", 520, 896, {16, 128, 256}, kFp16, 128, kInt, 3, {17, 33, 100}, kNone);
  c.add("TwoRowTiles", 1000, 1184, {64, 256, 128}, kFp16, 32, kInt, 3, {64, 65}, kNone);
  c.add("ManyTokens", 136, 896, {128, 128, 128}, kBf16, 128, kNo, 3, {127, 200, 300}, kNone);
  c.add("MostTokens", 264, 160, {256, 128, 128}, kFp16, 16, kInt, 3, {65, 257, 300}, kNone);

  // Groups that take turns between two sets of sums, over one and two row tiles; several of them in
  // a chunk.
  c.add("TwoSums", 136, 1280, {64, 128, 256}, kFp16, 128, kInt, 3, {33, 64, 100}, kNone);
  c.add("TwoSumsOfRowTiles", 1000, 2560, {64, 256, 128}, kFp16, 128, kNo, 3, {64}, kEqualShares);
  c.add("TwoSumsOfPairs", 136, 2560, {64, 128, 256}, kFp16, 128, kNo, 4, {33, 64}, kClusters);
  c.add("TwoSumsOfHalves", 136, 896, {64, 128, 128}, kBf16, 64, kInt, 3, {40}, kNone)
      .weight.scale_dtype = kFp32;

  // Two boxes of 48, 80 and 96 tokens.
  c.add("TokensOf96", 136, 896, {96, 128, 128}, kFp16, 128, kInt, 3, {65, 96, 250}, kNone);
  c.add("RowTilesOf96", 520, 416, {96, 256, 128}, kBf16, 32, kNo, 3, {33, 95, 97}, kNone);
  c.add("TokensOf160", 264, 160, {160, 128, 128}, kBf16, 16, kInt, 3, {65, 129, 400}, kNone);
  c.add("TokensOf192", 136, 896, {192, 128, 128}, kFp16, 32, kNo, 4, {129, 192, 289}, kNone);

  // Two warpgroups share 64 rows.
  c.add("SharedRows", 40, 1184, {64, 64, 128}, kFp16, 32, kInt, 3, {33, 64, 100}, kNone);
  c.add("SharedRowsOf32", 136, 896, {32, 64, 256}, kBf16, 128, kNo, 3, {17, 31}, kNone);
  // Warpgroups take whole chunks in turn: the last stage has one chunk or three, or a part begins
  // there.
  c.add("TurnsOfSharedRows", 72, 1408, {32, 64, 512}, kFp16, 32, kInt, 3, {17, 32}, kNone);
  c.add("TurnsThatEndWithOne", 136, 1152, {32, 64, 512}, kFp16, 128, kInt, 3, {32}, kNone);
  c.add("TurnsOfChannels", 72, 896, {64, 64, 256}, kBf16, kPerChannel, kInt, 3, {33, 64}, kNone);
  c.add("SharesOfTurns", 328, 5248, {32, 64, 256}, kBf16, 64, kNo, 5, {20}, kEqualShares);
  c.add("SharedRowsOf128", 72, 1280, {128, 64, 128}, kFp16, 64, kInt, 3, {65, 129}, kNone);

  c.add("SharedRowsOf96", 72, 1280, {96, 64, 128}, kBf16, 32, kInt, 3, {65, 96, 97}, kNone);

  // Pairs of blocks that add in each other's shared memory.
  c.add("Pairs", 40, 1184, {16, 128, 128}, kFp16, 32, kInt, 3, {9, 16}, kClusters);
  c.add("PairsOfTiles", 264, 2560, {16, 128, 256}, kBf16, 128, kNo, 7, {9, 16}, kClusters);
  c.add("PairsOfRowTiles", 520, 896, {16, 256, 256}, kFp16, 32, kInt, 6, {9, 16}, kClusters);
  c.add("PairsOfLongStages", 136, 2560, {16, 128, 512}, kBf16, 16, kInt, 5, {9, 16}, kClusters);
  c.add("PairsOfMoreTokens", 40, 2560, {32, 128, 256}, kFp16, 128, kNo, 3, {17, 31}, kClusters);
  c.add("PairsOf64", 264, 1280, {64, 256, 128}, kFp16, 128, kNo, 4, {33, 64}, kClusters);
  c.add("PairsOf128", 136, 2560, {128, 128, 128}, kFp16, 32, kNo, 4, {65, 127}, kClusters);
  c.add("PairsOfSharedRows", 136, 2560, {64, 64, 256}, kFp16, 128, kInt, 6, {33, 64}, kClusters);
  c.add("PairsOfSharedRowsOf128", 40, 2560, {128, 64, 128}, kBf16, 16, kNo, 3, {127}, kClusters);

  c.add("PairsOf96", 136, 2560, {96, 128, 128}, kFp16, 32, kInt, 4, {65, 95}, kClusters);
  c.add("PairsOfSharedRowsOf96", 40, 2560, {96, 64, 128}, kBf16, 16, kNo, 3, {96}, kClusters);

  // Four warpgroups, of which the last has rows or none: whole tiles, pairs, shares by way of the
  // workspace; fewer stages than come ahead of the tokens; all that may follow the sums.
  c.add("FourWarpgroups", 1000, 1184, {32, 256, 256}, kFp16, 32, kInt, 3, {17, 31}, kNone);
  c.add("FourOfOneStage", 200, 160, {16, 256, 256}, kBf16, 32, kNo, 2, {9, 16}, kNone);
  c.add("FourAround", 520, 896, {64, 256, 128}, kBf16, 32, kNo, 3, {33, 64}, kNone).epilogue = {
      true, Activation::kGelu, true};
  c.add("FourInPairs", 264, 2560, {16, 256, 256}, kFp16, 128, kNo, 4, {9, 16}, kClusters);
  c.add("FourInShares", 1000, 2560, {32, 256, 128}, kBf16, 64, kInt, 3, {20}, kEqualShares);
  c.add("FourInParts", 264, 5120, {64, 256, 128}, kFp16, 32, kInt, 5, {64}, kEqualParts);

  // Gates and ups: by way of FP32 sums in shared memory, with all that may follow them, and rounded
  // first; of 64 rows whose columns two warpgroups share; 16 tokens at a time.
  c.add("Gated", 144, 896, {32, 128, 128}, kFp16, 128, kInt, 3, {17, 31}, kNone).epilogue = {
      true, Activation::kSilu, true, true};
  c.add("GatedOfMany", 272, 896, {256, 128, 128}, kBf16, 32, kNo, 3, {65, 257, 300}, kNone)
      .epilogue = {false, Activation::kGeluTanh, false, true};
  c.add("GatedOf160", 272, 160, {160, 128, 128}, kFp16, 16, kInt, 3, {129, 300}, kNone).epilogue = {
      false, Activation::kSilu, false, true};
  c.add("GatedOfFour", 528, 896, {64, 256, 128}, kFp16, 32, kNo, 3, {33, 64}, kNone).epilogue = {
      false, Activation::kClampedSwiglu, false, true, 7};
  c.add("GatedChannels", 144, 896, {192, 128, 128}, kBf16, kPerChannel, kInt, 3, {97, 193}, kNone)
      .epilogue = {true, Activation::kClampedSwiglu, false, true, 7};
  c.add("GatedInPairs", 272, 2560, {16, 128, 256}, kFp16, 128, kNo, 7, {9, 16}, kClusters)
      .epilogue = {false, Activation::kSilu, false, true};
  c.add("GatedOfFourInPairs", 272, 2560, {32, 256, 256}, kFp16, 128, kNo, 4, {17, 32}, kClusters)
      .epilogue = {false, Activation::kSilu, false, true};
  c.add("GatedSharedRows", 144, 1280, {128, 64, 128}, kFp16, 64, kInt, 3, {65, 129}, kNone)
      .epilogue = {false, Activation::kSilu, false, true};
  c.add("GatedInShares", 272, 2560, {256, 128, 128}, kFp16, 32, kNo, 5, {300}, kEqualShares)
      .epilogue = {false, Activation::kSilu, false, true};

  // Y of another type than X.
  c.add("Fp32Output", 136, 896, {192, 128, 128}, kBf16, 32, kNo, 3, {97, 193}, kNone).output =
      kFp32;
  c.add("Bf16Output", 136, 896, {256, 128, 128}, kFp16, 32, kNo, 3, {129}, kNone).output = kBf16;
  GemmSpec& fp32 =
      c.add("GatedFp32", 144, 896, {64, 256, 128}, kFp16, 32, kInt, 3, {33, 64}, kNone);
  fp32.output = kFp32;
  fp32.epilogue = {true, Activation::kRelu2, true, true};

  // Blocks that share tiles by way of the workspace.
  c.add("Parts", 136, 3840, {16, 256, 256}, kFp16, 32, kInt, 5, {9, 16}, kEqualParts);
  c.add("PartsOfTiles", 136, 5120, {64, 256, 128}, kBf16, 32, kNo, 3, {33, 64}, kEqualParts);
  c.add("PartsOf128", 40, 5120, {128, 256, 128}, kFp16, 32, kInt, 4, {65, 127}, kEqualParts);
  c.add("PartsOf256", 40, 5120, {256, 128, 128}, kBf16, 32, kInt, 3, {129, 200}, kEqualParts);
  c.add("PartsOf192", 40, 5120, {192, 128, 128}, kFp16, 32, kNo, 3, {129, 192}, kEqualParts);
  c.add("PartsOfSharedRows", 40, 7680, {64, 64, 128}, kBf16, 64, kInt, 4, {64}, kEqualParts);
  c.add("SharesOfSharedRows", 328, 5120, {64, 64, 128}, kFp16, 32, kNo, 5, {50}, kEqualShares);
  c.add("Shares", 520, 5120, {16, 128, 256}, kBf16, 128, kInt, 4, {9, 16}, kEqualShares);
  c.add("SharesOfRowTiles", 1000, 2560, {64, 256, 128}, kFp16, 32, kNo, 3, {64}, kEqualShares);
  c.add("SharesOf128", 264, 2560, {128, 128, 128}, kFp16, 128, kInt, 5, {129}, kEqualShares);
  c.add("SharesOf256", 264, 2560, {256, 128, 128}, kFp16, 32, kNo, 5, {300}, kEqualShares);

  // The last tile of tokens has few of them, all of them in the first of its two boxes.
  c.add("FewTokensAtTheEnd", 264, 896, {256, 128, 128}, kFp16, 128, kInt, 5, {257, 300}, kNone);
  c.add("FewTokensOf160", 264, 896, {160, 128, 128}, kFp16, 128, kInt, 5, {161, 320}, kNone);
  c.add("FewTokensOf192", 264, 896, {192, 128, 128}, kBf16, 32, kNo, 5, {97, 193, 300}, kNone);
  // Pairs of blocks that read tokens once, with rows for both or for one of them.
  c.add_pairs("Readers", 264, 896, {256, 128, 128}, kFp16, 32, kInt, 4, {65, 129, 300}, kNone);
  c.add_pairs("ReadersOf128", 520, 416, {128, 128, 128}, kBf16, 32, kNo, 4, {33, 127, 200}, kNone);
  c.add_pairs("ReadersOfRowTiles", 520, 416, {128, 256, 128}, kFp16, 32, kInt, 4, {65, 300}, kNone);
  c.add_pairs("ReadersInShares", 520, 896, {256, 128, 128}, kBf16, 128, kInt, 8, {257, 512},
              kEqualShares);
  c.add_pairs("ReadersOf160", 264, 896, {160, 128, 128}, kFp16, 32, kInt, 4, {81, 300}, kNone);
  c.add_pairs("ReadersOf192InShares", 520, 896, {192, 128, 128}, kBf16, 128, kInt, 8, {193, 384},
              kEqualShares);
  c.add_pairs("ReadersInParts", 264, 2560, {128, 128, 128}, kFp16, 32, kInt, 8, {127}, kEqualParts);

  // Stages of half a chunk, with scales and zero points behind its words or none; K ends in the
  // first half of a chunk; tiles that are shared, or have few tokens.
  c.add("Halves", 264, 160, {256, 128, 64}, kFp16, 32, kInt, 3, {65, 257, 300}, kNone).weight.bits =
      8;
  c.add("HalvesOf128", 136, 1184, {128, 128, 64}, kBf16, 32, kInt, 3, {65, 129}, kNone)
      .weight.bits = 3;
  c.add("HalvesOfChannels", 136, 416, {192, 128, 64}, kBf16, kPerChannel, kInt, 3, {97, 193}, kNone)
      .weight.bits = 8;
  c.add("HalvesInParts", 40, 5120, {256, 128, 64}, kFp16, 128, kInt, 3, {129, 200}, kEqualParts);
  c.add("HalvesInShares", 264, 2560, {128, 128, 64}, kBf16, 128, kNo, 5, {129}, kEqualShares)
      .weight.bits = 8;
  c.add_pairs("HalvesOfReaders", 264, 896, {256, 128, 64}, kFp16, 64, kNo, 4, {65, 129, 300}, kNone)
      .weight.bits = 8;
  c.add_pairs("HalvesOfReadersInShares", 520, 896, {256, 128, 64}, kBf16, 16, kInt, 8, {257, 512},
              kEqualShares);

  // Widths, types and scales.
  c.add("TwoBits", 136, 1280, {32, 128, 128}, kBf16, 128, kInt, 4, {17, 31}, kNone).weight.bits = 2;
  c.add("ThreeBits", 136, 2560, {16, 256, 256}, kFp16, 64, kInt, 5, {9}, kClusters).weight.bits = 3;
  c.add("EightBits", 264, 1184, {64, 128, 256}, kBf16, 16, kNo, 3, {65}, kNone).weight.bits = 8;
  c.add("Channels", 136, 1184, {32, 256, 256}, kFp16, kPerChannel, kInt, 3, {33}, kNone);
  c.add("ChannelsOfPairs", 264, 2560, {16, 128, 128}, kBf16, kPerChannel, kInt, 6, {16}, kClusters)
      .weight.bits = 8;
  c.add("ChannelsOfSharedRows", 72, 1184, {64, 64, 256}, kBf16, kPerChannel, kInt, 4, {64},
        kClusters)
      .weight.bits = 8;
  c.add("ChannelsOfShares", 1000, 2560, {64, 256, 128}, kFp16, kPerChannel, kInt, 3, {33},
        kEqualShares)
      .weight.bits = 3;
  c.add("Tensor", 40, 1184, {16, 128, 256}, kBf16, kPerTensor, kNo, 2, {16}, kNone).weight.type =
      WeightType::kInt;
  for (const int tile_m : {16, 128}) {
    WeightSpec& nvfp4 = c.add("Nvfp4By" + std::to_string(tile_m), 136, 896, {tile_m, 128, 128},
                              kFp16, 16, kNo, 3, {tile_m - 1, tile_m + 1}, kNone)
                            .weight;
    nvfp4.type = WeightType::kE2m1;
    nvfp4.scale_dtype = kE4m3;
    nvfp4.tensor_scale = true;
  }
  // Lanes pass each other scales of 8 bits, of whole chunks and of halves that a stage or a
  // warpgroup has.
  for (const auto& [name, tile, group, scale] :
       {std::tuple{"Mxfp4", WgmmaTile{64, 256, 256}, 32, kE8m0},
        {"Mxfp4Halves", WgmmaTile{256, 128, 64}, 32, kE8m0},
        {"Mxfp4SharedRows", WgmmaTile{64, 64, 128}, 32, kE8m0},
        {"Nvfp4Halves", WgmmaTile{128, 128, 64}, 16, kE4m3}}) {
    WeightSpec& fp4 =
        c.add(name, 136, 1184, tile, kBf16, group, kNo, 3, {33, tile.m}, kNone).weight;
    fp4.type = WeightType::kE2m1;
    fp4.scale_dtype = scale;
  }
  // Decoding multiplies by the scale.
  for (const int bits : {2, 3, 4, 6, 8}) {
    c.add("ScaledBy" + std::to_string(bits) + "Bits", 136, 1184, {32, 128, 128}, kBf16, 32, kNo, 3,
          {31}, kNone)
        .weight.bits = bits;
  }
  c.add("ScaledInts", 136, 896, {64, 128, 128}, kBf16, 128, kNo, 3, {64}, kNone).weight.type =
      WeightType::kInt;
  WeightSpec& fp8 =
      c.add("Fp8", 136, 1184, {32, 128, 256}, kFp16, kPerChannel, kNo, 3, {33}, kNone).weight;
  fp8.type = WeightType::kE4m3;
  fp8.bits = 8;
  fp8.scale_dtype = kFp32;
  // What the scales leave of a power of two is the sums', rounded early or not.
  WeightSpec& unscaled =
      c.add("Nvfp4WithoutTensorScale", 136, 416, {256, 128, 128}, kFp16, 16, kNo, 3, {130}, kNone)
          .weight;
  unscaled.type = WeightType::kE2m1;
  unscaled.scale_dtype = kE4m3;
  WeightSpec& fp8_groups =
      c.add("Fp8Groups", 136, 416, {128, 128, 128}, kBf16, 32, kNo, 3, {130}, kNone).weight;
  fp8_groups.type = WeightType::kE4m3;
  fp8_groups.bits = 8;
  c.add("Trtllm", 136, 2560, {16, 128, 256}, kFp16, 64, kNo, 4, {16}, kClusters).weight.interleave =
      Interleave::kTrtllm;

  // Shards that begin inside of a group: scales on weights, and on sums, which end their groups
  // between steps; of whole chunks, of halves that a stage or a warpgroup has, of two row tiles.
  const auto add_cut = [&](std::string name, int offset, std::int64_t k, WgmmaTile tile,
                           DType dtype, int group, ZeroPoint zero, std::vector<std::int64_t> tokens,
                           Sharing sharing) -> WeightSpec& {
    WeightSpec& weight =
        c.add(std::move(name), 136, k, tile, dtype, group, zero, 3, std::move(tokens), sharing)
            .weight;
    weight.group_offset = offset;
    return weight;
  };
  add_cut("CutAt96", 96, 928, {16, 128, 256}, kFp16, 128, kInt, {9, 16}, kNone);
  add_cut("CutAt32OnSums", 32, 928, {64, 128, 256}, kBf16, 128, kInt, {33, 64}, kNone).scale_dtype =
      kFp32;
  add_cut("CutAt16OnSums", 16, 928, {32, 128, 128}, kFp16, 128, kNo, {31}, kNone).scale_dtype =
      kFp32;
  add_cut("CutAt64OnSums", 64, 1024, {64, 128, 256}, kFp16, 128, kNo, {64}, kNone).scale_dtype =
      kFp32;
  add_cut("CutOnSumsOfMany", 80, 416, {128, 128, 128}, kFp16, 128, kInt, {127, 300}, kNone)
      .scale_dtype = kFp32;
  add_cut("CutOf64OnSums", 32, 928, {128, 128, 128}, kFp16, 64, kInt, {65, 129}, kNone)
      .scale_dtype = kFp32;
  add_cut("CutOf32OnSums", 16, 928, {64, 128, 128}, kFp16, 32, kInt, {64}, kNone).scale_dtype =
      kFp32;
  add_cut("CutOf256", 128, 928, {64, 128, 256}, kFp16, 256, kInt, {64}, kNone);
  add_cut("CutOf256InAChunk", 208, 928, {64, 256, 128}, kFp16, 256, kInt, {64}, kNone).scale_dtype =
      kFp32;
  add_cut("CutRowTilesOnSums", 48, 928, {64, 256, 128}, kFp16, 128, kInt, {63}, kNone).scale_dtype =
      kFp32;
  add_cut("CutSharedRows", 96, 928, {64, 64, 128}, kFp16, 128, kInt, {33, 64}, kNone);
  add_cut("CutSharedRowsOnSums", 80, 928, {64, 64, 128}, kFp16, 128, kInt, {64}, kNone)
      .scale_dtype = kFp32;
  add_cut("CutTurnsOnSums", 32, 928, {32, 64, 256}, kFp16, 64, kNo, {31}, kNone).scale_dtype =
      kFp32;
  add_cut("CutHalves", 96, 928, {256, 128, 64}, kFp16, 128, kInt, {65, 300}, kNone);
  add_cut("CutHalvesOf64", 16, 928, {128, 128, 64}, kFp16, 64, kInt, {129}, kNone).bits = 3;
  add_cut("CutFolded", 48, 928, {64, 128, 128}, kBf16, 128, kNo, {64}, kNone);
  add_cut("CutInPairs", 96, 2592, {16, 128, 128}, kFp16, 128, kInt, {9, 16}, kClusters);
  add_cut("CutInParts", 32, 3872, {64, 256, 128}, kFp16, 128, kInt, {64}, kEqualParts);
  for (const auto& [name, tile] : {std::tuple{"CutMxfp4", WgmmaTile{64, 256, 256}},
                                   {"CutMxfp4SharedRows", WgmmaTile{64, 64, 128}}}) {
    WeightSpec& fp4 = add_cut(name, 16, 928, tile, kBf16, 32, kNo, {tile.m}, kNone);
    fp4.type = WeightType::kE2m1;
    fp4.scale_dtype = kE8m0;
  }

  // Weights of 16 bits: whole tiles, halves of chunks, shared rows, four warpgroups, blocks that
  // share tiles in every way, gates.
  const auto add_plain = [&](std::string name, std::int64_t n, std::int64_t k, WgmmaTile tile,
                             DType dtype, int sm_count, std::vector<std::int64_t> tokens,
                             Sharing sharing) -> GemmSpec& {
    GemmSpec& spec =
        c.add(std::move(name), n, k, tile, dtype, 32, kNo, sm_count, std::move(tokens), sharing);
    spec.weight = plain_weight(dtype);
    return spec;
  };
  add_plain("Plain", 136, 896, {32, 128, 128}, kFp16, 3, {17, 31}, kNone);
  add_plain("PlainHalves", 136, 416, {256, 128, 64}, kBf16, 3, {130, 257}, kNone);
  add_plain("PlainSharedRows", 72, 1184, {64, 64, 128}, kFp16, 3, {33, 64}, kNone);
  add_plain("PlainOfFour", 520, 416, {64, 256, 128}, kBf16, 3, {64}, kNone);
  add_plain("PlainInPairs", 136, 2560, {16, 128, 128}, kFp16, 4, {9, 16}, kClusters);
  add_plain("PlainInShares", 328, 1280, {64, 128, 128}, kBf16, 5, {40}, kEqualShares);
  add_plain("PlainGated", 144, 896, {128, 128, 128}, kFp16, 3, {127, 200}, kNone).epilogue = {
      true, Activation::kSilu, true, true};

  // What surrounds the product.
  c.add("Around", 136, 896, {64, 128, 128}, kBf16, 32, kInt, 3, {33, 100}, kNone).epilogue = {
      true, Activation::kSilu, true};
  c.add("AroundTokensOf160", 136, 416, {160, 128, 128}, kFp16, 32, kNo, 3, {100, 239}, kNone)
      .epilogue = {true, Activation::kRelu, true};
  c.add("AroundPairs", 264, 1184, {16, 128, 128}, kFp16, 32, kInt, 6, {9, 16}, kClusters)
      .epilogue = {true, Activation::kGelu, true};
  c.add("AroundParts", 136, 3840, {16, 256, 256}, kBf16, 32, kInt, 5, {9, 16}, kEqualParts)
      .epilogue = {true, Activation::kGeluTanh, true};
  return std::move(c.cases);
}

}  // namespace

Plan WgmmaCase::plan() const {
  // Whose blocks read their tokens alone.
  const auto is_plain = [](const PlannedKernel& kernel) {
    const auto* wgmma = config_if<WarpgroupKernel>(kernel);
    return wgmma != nullptr && wgmma->cluster == 1;
  };
  Plan plan = plan_of_one(Spec::from_gemm(spec, name), name, is_plain, sm_count);
  auto v = config_of<WarpgroupKernel>(plan.kernels[0]);
  wgmma_share_tokens(cluster, v);
  // A kernel whose tiles have all tokens shares them in one way.
  if (v.has_one_token_tile()) {
    v.sharing = sharing == Sharing::kNone       ? device::TileSharing::kNone
                : sharing == Sharing::kClusters ? device::TileSharing::kPairs
                                                : device::TileSharing::kParts;
  }
  v.settle();
  plan.kernels[0] = with_config(plan, plan.kernels[0], v);
  return plan;
}

WgmmaShares WgmmaCase::shares(const Plan& plan, std::int64_t m) const {
  const auto& v = config_of<WarpgroupKernel>(plan.kernels[0]);
  const bool one_way = v.has_one_token_tile();
  if (m != tokens.back() && !one_way) return wgmma_shares(gemm_request(plan), v, m);
  const auto ceil_of = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const auto row_sets = static_cast<int>(ceil_of(spec.shape.n, std::int64_t{v.tile_n} * v.cluster));
  const auto token_tiles = static_cast<int>(ceil_of(m, v.tile_m));
  const int tiles = row_sets * token_tiles;
  const int clusters = v.workers / v.cluster;
  const auto stages = static_cast<int>(ceil_of(plan.layout.chunks_per_row_block, v.stage_chunks));
  switch (sharing) {
    case Sharing::kNone:
      return {std::min(tiles, clusters) * v.cluster, 0, v.cluster};
    case Sharing::kClusters:
      return {2 * tiles, tiles, 2, true};
    case Sharing::kEqualParts: {
      const int parts = std::min(clusters / tiles, stages);
      return {tiles * parts * v.cluster, tiles, v.cluster};
    }
    case Sharing::kEqualShares:
      return {clusters * v.cluster, tiles % clusters, v.cluster};
  }
  throw std::logic_error("no such sharing");
}

const std::vector<WgmmaCase>& wgmma_cases() {
  static const std::vector<WgmmaCase> cases = make_wgmma_cases();
  return cases;
}

}  // namespace heddle
