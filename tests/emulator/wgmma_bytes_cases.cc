#include "tests/emulator/wgmma_bytes_cases.h"

#include <string>
#include <utility>

#include "tests/byte_gemm.h"

namespace heddle {
namespace {

class WgmmaBytesCases {
 public:
  // Tokens in ascending order. FP16 output, scales per token and channel.
  GemmSpec& add(std::string name, std::int64_t n, std::int64_t k, WgmmaTile tile, DType dtype,
                int sm_count, std::vector<std::int64_t> tokens, Sharing sharing) {
    return add(std::move(name), byte_gemm(n, k, dtype), tile, sm_count, std::move(tokens), sharing);
  }
  // Scales of groups and blocks.
  GemmSpec& add_blocks(std::string name, std::int64_t n, std::int64_t k, WgmmaTile tile,
                       int sm_count, std::vector<std::int64_t> tokens, Sharing sharing) {
    return add(std::move(name), block_gemm(n, k), tile, sm_count, std::move(tokens), sharing);
  }
  // Weights of four bits.
  GemmSpec& add_decoded(std::string name, std::int64_t n, std::int64_t k, int group, WgmmaTile tile,
                        DType dtype, int sm_count, std::vector<std::int64_t> tokens,
                        Sharing sharing) {
    return add(std::move(name), four_bit_gemm(n, k, dtype, group), tile, sm_count,
               std::move(tokens), sharing);
  }
  // Scales in two levels.
  GemmSpec& add_levels(std::string name, std::int64_t n, std::int64_t k, int group, WgmmaTile tile,
                       int sm_count, std::vector<std::int64_t> tokens, Sharing sharing) {
    return add(std::move(name), two_level_gemm(n, k, group), tile, sm_count, std::move(tokens),
               sharing);
  }

  std::vector<WgmmaCase> cases;

