// What codes of eight bits are called in templates.
#ifndef HEDDLE_GENERATOR_FAMILIES_BYTE_CODES_H_
#define HEDDLE_GENERATOR_FAMILIES_BYTE_CODES_H_

#include <string_view>

#include "generator/families/scale_mode.h"
#include "heddle/spec.h"

namespace heddle {

// The class of the codes of X. Precondition: it has eight bits.
inline std::string_view token_codes(DType activation) {
  return activation == DType::kInt8      ? "Int8Codes"
         : activation == DType::kFp8E5m2 ? "E5m2Codes"
                                         : "E4m3Codes";
}

// The class of the codes of weights that such X is multiplied by.
inline std::string_view weight_codes(WeightType type) {
  return type == WeightType::kInt    ? "Int8Codes"
         : type == WeightType::kE5m2 ? "E5m2Codes"
                                     : "E4m3Codes";
}

// Whether sums stay integers over all of K, which are the same in every order. Sums of blocks are
// scaled before they are added, so are those of groups by the weights' scales.
inline bool adds_integers(const GemmSpec& spec) {
  if (spec.activation != DType::kInt8) return false;
  const ScaleMode mode = scale_mode_of_bytes(spec);
  return mode == ScaleMode::kProduct || mode == ScaleMode::kTwoLevels;
}
// Family::arithmetic() of such a GEMM, whichever family's kernel it is: each scales the sums by the
// token's scale, then by the row's (templates/steps/byte_sums.cuh).
inline constexpr std::string_view kIntegerArithmetic =
    "integer sums of all of K, the same in every order";

// The class of the sums of their products.
inline std::string_view sums_of_codes(const GemmSpec& spec) {
  if (scale_mode_of_bytes(spec) == ScaleMode::kBlock) return "FloatSums";
  return adds_integers(spec) ? "ByteSums<u32>" : "ByteSums<float>";
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_BYTE_CODES_H_
