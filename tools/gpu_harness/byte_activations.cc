#include "tools/gpu_harness/byte_activations.h"

#include <cstring>

#include "heddle/weights.h"
#include "tools/gpu_harness/random_weights.h"

namespace heddle {
namespace {

// What the codes are, had W[M, K] been quantised so.
WeightSpec as_weight(const GemmSpec& spec) {
  WeightSpec weight;
  weight.bits = 8;
  weight.type = spec.activation == DType::kInt8      ? WeightType::kInt
                : spec.activation == DType::kFp8E5m2 ? WeightType::kE5m2
                                                     : WeightType::kE4m3;
  weight.group_size =
      spec.activation_scale.granularity == RowGranularity::kTensor ? kPerTensor : kPerChannel;
  weight.scale_dtype = DType::kFp32;
  if (!spec.activation_scale.symmetric) weight.zero_point = ZeroPoint::kInt;
  return weight;
}

}  // namespace

DType code_dtype(const GemmSpec& spec) noexcept {
  return spec.has_byte_activations() ? DType::kFp16 : spec.activation;
}

ByteActivations random_byte_activations(const GemmSpec& spec, std::int64_t m, std::uint32_t seed) {
  const QuantizedWeights random = random_weights({m, spec.shape.k}, as_weight(spec), seed);
  ByteActivations x;
  x.codes = random.codes;
  x.scales.resize(random.scales.size() / sizeof(float));
  std::memcpy(x.scales.data(), random.scales.data(), random.scales.size());
  for (const std::uint8_t zero : random.zeros) {
    x.zero_points.push_back(static_cast<std::int8_t>(zero));
  }
  return x;
}

std::vector<float> unscaled_values(const GemmSpec& spec, const ByteActivations& x) {
  const auto k = static_cast<std::size_t>(spec.shape.k);
  const std::vector<float> of_codes = code_values(as_weight(spec), DType::kFp16);
  std::vector<float> values;
  values.reserve(x.codes.size());
  for (std::size_t i = 0; i < x.codes.size(); ++i) {
    const std::int32_t zero = x.zero_points.empty() ? 0 : x.zero_points[i / k];
    values.push_back(of_codes[x.codes[i]] - static_cast<float>(zero));
  }
  return values;
}

}  // namespace heddle
