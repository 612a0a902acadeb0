#include <algorithm>
#include <utility>

#include "tests/byte_gemm.h"
#include "tests/emulator/gemm_cases.h"
#include "tests/emulator/one_kernel.h"
#include "tests/emulator/wgmma_bytes_cases.h"

namespace heddle {
namespace {

using device::TokenValues;

class StreamBytesCases {
 public:
  // With so many warps, and blocks that share K.
  GemmSpec& add(std::string name, GemmSpec spec, MRange m, int warps, int split = 1) {
    spec.shape.m_min = m.min;
    spec.shape.m_max = m.max;
    spec.path = Path::kHopper;
    spec.tile.warps_k = warps;
    spec.tile.split_k = split;
    const bool is_bulk = m.max > 8;
    const TokenValues values = spec.activation == DType::kInt8 ? TokenValues::kInt8
                               : is_bulk                       ? TokenValues::kFp8InLoop
                                                               : TokenValues::kFp8OnTheWay;
    cases.push_back(
        {{{std::move(name), std::move(spec)}, split > 2 ? 9 : 4}, values, is_bulk, std::nullopt});
    return cases.back().spec;
  }
  // A case of before whose tokens come through registers.
  void add_through_registers(const char* name, TokenValues values) {
    StreamBytesCase one = *std::find_if(
        cases.begin(), cases.end(), [&](const StreamBytesCase& each) { return each.name == name; });
    one.name += values == TokenValues::kFp8InLoop ? "InLoop" : "ThroughRegisters";
    one.values = values;
    one.bulk_tokens = false;
    cases.push_back(std::move(one));
  }
  // Products, scales and outputs by wgmma, of sums that are exact.
  void add_as_wgmma(const char* wgmma_case, MRange m, int warps, int split) {
    const std::vector<WgmmaCase>& all = wgmma_decoded_cases();
    const auto one = std::find_if(all.begin(), all.end(),
                                  [&](const WgmmaCase& wgmma) { return wgmma.name == wgmma_case; });
    GemmSpec spec = one->spec;
    spec.tile = {};
    add("AsWgmma" + one->name + std::to_string(m.max), spec, m, warps, split);
    cases.back().as_wgmma = static_cast<std::size_t>(one - all.begin());
  }

