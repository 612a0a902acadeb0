#include "generator/spec/words.h"

#include <cstddef>

#include "generator/spec/fields.h"
#include "heddle/spec.h"

namespace heddle {
namespace {

template <std::size_t kCount, class Enum>
constexpr std::string_view word(const std::array<std::string_view, kCount>& words,
                                Enum value) noexcept {
  const auto index = static_cast<std::size_t>(value);  // a negative value becomes a large one
  return index < kCount ? words[index] : std::string_view("invalid");
}

// The tables follow the enumerators; these are the last ones.
static_assert(word(kDTypeWords, DType::kFp8E5m2) == "fp8_e5m2");
static_assert(word(kScaleDTypeWords, DType::kE4m3) == "e4m3");
static_assert(word(kWeightScaleDTypeWords, DType::kInt8) == "int8");
static_assert(kChannelScaleWords[1 + static_cast<std::size_t>(DType::kFp32)] == "fp32");
static_assert(word(kActivationDTypeWords, DType::kBf16) == "bf16");
static_assert(word(kWeightTypeWords, WeightType::kBf16) == "bf16");
static_assert(word(kZeroPointWords, ZeroPoint::kFloat) == "float");
static_assert(word(kInterleaveWords, Interleave::kByteFragment) == "byte_fragment");
static_assert(word(kCheckpointFormatWords, CheckpointFormat::kGptqV2) == "gptq_v2");
static_assert(word(kOutputDTypeWords, DType::kFp32) == "fp32");
static_assert(word(kActivationWords, Activation::kSitu) == "situ");
static_assert(word(kPathWords, Path::kHopper) == "hopper");
static_assert(word(kAccumulationWords, Accumulation::kFast) == "fast");
static_assert(word(kKvDtypeWords, KvDtype::kNvfp4) == "nvfp4");
static_assert(word(kKvGranularityWords, KvGranularity::kChannel) == "channel");
static_assert(word(kKvLayoutWords, KvLayout::kPaged) == "paged");
static_assert(word(kKvOrderWords, KvOrder::kNhd) == "nhd");
static_assert(word(kRopePairingWords, RopePairing::kGptj) == "gptj");
static_assert(word(kRopeSourceWords, RopeSource::kTable) == "table");
static_assert(word(kRopeScalingWords, RopeScalingType::kYarn) == "yarn");
static_assert(word(kAlibiWords, Alibi::kGiven) == "given");
static_assert(word(kNormTypeWords, NormType::kLayer) == "layer");
static_assert(word(kGateOrderWords, GateOrder::kInterleaved) == "interleaved");
static_assert(word(kRowDtypeWords, RowDtype::kFp8E5m2) == "fp8_e5m2");
static_assert(word(kRowDtypeWords, row_dtype(DType::kBf16)) == "bf16");
static_assert(word(kRowGranularityWords, RowGranularity::kGroup) == "group");
static_assert(word(kRowScaleDtypeWords, RowScaleDtype::kE8m0) == "e8m0");
static_assert(word(kScaleLayoutWords, ScaleLayout::kColumnMajor) == "column_major");
static_assert(word(kRoutingWeightWords, RoutingWeight::kInput) == "input");
static_assert(word(kRouterScoresWords, RouterScores::kSqrtSoftplus) == "sqrt_softplus");
static_assert(word(kGroupScoreWords, GroupScore::kTopTwo) == "top_two");
static_assert(word(kLogitsDTypeWords, DType::kFp32) == "fp32");

}  // namespace

int bytes_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kFp32:
      return 4;
    case DType::kFp16:
    case DType::kBf16:
      return 2;
    case DType::kE8m0:
    case DType::kE4m3:
    case DType::kInt8:
    case DType::kFp8E4m3:
    case DType::kFp8E5m2:
      break;
  }
  return 1;
}

std::string_view to_string(Op op) noexcept {
  const std::span<const std::string_view> words = operation_words();
  const auto index = static_cast<std::size_t>(op);
  return index < words.size() ? words[index] : std::string_view("invalid");
}
std::string_view to_string(DType dtype) noexcept { return word(kDTypeWords, dtype); }
std::string_view to_string(WeightType type) noexcept { return word(kWeightTypeWords, type); }
std::string_view to_string(ZeroPoint zero_point) noexcept {
  return word(kZeroPointWords, zero_point);
}
std::string_view to_string(Interleave interleave) noexcept {
  return word(kInterleaveWords, interleave);
}
std::string_view to_string(CheckpointFormat format) noexcept {
  return word(kCheckpointFormatWords, format);
}
std::string_view to_string(Activation activation) noexcept {
  return word(kActivationWords, activation);
}
std::string_view to_string(Path path) noexcept { return word(kPathWords, path); }
std::string_view to_string(Accumulation accumulation) noexcept {
  return word(kAccumulationWords, accumulation);
}
std::string_view to_string(KvDtype dtype) noexcept { return word(kKvDtypeWords, dtype); }
std::string_view to_string(KvGranularity granularity) noexcept {
  return word(kKvGranularityWords, granularity);
}
std::string_view to_string(KvLayout layout) noexcept { return word(kKvLayoutWords, layout); }
std::string_view to_string(KvOrder order) noexcept { return word(kKvOrderWords, order); }
std::string_view to_string(RopePairing pairing) noexcept {
  return word(kRopePairingWords, pairing);
}
std::string_view to_string(RopeSource source) noexcept { return word(kRopeSourceWords, source); }
std::string_view to_string(RopeScalingType type) noexcept { return word(kRopeScalingWords, type); }
std::string_view to_string(Alibi alibi) noexcept { return word(kAlibiWords, alibi); }
std::string_view to_string(NormType type) noexcept { return word(kNormTypeWords, type); }
std::string_view to_string(GateOrder order) noexcept { return word(kGateOrderWords, order); }
std::string_view to_string(RowDtype dtype) noexcept { return word(kRowDtypeWords, dtype); }
std::string_view to_string(RowGranularity granularity) noexcept {
  return word(kRowGranularityWords, granularity);
}
std::string_view to_string(RowScaleDtype dtype) noexcept {
  return word(kRowScaleDtypeWords, dtype);
}
std::string_view to_string(ScaleLayout layout) noexcept { return word(kScaleLayoutWords, layout); }
std::string_view to_string(RoutingWeight weight) noexcept {
  return word(kRoutingWeightWords, weight);
}
std::string_view to_string(RouterScores scores) noexcept {
  return word(kRouterScoresWords, scores);
}
std::string_view to_string(GroupScore score) noexcept { return word(kGroupScoreWords, score); }

}  // namespace heddle
