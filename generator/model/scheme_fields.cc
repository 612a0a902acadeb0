#include "generator/model/scheme_fields.h"

#include <string>
#include <utility>
#include <vector>

#include "generator/model/quantization_builder.h"

namespace heddle {
namespace {

constexpr std::int64_t kLargestGroup = 1 << 20;

Scheme float_scheme(WeightType type, int bits, int group_size, DType scale) {
  Scheme scheme;
  scheme.type = type;
  scheme.bits = bits;
  scheme.group_size = group_size;
  scheme.scale_dtype = scale;
  return scheme;
}

}  // namespace

std::optional<int> read_group_size(const ConfigReader& config, std::string_view key) {
  if (!config.has(key)) return std::nullopt;
  const std::int64_t group = config.required_integer(key);
  if (group == kPerChannel || (group >= 1 && group <= kLargestGroup)) {
    return static_cast<int>(group);
  }
  config.add("out_of_range", key, "is out of range", "-1, or 1 to 1048576");
  return std::nullopt;
}

int read_bits(const ConfigReader& config, std::string_view key) {
  return static_cast<int>(config.required_size(key, kMostBits));
}

WeightType read_fp8_format(const ConfigReader& config, std::string_view key) {
  const std::string format = lower(config.string_or(key, "e4m3"));
  for (const char* word : {"e4m3", "e4m3fn", "float8_e4m3", "float8_e4m3fn", "fp8_e4m3", "f8_e4m3",
                           "torch.float8_e4m3fn"}) {
    if (format == word) return WeightType::kE4m3;
  }
  for (const char* word : {"e5m2", "float8_e5m2", "fp8_e5m2", "f8_e5m2", "torch.float8_e5m2"}) {
    if (format == word) return WeightType::kE5m2;
  }
  refuse_quantization(
      config, key, "this form of FP8 is not read", quoted_excerpt(format),
      "e4m3 (e4m3fn) or e5m2; other exponent biases need a decode plan of their own");
}

void read_block(const ConfigReader& config, std::string_view key, Scheme& scheme) {
  const std::vector<std::int64_t> sides = config.integers(key);
  if (sides.empty()) return;
  const auto good = [](std::int64_t side) { return side >= 1 && side <= kLargestGroup; };
  if (sides.size() != 2 || !good(sides[0]) || !good(sides[1])) {
    config.add("out_of_range", key, "is no block of rows and columns",
               "two integers from 1 to 1048576");
    return;
  }
  scheme.block_rows = static_cast<int>(sides[0]);
  scheme.group_size = static_cast<int>(sides[1]);
}

Scheme fp8_scheme(int group_size) {
  return float_scheme(WeightType::kE4m3, 8, group_size, DType::kFp32);
}

ActivationScheme token_activations(DType dtype) { return {.dtype = dtype}; }

ActivationScheme static_activations(DType dtype) {
  return {.dtype = dtype, .granularity = RowGranularity::kTensor, .is_static = true};
}

ActivationScheme group_activations(DType dtype, RowScaleDtype scale_dtype) {
  return {.dtype = dtype, .granularity = RowGranularity::kGroup, .scale_dtype = scale_dtype};
}

ActivationScheme unserved_activations(std::string what) { return {.unserved = std::move(what)}; }

Scheme mxfp8_scheme() { return float_scheme(WeightType::kE4m3, 8, 32, DType::kE8m0); }

Scheme mxfp4_scheme() { return float_scheme(WeightType::kE2m1, 4, 32, DType::kE8m0); }

Scheme nvfp4_scheme() {
  Scheme scheme = float_scheme(WeightType::kE2m1, 4, 16, DType::kE4m3);
  scheme.tensor_scale = true;
  return scheme;
}

}  // namespace heddle
