#include <tuple>
#include <utility>

#include "tests/emulator/gemm_cases.h"
#include "tests/emulator/one_kernel.h"
#include "tests/emulator/scaled_gemm.h"
#include "tests/plain_weight.h"

namespace heddle {
namespace {

GemmSpec stream_gemm(std::int64_t n, std::int64_t k, MRange m, DType dtype, int group,
                     ZeroPoint zero) {
  GemmSpec spec = scaled_gemm({n, k, m.min, m.max}, dtype, group, zero);
  spec.path = Path::kHopper;
  return spec;
}

std::vector<StreamCase> make_stream_cases() {
  using enum DType;
  constexpr auto kInt = ZeroPoint::kInt;
  constexpr auto kNone = ZeroPoint::kNone;
  std::vector<StreamCase> cases;
  const auto add = [&](std::string name, GemmSpec spec, int sm_count) -> GemmSpec& {
    cases.push_back({{std::move(name), std::move(spec)}, sm_count});
    return cases.back().spec;
  };
  // Ends of N inside of a row block, of K inside of a stage and inside of a chunk; fewer chunks
  // than warps.
  add("OneChunk", stream_gemm(8, 32, {1, 2}, kFp16, 32, kInt), 4);
  add("OneRowBlock", stream_gemm(8, 896, {5, 8}, kFp16, 32, kNone), 4);
  add("RaggedN", stream_gemm(24, 160, {3, 4}, kBf16, 16, kInt), 4);
  add("RaggedK", stream_gemm(40, 2208, {5, 7}, kFp16, 32, kInt), 2);
  add("RaggedWarps", stream_gemm(136, 1184, {1, 1}, kBf16, 32, kNone), 4);
  // Stages and slots of sums come round several times; some blocks have a row block more.
  add("ManyRowBlocks", stream_gemm(520, 1280, {1, 2}, kFp16, 128, kInt), 4);
  add("ManyStages", stream_gemm(264, 2560, {3, 3}, kBf16, 64, kNone), 2);

  // Seven, nine, ten, eleven and twelve warps, in stages of three, four and five chunks.
  add("SevenWarps", stream_gemm(72, 8960, {1, 2}, kFp16, 128, kInt), 2);
  add("NineWarps", stream_gemm(72, 6912, {3, 4}, kBf16, 64, kNone), 2);
  add("TenWarps", stream_gemm(72, 3840, {5, 8}, kFp16, 128, kInt), 2);
  add("ElevenWarps", stream_gemm(72, 5632, {1, 2}, kBf16, 128, kNone), 2);
  add("TwelveWarps", stream_gemm(72, 4608, {5, 8}, kFp16, 32, kInt), 2);

  // Two chunks of a warp are all of K, in small groups.
  add("TwoChunks", stream_gemm(72, 2048, {1, 2}, kFp16, 32, kNone), 2);
  add("TwoChunksOfTypes", stream_gemm(72, 2048, {5, 8}, kBf16, 16, kInt), 2).weight.scale_dtype =
      kFp32;

  // Two tiles of tokens, which come in one piece or two.
  add("SixteenTokens", stream_gemm(136, 1280, {9, 16}, kFp16, 64, kInt), 4);
  add("SixteenRaggedTokens", stream_gemm(40, 2208, {15, 15}, kBf16, 32, kInt), 2).tile.warps_k = 8;
  add("SixteenLongTokens", stream_gemm(72, 4096, {16, 16}, kFp16, 128, kNone), 4).tile.warps_k = 8;
  add("SplitOfSixteenTokens", stream_gemm(136, 2560, {15, 16}, kBf16, 32, kInt), 6).tile.split_k =
      2;
  add("SplitOfLongTokens", stream_gemm(72, 8192, {16, 16}, kFp16, 64, kInt), 8).tile.split_k = 4;

  // Blocks without a row block: of a pair both of them or one, of clusters that share K.
  add("MoreBlocksThanRowBlocks", stream_gemm(40, 1280, {1, 2}, kFp16, 128, kInt), 6);
  add("MorePairsThanRowBlocks", stream_gemm(72, 1376, {15, 16}, kFp16, 32, kNone), 8);
  add("MoreClustersThanRowBlocks", stream_gemm(40, 2560, {5, 8}, kBf16, 64, kInt), 12)
      .tile.split_k = 2;

  // K over the blocks of a cluster.
  for (const auto& [blocks, k, sm_count] :
       {std::tuple{2, 2208, 6}, {3, 2560, 8}, {4, 1184, 9}, {8, 2560, 18}}) {
    GemmSpec& spec = add("SplitBy" + std::to_string(blocks),
                         stream_gemm(136, k, {5, 8}, kFp16, 32, kInt), sm_count);
    spec.tile.split_k = blocks;
  }
  // Not all lanes of the warp that adds have sums to send.
  add("SplitOfManyRowBlocks", stream_gemm(264, 640, {3, 4}, kBf16, 32, kNone), 9).tile.split_k = 2;
  GemmSpec& split_channels =
      add("SplitOfChannels", stream_gemm(200, 2208, {1, 2}, kBf16, kPerChannel, kInt), 5);
  split_channels.tile.split_k = 4;
  split_channels.weight.bits = 3;

  // Widths, types and scales.
  add("Channels", stream_gemm(136, 896, {7, 8}, kFp16, kPerChannel, kInt), 4).weight.bits = 8;
  add("Tensor", stream_gemm(40, 1184, {3, 4}, kBf16, kPerTensor, kNone), 2).weight.type =
      WeightType::kInt;
  add("TwoBits", stream_gemm(136, 1280, {1, 2}, kBf16, 128, kInt), 4).weight.bits = 2;
  add("ThreeBits", stream_gemm(136, 2560, {5, 8}, kFp16, 64, kInt), 4).weight.bits = 3;
  add("EightBits", stream_gemm(40, 2208, {3, 4}, kBf16, 16, kNone), 2).weight.bits = 8;
  WeightSpec& fp8 = add("Fp8", stream_gemm(136, 1184, {5, 5}, kFp16, kPerChannel, kNone), 4).weight;
  fp8.type = WeightType::kE4m3;
  fp8.bits = 8;
  fp8.scale_dtype = kFp32;
  WeightSpec& nvfp4 = add("Nvfp4", stream_gemm(136, 2208, {7, 8}, kFp16, 16, kNone), 4).weight;
  nvfp4.type = WeightType::kE2m1;
  nvfp4.scale_dtype = kE4m3;
  nvfp4.tensor_scale = true;
  WeightSpec& mxfp4 = add("Mxfp4", stream_gemm(72, 1184, {15, 16}, kFp16, 32, kNone), 4).weight;
  mxfp4.type = WeightType::kE2m1;
  mxfp4.scale_dtype = kE8m0;
  // Scales of 8 bits on sums and on weights, of groups as small and as large as a chunk.
  for (const auto& [name, scale, group, tokens] :
       {std::tuple{std::string_view("E8m0OnSums"), kE8m0, 32, MRange{1, 2}},
        {"E8m0OnWeights", kE8m0, 32, MRange{15, 16}},
        {"E4m3OnSums", kE4m3, 128, MRange{5, 8}},
        {"E8m0OfSixteenOnSums", kE8m0, 16, MRange{3, 4}},
        {"E4m3OfPairsOnSums", kE4m3, 64, MRange{1, 1}}}) {
    // To BF16 the scale takes the power of two of e2m1, and so meets the weights.
    const DType dtype = name.find("OnSums") == name.npos ? kBf16 : kFp16;
    WeightSpec& weight =
        add(std::string(name), stream_gemm(136, 1280, tokens, dtype, group, kNone), 4).weight;
    weight.type = WeightType::kE2m1;
    weight.scale_dtype = scale;
  }
  add("Trtllm", stream_gemm(136, 2560, {5, 8}, kFp16, 64, kNone), 4).weight.interleave =
      Interleave::kTrtllm;

  // Shards that begin inside of a group: groups cut late and early, in a chunk and at its end,
  // small ones and ones of several chunks; the end of K inside of a chunk; scales on sums and on
  // weights.
  const auto add_cut = [&](std::string name, GemmSpec spec, int offset) -> GemmSpec& {
    spec.weight.group_offset = offset;
    return add(std::move(name), std::move(spec), 4);
  };
  add_cut("CutAt96", stream_gemm(136, 1376, {1, 2}, kFp16, 128, kInt), 96);
  add_cut("CutAt32OnSums", stream_gemm(72, 1376, {5, 8}, kBf16, 128, kInt), 32).weight.scale_dtype =
      kFp32;
  add_cut("CutAt16OfWeights", stream_gemm(72, 2208, {15, 16}, kFp16, 128, kNone), 16);
  add_cut("CutOfThreeBits", stream_gemm(40, 2208, {3, 4}, kFp16, 64, kInt), 32).weight.bits = 3;
  add_cut("CutOfSmallGroups", stream_gemm(40, 1184, {7, 8}, kBf16, 32, kInt), 16)
      .weight.scale_dtype = kFp32;
  add_cut("CutOfFolded", stream_gemm(40, 1184, {9, 16}, kBf16, 32, kNone), 16);
  add_cut("CutOf256", stream_gemm(136, 1376, {1, 2}, kFp16, 256, kInt), 128);
  add_cut("CutOf256InAChunk", stream_gemm(136, 1376, {4, 5}, kFp16, 256, kInt), 176);
  add_cut("CutOf48", stream_gemm(40, 1184, {3, 4}, kFp16, 48, kInt), 32);
  add_cut("CutInOneChunk", stream_gemm(8, 32, {1, 2}, kFp16, 128, kInt), 112);
  add_cut("CutTrtllm", stream_gemm(136, 2560, {5, 8}, kFp16, 64, kNone), 48).weight.interleave =
      Interleave::kTrtllm;
  GemmSpec& cut_split = add_cut("CutSplit", stream_gemm(136, 2208, {5, 8}, kFp16, 128, kInt), 80);
  cut_split.tile.split_k = 2;
  cut_split.pre_scale = true;
  cut_split.epilogue = {true, Activation::kSilu, true};
  // Scales of 8 bits, which are widened for half a chunk at a time.
  for (const auto& [name, scale, group, offset, tokens] :
       {std::tuple{std::string_view("CutE8m0OnSums"), kE8m0, 32, 16, MRange{1, 2}},
        {"CutE8m0OnWeights", kE8m0, 32, 16, MRange{15, 16}},
        {"CutE8m0OfPairsOnWeights", kE8m0, 64, 48, MRange{3, 4}},
        {"CutE4m3Early", kE4m3, 128, 96, MRange{5, 8}},
        {"CutE4m3Late", kE4m3, 128, 32, MRange{5, 8}},
        {"CutE4m3InTheMiddle", kE4m3, 128, 64, MRange{1, 1}},
        {"CutE8m0OfChunksOnSums", kE8m0, 128, 80, MRange{3, 4}},
        {"CutE8m0OfPairsOnSums", kE8m0, 64, 16, MRange{3, 4}}}) {
    const DType dtype = name.find("OnSums") == name.npos ? kBf16 : kFp16;
    WeightSpec& weight =
        add_cut(std::string(name), stream_gemm(136, 1248, tokens, dtype, group, kNone), offset)
            .weight;
    weight.type = WeightType::kE2m1;
    weight.scale_dtype = scale;
  }

  // Weights of 16 bits: ends of N and K, two tiles of tokens, K over the blocks of a cluster.
  add("Plain", stream_gemm(136, 1184, {1, 8}, kFp16, 32, kNone), 4).weight = plain_weight(kFp16);
  add("PlainOfSixteenTokens", stream_gemm(72, 2208, {15, 16}, kBf16, 32, kNone), 4).weight =
      plain_weight(kBf16);
  GemmSpec& plain_split = add("PlainSplit", stream_gemm(144, 2560, {5, 8}, kBf16, 32, kNone), 6);
  plain_split.weight = plain_weight(kBf16);
  plain_split.tile.split_k = 2;
  plain_split.epilogue = {true, Activation::kSilu, true, true};

  // What surrounds the product.
  for (const int blocks : {1, 2}) {
    GemmSpec& around = add("EverythingAroundSplitBy" + std::to_string(blocks),
                           stream_gemm(136, 2208, {5, 8}, kBf16, 32, kInt), 6);
    around.epilogue = {true, Activation::kSilu, true};
    around.pre_scale = true;
    around.tile.split_k = blocks;
    GemmSpec& gated = add("GatedSplitBy" + std::to_string(blocks),
                          stream_gemm(144, 2208, {5, 8}, kFp16, 32, kInt), 6);
    gated.epilogue = {true, Activation::kSilu, true, true};
    gated.tile.split_k = blocks;
    GemmSpec& fp32 = add("Fp32OutputSplitBy" + std::to_string(blocks),
                         stream_gemm(136, 2208, {1, 2}, kBf16, 32, kInt), 6);
    fp32.output = kFp32;
    fp32.epilogue.residual = true;
    fp32.tile.split_k = blocks;
  }
  add("GatedSixteenTokens", stream_gemm(144, 1280, {9, 16}, kBf16, 64, kInt), 4).epilogue = {
      false, Activation::kClampedSwiglu, false, true, 7};
  GemmSpec& gated_channels =
      add("GatedChannels", stream_gemm(144, 896, {1, 1}, kFp16, kPerChannel, kInt), 4);
  gated_channels.weight.bits = 8;
  gated_channels.output = kBf16;
  gated_channels.epilogue = {false, Activation::kRelu2, false, true};
  return cases;
}

}  // namespace

Plan StreamCase::plan() const {
  return plan_of_one(Spec::from_gemm(spec), name, is_stream, sm_count);
}

const std::vector<StreamCase>& stream_cases() {
  static const std::vector<StreamCase> cases = make_stream_cases();
  return cases;
}

}  // namespace heddle
