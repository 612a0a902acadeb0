// The spelling of every enumeration in JSON, in the order of its enumerators.
#ifndef HEDDLE_GENERATOR_SPEC_WORDS_H_
#define HEDDLE_GENERATOR_SPEC_WORDS_H_

#include <array>
#include <string_view>

namespace heddle {

inline constexpr std::array<std::string_view, 1> kOpWords = {"gemm"};
inline constexpr std::array<std::string_view, 3> kDTypeWords = {"fp16", "bf16", "fp32"};
inline constexpr std::array<std::string_view, 2> kActivationDTypeWords = {"fp16", "bf16"};
inline constexpr std::array<std::string_view, 2> kWeightTypeWords = {"uint", "int"};
inline constexpr std::array<std::string_view, 3> kZeroPointWords = {"none", "int", "float"};
inline constexpr std::array<std::string_view, 1> kInterleaveWords = {"fragment"};
inline constexpr std::array<std::string_view, 5> kActivationWords = {"none", "relu", "gelu",
                                                                     "gelu_tanh", "silu"};
inline constexpr std::array<std::string_view, 3> kPathWords = {"auto", "turing", "ampere"};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_SPEC_WORDS_H_
