#include "generator/spec/words.h"

#include <cstddef>

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
static_assert(word(kOpWords, Op::kQuantizeWeight) == "quantize_weight");
static_assert(word(kDTypeWords, DType::kE4m3) == "e4m3");
static_assert(word(kActivationDTypeWords, DType::kBf16) == "bf16");
static_assert(word(kWeightTypeWords, WeightType::kNf4) == "nf4");
static_assert(word(kZeroPointWords, ZeroPoint::kFloat) == "float");
static_assert(word(kInterleaveWords, Interleave::kPermutation) == "permutation");
static_assert(word(kCheckpointFormatWords, CheckpointFormat::kGptqV2) == "gptq_v2");
static_assert(word(kActivationWords, Activation::kSilu) == "silu");
static_assert(word(kPathWords, Path::kHopper) == "hopper");

}  // namespace

std::string_view to_string(Op op) noexcept { return word(kOpWords, op); }
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

}  // namespace heddle