 private:
  GemmSpec& add(std::string name, GemmSpec spec, WgmmaTile tile, int sm_count,
                std::vector<std::int64_t> tokens, Sharing sharing) {
    spec.shape.m_min = tokens.front();
    spec.shape.m_max = tokens.back();
    spec.tile.m = tile.m;
    spec.tile.n = tile.n;
    spec.tile.k = tile.k;
    if (sharing == Sharing::kNone) spec.tile.split_k = 1;
    cases.push_back({std::move(name), spec, sm_count, std::move(tokens), sharing});
    return cases.back().spec;
  }
};

std::vector<WgmmaCase> make_wgmma_bytes_cases() {
  using enum DType;
  using enum Sharing;
  WgmmaBytesCases c;
  // Ends of N inside of a row block, of K inside of a chunk and of a stage; M below and between
  // tiles; one row tile and two; sums of all of K, and promoted ones.
  c.add("OneChunk", 8, 32, {16, 128, 128}, kInt8, 3, {1, 16}, kNone);
  c.add("ShortStage", 8, 160, {16, 128, 512}, kFp8E4m3, 3, {1, 7, 16}, kNone);
  c.add("LongStages", 136, 1184, {32, 128, 256}, kInt8, 3, {17, 31}, kNone).output = kBf16;
  c.add("Promoted", 136, 1184, {64, 128, 128}, kFp8E4m3, 3, {33, 64, 100}, kNone);
  c.add("Fast", 136, 1184, {64, 128, 128}, kFp8E4m3, 3, {33, 100}, kNone).accumulation =
      Accumulation::kFast;
  c.add("RowTiles", 520, 416, {128, 256, 128}, kFp8E4m3, 3, {127, 200}, kNone);
  c.add("RowTilesOfIntegers", 520, 416, {96, 256, 128}, kInt8, 3, {95, 97}, kNone);
  c.add("HalvesOf256", 264, 416, {256, 128, 128}, kFp8E4m3, 3, {65, 257, 300}, kNone);
  c.add("HalvesOf160", 264, 160, {160, 128, 128}, kFp8E5m2, 3, {129, 300}, kNone);
  c.add("IntegersOf192", 136, 896, {192, 128, 128}, kInt8, 3, {129, 289}, kNone);

  // Two warpgroups share 64 rows: half of a chunk each, or chunks in turns, of which the last stage
  // has fewer.
  c.add("SharedRows", 72, 1184, {64, 64, 128}, kFp8E4m3, 3, {33, 64, 100}, kNone);
  c.add("TurnsOfSharedRows", 72, 1408, {32, 64, 512}, kInt8, 3, {17, 32}, kNone);
  c.add("TurnsThatEndWithOne", 136, 1152, {32, 64, 512}, kFp8E4m3, 3, {32}, kNone);

  // Blocks that share tiles, in pairs and by way of the workspace; integers are added as such.
  c.add("Pairs", 40, 1184, {16, 128, 128}, kInt8, 3, {1, 16}, kClusters);
  c.add("PairsOf96", 136, 2560, {96, 128, 128}, kFp8E4m3, 4, {65, 95}, kClusters);
  c.add("PairsOfSharedRows", 136, 2560, {64, 64, 256}, kInt8, 6, {33, 64}, kClusters);
  c.add("Parts", 136, 3840, {16, 256, 256}, kInt8, 5, {9, 16}, kEqualParts);
  c.add("PartsOf256", 40, 5120, {256, 128, 128}, kFp8E4m3, 3, {129, 200}, kEqualParts);
  c.add("Shares", 264, 2560, {128, 128, 128}, kInt8, 5, {129}, kEqualShares);
  c.add("Readers", 520, 896, {256, 128, 128}, kFp8E4m3, 8, {257, 512}, kEqualShares);
  c.cases.back().cluster = 2;

  // Scales, zero points and pairs of types.
  c.add("Tensors", 136, 896, {32, 128, 128}, kFp8E4m3, 3, {17, 31}, kNone).weight.group_size =
      kPerTensor;
  c.cases.back().spec.activation_scale.granularity = RowGranularity::kTensor;
  c.add("ZeroPoints", 136, 896, {64, 128, 128}, kInt8, 3, {33, 64}, kNone)
      .activation_scale.symmetric = false;
  c.add("ZeroPointsInPairs", 136, 2560, {32, 128, 128}, kInt8, 4, {17, 32}, kClusters)
      .activation_scale.symmetric = false;
  c.add("E5m2Tokens", 136, 416, {32, 128, 128}, kFp8E5m2, 3, {31}, kNone).weight.type =
      WeightType::kE4m3;
  c.add("E5m2Weights", 136, 416, {32, 128, 128}, kFp8E4m3, 3, {31}, kNone).weight.type =
      WeightType::kE5m2;
  c.add("Fp16Scales", 136, 416, {32, 128, 128}, kInt8, 3, {31}, kNone).weight.scale_dtype = kFp16;

  // What surrounds the product.
  c.add("Fp32Output", 136, 896, {64, 128, 128}, kInt8, 3, {33, 64}, kNone).output = kFp32;
  c.add("Fp32OfMany", 136, 896, {192, 128, 128}, kInt8, 3, {97, 193}, kNone).output = kFp32;
  c.add("Around", 136, 896, {64, 128, 128}, kInt8, 3, {33, 100}, kNone).epilogue = {
      true, Activation::kSilu, true};
  c.add("AroundMany", 136, 416, {256, 128, 128}, kFp8E4m3, 3, {100, 300}, kNone).epilogue = {
      true, Activation::kGelu, true};
  c.add("Gated", 144, 896, {128, 128, 128}, kFp8E4m3, 3, {127, 200}, kNone).epilogue = {
      true, Activation::kSilu, true, true};
  c.add("GatedRounded", 272, 896, {256, 128, 128}, kInt8, 3, {65, 300}, kNone).epilogue = {
      false, Activation::kSilu, false, true};
  return std::move(c.cases);
}

std::vector<WgmmaCase> make_block_cases() {
  using enum DType;
  using enum Sharing;
  WgmmaBytesCases c;
  // Ends of N inside of a block, of K inside of a chunk, of a stage and of a word of factors; every
  // number of boxes of tokens; halves and turns of shared rows; two row tiles.
  c.add_blocks("OneChunk", 8, 32, {16, 128, 128}, 3, {1, 16}, kNone);
  c.add_blocks("Stages", 200, 1184, {64, 128, 256}, 3, {33, 63, 100}, kNone);
  c.add_blocks("BoxesOf48", 264, 416, {96, 128, 128}, 3, {95, 101}, kNone);
  c.add_blocks("BoxesOf128", 264, 416, {256, 128, 128}, 3, {65, 257, 303}, kNone).output = kBf16;
  c.add_blocks("BoxesOf80", 264, 416, {160, 128, 128}, 3, {159, 300}, kNone).weight.type =
      WeightType::kE5m2;
  c.add_blocks("RowTiles", 520, 416, {128, 256, 128}, 3, {127, 203}, kNone);
  c.add_blocks("HalvesOfSharedRows", 200, 1184, {64, 64, 128}, 3, {33, 64}, kNone);
  c.add_blocks("TurnsOfSharedRows", 200, 1408, {32, 64, 512}, 3, {17, 32}, kNone);
  c.add_blocks("Powers", 264, 1184, {64, 128, 256}, 3, {33, 100}, kNone)
      .activation_scale.scale_dtype = RowScaleDtype::kE8m0;
  c.add_blocks("Pairs", 200, 2560, {16, 128, 128}, 4, {1, 16}, kClusters);
  c.add_blocks("PairsOf128", 264, 2560, {128, 256, 128}, 4, {100, 128}, kClusters);
  c.add_blocks("Shares", 264, 2560, {128, 128, 128}, 5, {129}, kEqualShares);
  c.add_blocks("Readers", 520, 896, {256, 128, 128}, 8, {257}, kEqualShares);
  c.cases.back().cluster = 2;
  c.add_blocks("Around", 264, 416, {64, 128, 128}, 3, {33, 100}, kNone).epilogue = {
      true, Activation::kSilu, true};
  c.add_blocks("AroundMany", 264, 416, {256, 128, 128}, 3, {100, 301}, kNone).epilogue = {
      true, Activation::kSilu, true};
  c.add_blocks("Gated", 512, 416, {128, 128, 128}, 3, {127, 200}, kNone).epilogue = {
      false, Activation::kSilu, false, true};
  c.add_blocks("GatedMany", 512, 416, {256, 128, 128}, 3, {201, 300}, kNone).epilogue = {
      false, Activation::kSilu, false, true};
  c.cases.back().spec.activation_scale.scale_dtype = RowScaleDtype::kE8m0;
  return std::move(c.cases);
}

std::vector<WgmmaCase> make_decoded_cases() {
  using enum DType;
  using enum Sharing;
  constexpr ZeroPoint kZeros = ZeroPoint::kInt;
  WgmmaBytesCases c;
  // Groups of every length, cut by a shard; sums of all of K, scaled, and promoted; zero points;
  // halves and turns of shared rows; two row tiles and four warpgroups.
  c.add_decoded("OneChunk", 8, 32, 32, {16, 128, 128}, kInt8, 3, {1, 16}, kNone);
  c.add_decoded("Groups", 136, 896, 128, {32, 128, 256}, kInt8, 3, {17, 31}, kNone).weight.type =
      WeightType::kInt;
  c.add_decoded("Channels", 136, 1184, kPerChannel, {64, 128, 128}, kInt8, 3, {33, 100}, kNone);
  c.add_decoded("ChannelsInOne", 136, 416, kPerTensor, {96, 128, 256}, kInt8, 3, {95, 97}, kNone)
      .weight.zero_point = kZeros;
  c.add_decoded("ZeroPoints", 136, 896, 128, {64, 128, 256}, kInt8, 3, {33, 64}, kNone)
      .weight.zero_point = kZeros;
  c.add_decoded("SignedZeroPoints", 72, 896, 64, {64, 64, 128}, kInt8, 3, {33, 64}, kNone)
      .weight.type = WeightType::kInt;
  c.cases.back().spec.weight.zero_point = kZeros;
  c.add_decoded("Groups96", 136, 1152, 96, {128, 128, 128}, kInt8, 3, {127, 200}, kNone)
      .weight.zero_point = kZeros;
  c.add_decoded("FourWarpgroups", 264, 1152, 128, {32, 256, 256}, kInt8, 3, {17, 32}, kNone);
  c.add_decoded("RowTiles", 520, 384, 128, {128, 256, 128}, kFp8E4m3, 3, {127, 200}, kNone);
  c.add_decoded("TurnsOfSharedRows", 72, 1408, 32, {32, 64, 512}, kInt8, 3, {17, 32}, kNone);
  c.add_decoded("Fp8Groups", 136, 896, 128, {64, 128, 256}, kFp8E4m3, 3, {33, 64, 100}, kNone);
  c.add_decoded("Fp8ZeroPoints", 136, 896, 128, {128, 128, 256}, kFp8E4m3, 3, {127}, kNone)
      .weight.zero_point = kZeros;
  c.add_decoded("Promoted", 136, 1184, kPerChannel, {64, 128, 128}, kFp8E4m3, 3, {33, 100}, kNone)
      .weight.type = WeightType::kInt;
  c.cases.back().spec.weight.zero_point = kZeros;
  c.add_decoded("PromotedHalves", 72, 416, kPerChannel, {64, 64, 128}, kFp8E5m2, 3, {64}, kNone);
  c.add_decoded("Fast", 136, 1184, kPerChannel, {64, 128, 128}, kFp8E4m3, 3, {33}, kNone)
      .accumulation = Accumulation::kFast;
  c.add_decoded("Shard", 136, 1120, 128, {32, 128, 128}, kInt8, 3, {31}, kNone)
      .weight.group_offset = 32;

  // Blocks that share tiles, and what surrounds the product.
  c.add_decoded("Pairs", 40, 1152, 128, {16, 128, 128}, kInt8, 3, {1, 16}, kClusters);
  c.add_decoded("PairsOfChannels", 40, 1184, kPerChannel, {32, 128, 128}, kInt8, 3, {17, 32},
                kClusters);
  c.add_decoded("FewChannels", 40, 1184, kPerChannel, {16, 128, 128}, kInt8, 3, {1, 16}, kNone)
      .weight.zero_point = kZeros;
  c.cases.back().spec.epilogue = {true, Activation::kSilu, true};
  c.add_decoded("Shares", 264, 2560, 128, {128, 128, 128}, kInt8, 5, {129}, kEqualShares);
  c.add_decoded("Readers", 520, 896, 128, {192, 128, 128}, kFp8E4m3, 8, {257}, kEqualShares);
  c.cases.back().cluster = 2;
  c.add_decoded("Around", 136, 896, 128, {64, 128, 128}, kInt8, 3, {33, 100}, kNone).epilogue = {
      true, Activation::kSilu, true};
  c.add_decoded("Gated", 144, 896, kPerChannel, {128, 128, 128}, kInt8, 3, {127}, kNone)
      .epilogue = {true, Activation::kSilu, true, true};
  c.add_decoded("GatedRounded", 272, 896, 128, {128, 128, 128}, kFp8E4m3, 3, {65, 200}, kNone)
      .epilogue = {false, Activation::kSilu, false, true};

  // Two levels: groups of every length, also longer than a chunk and cut by a shard; zero points
  // and signs; shared rows, two row tiles, four warpgroups.
  c.add_levels("LevelsOf32", 136, 896, 32, {64, 128, 256}, 3, {33, 64, 100}, kNone)
      .weight.zero_point = kZeros;
  c.add_levels("LevelsOf128", 136, 896, 128, {32, 128, 128}, 3, {17, 31}, kNone)
      .weight.channel_scale = kFp16;
  c.add_levels("SignedLevels", 72, 1152, 64, {64, 64, 128}, 3, {33, 64}, kNone).weight.type =
      WeightType::kInt;
  c.cases.back().spec.weight.zero_point = kZeros;
  c.cases.back().spec.weight.channel_scale = kBf16;
  c.add_levels("LevelsOf96", 136, 1152, 96, {128, 128, 128}, 3, {127, 200}, kNone).weight.type =
      WeightType::kInt;
  c.add_levels("LevelsOf256", 520, 768, 256, {96, 256, 128}, 3, {95, 97}, kNone).weight.zero_point =
      kZeros;
  c.add_levels("LevelsOfFour", 264, 1152, 128, {32, 256, 256}, 3, {17, 32}, kNone)
      .weight.zero_point = kZeros;
  c.add_levels("LevelsInTurns", 72, 1408, 32, {32, 64, 512}, 3, {17, 32}, kNone);
  c.add_levels("LevelsOfMany", 264, 416, 32, {256, 128, 128}, 3, {257}, kNone).weight.zero_point =
      kZeros;
  c.add_levels("LevelsOfShard", 136, 1120, 128, {32, 128, 128}, 3, {31}, kNone)
      .weight.group_offset = 32;
  c.cases.back().spec.weight.zero_point = kZeros;
  c.add_levels("LevelsInPairs", 40, 1152, 32, {16, 128, 128}, 3, {1, 16}, kClusters);
  c.add_levels("LevelsInShares", 264, 2560, 128, {128, 128, 128}, 5, {129}, kEqualShares);
  c.add_levels("LevelsAround", 136, 896, 128, {64, 128, 128}, 3, {33, 100}, kNone).epilogue = {
      true, Activation::kSilu, true};
  c.add_levels("LevelsGated", 144, 896, 32, {128, 128, 128}, 3, {127}, kNone).epilogue = {
      true, Activation::kSilu, true, true};
  return std::move(c.cases);
}

}  // namespace

const std::vector<WgmmaCase>& wgmma_decoded_cases() {
  static const std::vector<WgmmaCase> cases = make_decoded_cases();
  return cases;
}

const std::vector<WgmmaCase>& wgmma_blocks_cases() {
  static const std::vector<WgmmaCase> cases = make_block_cases();
  return cases;
}

const std::vector<WgmmaCase>& wgmma_bytes_cases() {
  static const std::vector<WgmmaCase> cases = make_wgmma_bytes_cases();
  return cases;
}

}  // namespace heddle
