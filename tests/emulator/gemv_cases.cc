#include <tuple>
#include <utility>

#include "generator/families/gemm_family.h"
#include "tests/emulator/gemm_cases.h"
#include "tests/emulator/one_kernel.h"
#include "tests/emulator/scaled_gemm.h"
#include "tests/plain_weight.h"

namespace heddle {
namespace {

GemmSpec gemv_gemm(std::int64_t n, std::int64_t k, DType dtype, int group, ZeroPoint zero) {
  return scaled_gemm({n, k, 1, 1}, dtype, group, zero);
}

std::vector<GemvCase> make_gemv_cases() {
  using enum DType;
  constexpr auto kInt = ZeroPoint::kInt;
  constexpr auto kFloat = ZeroPoint::kFloat;
  constexpr auto kNone = ZeroPoint::kNone;
  std::vector<GemvCase> cases;
  const auto add = [&](std::string name, std::string label, GemmSpec spec) -> GemmSpec& {
    cases.push_back({{std::move(name), std::move(spec)}, std::move(label)});
    return cases.back().spec;
  };
  // Ends of N inside of a row block, of K inside of a chunk; one chunk to a warp and several, as
  // many as are ahead, fewer, and more; warps with a chunk more than others.
  add("OneChunk", "warps 1 ahead 1 split 1", gemv_gemm(8, 32, kFp16, 32, kInt));
  add("OneChunkOfEachWarp", "warps 7 ahead 1 split 1", gemv_gemm(24, 896, kFp16, 128, kNone));
  add("AllAhead", "warps 4 ahead 2 split 1", gemv_gemm(40, 1024, kBf16, 64, kInt));
  add("MoreThanAhead", "warps 4 ahead 2 split 1", gemv_gemm(40, 2208, kFp16, 32, kInt));
  add("FourAhead", "warps 4 ahead 4 split 1", gemv_gemm(24, 2208, kBf16, 32, kNone));
  add("UnequalWarps", "warps 6 ahead 2 split 1", gemv_gemm(136, 1376, kFp16, 16, kNone));
  add("SixteenWarps", "warps 16 ahead 2 split 1", gemv_gemm(24, 4064, kFp16, 32, kInt));
  // A warp copies X, and its scales, in several turns.
  add("LongPartOfWarp", "warps 4 ahead 2 split 1", gemv_gemm(24, 5152, kFp16, 32, kNone));
  GemmSpec& metadata =
      add("LongMetadata", "warps 4 ahead 2 split 1", gemv_gemm(24, 5152, kFp16, 16, kFloat));
  metadata.weight.scale_dtype = kFp32;

  // K over several blocks, in equal and unequal parts; warps without a chunk.
  add("SplitInTwo", "warps 4 ahead 2 split 2", gemv_gemm(136, 2048, kFp16, 128, kInt));
  add("SplitInThree", "warps 3 ahead 2 split 3", gemv_gemm(40, 2208, kBf16, 32, kNone));
  add("SplitInFour", "warps 3 ahead 1 split 4", gemv_gemm(40, 1184, kFp16, 32, kInt));

  // Widths, types, scales and zero points.
  for (int bits = 1; bits <= 8; ++bits) {
    add("Bits" + std::to_string(bits), "warps 4 ahead 2 split 1",
        gemv_gemm(40, 1024, bits % 2 == 0 ? kFp16 : kBf16, bits % 3 == 0 ? 128 : 32,
                  bits % 2 == 0 ? kInt : kNone))
        .weight.bits = bits;
  }
  add("Channels", "warps 5 ahead 2 split 1", gemv_gemm(40, 1056, kFp16, kPerChannel, kInt));
  add("OneScale", "warps 5 ahead 2 split 1", gemv_gemm(40, 1056, kBf16, kPerTensor, kNone));
  add("FloatZeros", "warps 5 ahead 2 split 1", gemv_gemm(40, 1056, kFp16, 32, kFloat));
  add("FloatZerosOfLongGroups", "warps 4 ahead 2 split 2", gemv_gemm(40, 2048, kBf16, 128, kFloat));
  add("FloatZerosOfThreeBits", "warps 4 ahead 2 split 1", gemv_gemm(40, 1024, kFp16, 16, kFloat))
      .weight.bits = 3;
  add("FloatZerosOfChannels", "warps 4 ahead 2 split 2",
      gemv_gemm(40, 2048, kFp16, kPerChannel, kFloat));
  WeightSpec& fp8 =
      add("Fp8", "warps 4 ahead 2 split 1", gemv_gemm(40, 1024, kFp16, 128, kNone)).weight;
  fp8.type = WeightType::kE4m3;
  fp8.bits = 8;
  WeightSpec& nvfp4 =
      add("Nvfp4", "warps 4 ahead 2 split 1", gemv_gemm(40, 1024, kFp16, 16, kNone)).weight;
  nvfp4.type = WeightType::kE2m1;
  nvfp4.scale_dtype = kE4m3;
  nvfp4.tensor_scale = true;
  WeightSpec& mxfp4 =
      add("Mxfp4", "warps 4 ahead 2 split 1", gemv_gemm(40, 1024, kBf16, 32, kNone)).weight;
  mxfp4.type = WeightType::kE2m1;
  mxfp4.scale_dtype = kE8m0;
  add("Nf4", "warps 4 ahead 2 split 1", gemv_gemm(40, 1024, kFp16, 64, kNone)).weight.type =
      WeightType::kNf4;
  for (const int bits : {4, 8}) {
    WeightSpec& trtllm = add("TrtllmOf" + std::to_string(bits), "warps 4 ahead 2 split 1",
                             gemv_gemm(48, 1024, kFp16, 64, kNone))
                             .weight;
    trtllm.bits = bits;
    trtllm.interleave = Interleave::kTrtllm;
  }

  // Shards that begin inside of a group.
  for (const auto& [name, label, k, group, offset, zero] :
       {std::tuple{"CutAt96", "warps 5 ahead 2 split 1", 1056, 128, 96, kInt},
        {"CutAt16", "warps 5 ahead 2 split 1", 1056, 128, 16, kNone},
        {"CutOf64", "warps 4 ahead 2 split 2", 2016, 64, 32, kInt},
        {"CutOf32", "warps 4 ahead 2 split 1", 1024, 32, 16, kInt},
        {"CutOf256", "warps 4 ahead 2 split 1", 1024, 256, 128, kInt},
        {"CutOf256InAChunk", "warps 5 ahead 2 split 1", 1056, 256, 176, kInt},
        {"CutFloatZeros", "warps 5 ahead 2 split 1", 1056, 128, 96, kFloat},
        {"CutFloatZerosOf64", "warps 5 ahead 2 split 1", 1056, 64, 48, kFloat},
        {"CutFloatZerosOf32", "warps 4 ahead 2 split 1", 1024, 32, 16, kFloat}}) {
    add(name, label, gemv_gemm(40, k, kFp16, group, zero)).weight.group_offset = offset;
  }
  for (const int bits : {2, 3, 8}) {
    WeightSpec& cut = add("CutOfBits" + std::to_string(bits), "warps 5 ahead 2 split 1",
                          gemv_gemm(40, 1056, kBf16, 128, kInt))
                          .weight;
    cut.bits = bits;
    cut.group_offset = 16 * (bits - 1);
    cut.scale_dtype = kFp32;
  }
  WeightSpec& cut_mxfp4 =
      add("CutMxfp4", "warps 4 ahead 2 split 1", gemv_gemm(40, 1024, kBf16, 32, kNone)).weight;
  cut_mxfp4.type = WeightType::kE2m1;
  cut_mxfp4.scale_dtype = kE8m0;
  cut_mxfp4.group_offset = 16;

  add("Plain", "warps 5 ahead 2 split 1", gemv_gemm(40, 1056, kFp16, 32, kNone)).weight =
      plain_weight(kFp16);
  GemmSpec& plain_split =
      add("PlainSplit", "warps 4 ahead 2 split 2", gemv_gemm(144, 2048, kBf16, 32, kNone));
  plain_split.weight = plain_weight(kBf16);
  plain_split.epilogue = {true, Activation::kSilu, true, true};

  // What surrounds the product.
  for (const int split : {1, 2}) {
    GemmSpec& around = add("EverythingAroundSplitBy" + std::to_string(split),
                           "warps 4 ahead 2 split " + std::to_string(split),
                           gemv_gemm(136, 2048, kBf16, 32, kInt));
    around.epilogue = {true, Activation::kSilu, true};
    around.pre_scale = true;
    GemmSpec& gated = add("GatedSplitBy" + std::to_string(split),
                          "warps 4 ahead 2 split " + std::to_string(split),
                          gemv_gemm(144, 2048, kFp16, 32, kInt));
    gated.epilogue = {true, Activation::kSilu, true, true};
    GemmSpec& fp32 = add("Fp32OutputSplitBy" + std::to_string(split),
                         "warps 4 ahead 2 split " + std::to_string(split),
                         gemv_gemm(136, 2048, kBf16, 32, kInt));
    fp32.output = kFp32;
    fp32.epilogue.residual = true;
  }
  add("ClampedSwiglu", "warps 5 ahead 2 split 1", gemv_gemm(48, 1056, kBf16, kPerChannel, kInt))
      .epilogue = {false, Activation::kClampedSwiglu, false, true, 7};
  return cases;
}

}  // namespace

Plan GemvCase::plan() const {
  const auto wanted = [this](const PlannedKernel& kernel) {
    return kernel.family->name() == "gemv" && gemm_family_of(kernel).label(kernel) == label;
  };
  return plan_of_one(Spec::from_gemm(spec), name, wanted, 132);
}

const std::vector<GemvCase>& gemv_cases() {
  static const std::vector<GemvCase> cases = make_gemv_cases();
  return cases;
}

}  // namespace heddle
