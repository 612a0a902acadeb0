// The spelling of every enumeration in JSON, in the order of its enumerators.
#ifndef HEDDLE_GENERATOR_SPEC_WORDS_H_
#define HEDDLE_GENERATOR_SPEC_WORDS_H_

#include <array>
#include <string_view>

namespace heddle {

inline constexpr std::array<std::string_view, 8> kDTypeWords = {
    "fp16", "bf16", "fp32", "e8m0", "e4m3", "int8", "fp8_e4m3", "fp8_e5m2"};
inline constexpr std::array<std::string_view, 5> kScaleDTypeWords = {"fp16", "bf16", "fp32", "e8m0",
                                                                     "e4m3"};
inline constexpr std::array<std::string_view, 6> kWeightScaleDTypeWords = {"fp16", "bf16", "fp32",
                                                                           "e8m0", "e4m3", "int8"};
// The words of an optional type: its number and one more.
inline constexpr std::array<std::string_view, 4> kChannelScaleWords = {"none", "fp16", "bf16",
                                                                       "fp32"};
inline constexpr std::array<std::string_view, 2> kActivationDTypeWords = {"fp16", "bf16"};
inline constexpr std::array<std::string_view, 10> kWeightTypeWords = {
    "uint", "int", "e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "nf4", "fp16", "bf16"};
inline constexpr std::array<std::string_view, 3> kZeroPointWords = {"none", "int", "float"};
inline constexpr std::array<std::string_view, 8> kInterleaveWords = {
    "fragment", "linear",      "awq",          "even_odd",
    "trtllm",   "permutation", "swizzle_128b", "byte_fragment"};
inline constexpr std::array<std::string_view, 4> kCheckpointFormatWords = {"heddle", "awq", "gptq",
                                                                           "gptq_v2"};
inline constexpr std::array<std::string_view, 6> kOutputDTypeWords = {
    "fp16", "bf16", "fp32", "int8", "fp8_e4m3", "fp8_e5m2"};
inline constexpr std::array<std::string_view, 8> kActivationWords = {
    "none", "relu", "gelu", "gelu_tanh", "silu", "relu2", "clamped_swiglu", "situ"};
inline constexpr std::array<std::string_view, 4> kPathWords = {"auto", "turing", "ampere",
                                                               "hopper"};
inline constexpr std::array<std::string_view, 2> kAccumulationWords = {"promoted", "fast"};
inline constexpr std::array<std::string_view, 8> kKvDtypeWords = {
    "fp16", "bf16", "int8", "int4", "int2", "fp8_e4m3", "fp8_e5m2", "nvfp4"};
inline constexpr std::array<std::string_view, 7> kKvGranularityWords = {
    "auto", "none", "tensor", "token", "head", "group", "channel"};
inline constexpr std::array<std::string_view, 2> kKvLayoutWords = {"contiguous", "paged"};
inline constexpr std::array<std::string_view, 2> kKvOrderWords = {"hnd", "nhd"};
inline constexpr std::array<std::string_view, 3> kRopePairingWords = {"none", "neox", "gptj"};
inline constexpr std::array<std::string_view, 2> kRopeSourceWords = {"base", "table"};
inline constexpr std::array<std::string_view, 4> kRopeScalingWords = {"none", "linear", "llama3",
                                                                      "yarn"};
inline constexpr std::array<std::string_view, 3> kAlibiWords = {"none", "standard", "given"};
inline constexpr std::array<std::string_view, 3> kNormTypeWords = {"none", "rms", "layer"};
inline constexpr std::array<std::string_view, 3> kGateOrderWords = {"none", "halves",
                                                                    "interleaved"};
inline constexpr std::array<std::string_view, 5> kRowDtypeWords = {"fp16", "bf16", "int8",
                                                                   "fp8_e4m3", "fp8_e5m2"};
inline constexpr std::array<std::string_view, 4> kRowGranularityWords = {"none", "tensor", "token",
                                                                         "group"};
inline constexpr std::array<std::string_view, 2> kRowScaleDtypeWords = {"fp32", "e8m0"};
inline constexpr std::array<std::string_view, 2> kScaleLayoutWords = {"row_major", "column_major"};
inline constexpr std::array<std::string_view, 2> kRoutingWeightWords = {"output", "input"};
inline constexpr std::array<std::string_view, 4> kRouterScoresWords = {"none", "softmax", "sigmoid",
                                                                       "sqrt_softplus"};
inline constexpr std::array<std::string_view, 2> kGroupScoreWords = {"max", "top_two"};
inline constexpr std::array<std::string_view, 3> kLogitsDTypeWords = {"fp16", "bf16", "fp32"};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_SPEC_WORDS_H_