  std::vector<StreamBytesCase> cases;
};

std::vector<StreamBytesCase> make_stream_bytes_cases() {
  using enum DType;
  constexpr ZeroPoint kZeros = ZeroPoint::kInt;
  StreamBytesCases c;
  // Groups of every length, also cut by a shard; ends of N inside of a row block, of K inside of a
  // stage and of a chunk; stages and slots of sums that come round several times.
  c.add("OneChunk", four_bit_gemm(8, 32, kInt8, 32), {1, 2}, 1);
  c.add("Groups128", four_bit_gemm(136, 1152, kInt8), {1, 1}, 4).weight.type = WeightType::kInt;
  c.add("Groups32", four_bit_gemm(40, 2208, kInt8, 32), {7, 8}, 6).weight.zero_point = kZeros;
  c.add("Groups64", four_bit_gemm(264, 1152, kInt8, 64), {3, 3}, 4).weight.zero_point = kZeros;
  c.cases.back().spec.weight.type = WeightType::kInt;
  c.add("Groups96", four_bit_gemm(24, 1152, kInt8, 96), {1, 2}, 4).weight.zero_point = kZeros;
  c.add("Groups256", four_bit_gemm(24, 2048, kInt8, 256), {8, 8}, 8).weight.scale_dtype = kFp32;
  c.add("Shard", four_bit_gemm(24, 1120, kInt8), {3, 4}, 4).weight.group_offset = 32;
  c.cases.back().spec.weight.zero_point = kZeros;
  c.add("Channels", four_bit_gemm(136, 1184, kInt8, kPerChannel), {1, 3}, 4);
  c.add("ChannelZeros", four_bit_gemm(72, 2560, kInt8, kPerChannel), {8, 8}, 5).weight.zero_point =
      kZeros;
  c.add("Tensors", four_bit_gemm(24, 896, kInt8, kPerTensor), {3, 3}, 2)
      .activation_scale.granularity = RowGranularity::kTensor;

  // More than eight tokens, which pairs of blocks read for each other.
  c.add("Sixteen", four_bit_gemm(72, 2208, kInt8, 32), {15, 16}, 6).weight.zero_point = kZeros;
  c.add("SixteenGroups", four_bit_gemm(136, 1280, kInt8), {9, 9}, 8);
  c.add("SixteenChannels", four_bit_gemm(40, 1056, kInt8, kPerChannel), {9, 10}, 3);

  // K over the blocks of a cluster.
  c.add("Split", four_bit_gemm(136, 2560, kInt8), {1, 2}, 4, 2);
  c.add("SplitZeros", four_bit_gemm(72, 2208, kInt8, 32), {9, 16}, 4, 4).weight.zero_point = kZeros;
  c.add("SplitChannels", four_bit_gemm(136, 2560, kInt8, kPerChannel), {3, 3}, 4, 4);

  // Two levels.
  c.add("Levels32", two_level_gemm(72, 1184, 32), {1, 2}, 4).weight.zero_point = kZeros;
  c.add("Levels128", two_level_gemm(136, 1280, 128), {8, 8}, 5).weight.channel_scale = kFp16;
  c.add("Levels64OfSixteen", two_level_gemm(40, 1152, 64), {16, 16}, 4).weight.type =
      WeightType::kInt;
  c.add("LevelsOfShard", two_level_gemm(24, 1120, 128), {3, 3}, 4).weight.group_offset = 32;

  // FP8 as FP16: up to eight tokens widened on their way to shared memory, more behind it.
  c.add("Fp8Groups", four_bit_gemm(136, 1152, kFp8E4m3), {1, 2}, 4).weight.type = WeightType::kInt;
  c.add("Fp8Zeros", four_bit_gemm(72, 2208, kFp8E4m3, 32), {7, 8}, 6).weight.zero_point = kZeros;
  c.add("E5m2Groups64", four_bit_gemm(40, 1152, kFp8E5m2, 64), {3, 3}, 4);
  c.add("Fp8Channels", four_bit_gemm(24, 1184, kFp8E4m3, kPerChannel), {5, 8}, 4).accumulation =
      Accumulation::kFast;
  c.add("Fp8Shard", four_bit_gemm(24, 1120, kFp8E4m3), {3, 4}, 4).weight.group_offset = 32;
  c.add("Fp8Sixteen", four_bit_gemm(72, 2208, kFp8E4m3, 32), {9, 16}, 6).weight.zero_point = kZeros;
  c.add("E5m2Sixteen", four_bit_gemm(40, 1056, kFp8E5m2, kPerChannel), {15, 16}, 3).output = kBf16;
  c.add("Fp8Split", four_bit_gemm(136, 2560, kFp8E4m3), {1, 9}, 4, 2);
  c.cases.back().spec.epilogue = {true, Activation::kSilu, true};
  c.add("Fp8Gated", four_bit_gemm(144, 1152, kFp8E4m3), {7, 7}, 4).epilogue = {
      false, Activation::kSilu, false, true};

  // What surrounds the product.
  c.add("Fp32Output", four_bit_gemm(40, 896, kInt8), {2, 2}, 3).output = kFp32;
  GemmSpec& around = c.add("Around", four_bit_gemm(136, 896, kInt8), {5, 5}, 3);
  around.epilogue = {true, Activation::kSilu, true};
  around.output = kBf16;
  c.add("Gated", four_bit_gemm(144, 1184, kInt8, kPerChannel), {7, 7}, 4).epilogue = {
      true, Activation::kSilu, true, true};
  c.add("GatedSixteen", two_level_gemm(144, 1152, 32), {9, 9}, 4, 2).epilogue = {
      false, Activation::kGelu, false, true};

  for (const char* name :
       {"Sixteen", "SixteenGroups", "SplitZeros", "Levels64OfSixteen", "GatedSixteen"}) {
    c.add_through_registers(name, TokenValues::kInt8);
  }
  for (const char* name : {"Fp8Sixteen", "E5m2Sixteen", "Fp8Split"}) {
    c.add_through_registers(name, TokenValues::kFp8InLoop);
    c.add_through_registers(name, TokenValues::kFp8OnTheWay);
  }
  for (const char* name : {"Fp8Groups", "Fp8Zeros", "E5m2Groups64", "Fp8Gated"}) {
    c.add_through_registers(name, TokenValues::kFp8InLoop);
  }

  c.add_as_wgmma("FewChannels", {1, 1}, 4, 1);
  c.add_as_wgmma("FewChannels", {16, 16}, 2, 4);
  c.add_as_wgmma("LevelsInPairs", {1, 1}, 4, 2);
  c.add_as_wgmma("LevelsInPairs", {16, 16}, 4, 1);
  return std::move(c.cases);
}

}  // namespace

Plan StreamBytesCase::plan() const {
  const auto is_this = [this](const PlannedKernel& kernel) {
    const auto* config = config_if<device::StreamConfig>(kernel);
    return config && config->token_values == values && config->bulk_tokens == bulk_tokens;
  };
  return plan_of_one(Spec::from_gemm(spec), name, is_this, sm_count);
}

const std::vector<StreamBytesCase>& stream_bytes_cases() {
  static const std::vector<StreamBytesCase> cases = make_stream_bytes_cases();
  return cases;
}

}  // namespace heddle
