#include "tools/gpu_harness/operations/gemm/byte_activations.h"

#include <cstring>
#include <random>
#include <utility>

#include "heddle/weights.h"
#include "runtime/launch/group_scales.h"
#include "tools/gpu_harness/numbers/random_weights.h"

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

bool of_groups(const GemmSpec& spec) {
  return spec.activation_scale.granularity == RowGranularity::kGroup;
}

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits(values.size());
  std::memcpy(bits.data(), values.data(), bits.size() * sizeof bits[0]);
  return bits;
}

// Those of rows behind m, which no kernel may use, are NaN.
void put_group_scales(const GemmSpec& spec, std::int64_t m, std::uint32_t seed,
                      ByteActivations& x) {
  constexpr std::int64_t kGroupsOfWord = 4;
  constexpr std::uint32_t kNan = 0x7fc00000, kNanCode = 255;
  const bool e8m0 = spec.activation_scale.scale_dtype == RowScaleDtype::kE8m0;
  const GroupScales scales = group_scales(spec);
  x.scale_stride = scales.stride_of(m, 0);
  std::mt19937 random(seed);
  std::vector<std::uint32_t> bits;
  if (e8m0) x.scale_bits.resize(static_cast<std::size_t>(scales.lines() * x.scale_stride));
  for (std::int64_t i = 0; i < scales.groups * x.scale_stride; ++i) {
    const bool is_row = i % x.scale_stride < m;
    // From a half to four, or from one to two with six bits of a fraction.
    const std::uint32_t code = is_row ? 126 + random() % 4 : kNanCode;
    const std::uint32_t fp32 = is_row ? 127U << 23 | random() % 64 << 17 : kNan;
    bits.push_back(e8m0 ? code << 23 : fp32);
    if (!e8m0) continue;
    const std::int64_t group = i / x.scale_stride;
    const std::int64_t at = group / kGroupsOfWord * x.scale_stride + i % x.scale_stride;
    x.scale_bits[static_cast<std::size_t>(at)] |= code << (8 * (group % kGroupsOfWord));
  }
  x.scales.resize(bits.size());
  std::memcpy(x.scales.data(), bits.data(), bits.size() * sizeof bits[0]);
  if (!e8m0) x.scale_bits = std::move(bits);
}

}  // namespace

DType code_dtype(const GemmSpec& spec) noexcept {
  return spec.has_byte_activations() ? DType::kFp16 : spec.activation;
}

ByteActivations random_byte_activations(const GemmSpec& spec, std::int64_t m, std::uint32_t seed) {
  const QuantizedWeights random = random_weights({m, spec.shape.k}, as_weight(spec), seed);
  ByteActivations x;
  x.codes = random.codes;
  if (of_groups(spec)) {
    put_group_scales(spec, m, seed, x);
    return x;
  }
  x.scales.resize(random.scales.size() / sizeof(float));
  std::memcpy(x.scales.data(), random.scales.data(), random.scales.size());
  x.scale_bits = bits_of(x.scales);
  for (const std::uint8_t zero : random.zeros) {
    x.zero_points.push_back(static_cast<std::int8_t>(zero));
  }
  return x;
}

std::vector<float> values_before_row_scales(const GemmSpec& spec, const ByteActivations& x) {
  const auto k = static_cast<std::size_t>(spec.shape.k);
  const auto stride = static_cast<std::size_t>(x.scale_stride);
  const std::vector<float> of_codes = code_values(as_weight(spec), DType::kFp16);
  std::vector<float> values;
  values.reserve(x.codes.size());
  for (std::size_t i = 0; i < x.codes.size(); ++i) {
    const std::int32_t zero = x.zero_points.empty() ? 0 : x.zero_points[i / k];
    const float value = of_codes[x.codes[i]] - static_cast<float>(zero);
    values.push_back(of_groups(spec) ? value * x.scales[i % k / kRowGroup * stride + i / k]
                                     : value);
  }
  return values;
}

std::vector<float> row_scales(const GemmSpec& spec, const ByteActivations& x, std::int64_t m) {
  const auto count = static_cast<std::size_t>(m);
  if (of_groups(spec)) return std::vector<float>(count, 1.0F);
  std::vector<float> scales = x.scales;
  scales.resize(count, x.scales.front());
  return scales;
}

}  // namespace heddle
