// Random layers, and small packers that write them as AWQ, GPTQ and compressed-tensors do.
#ifndef HEDDLE_TOOLS_SAMPLE_MODEL_QUANTISED_FORMATS_H_
#define HEDDLE_TOOLS_SAMPLE_MODEL_QUANTISED_FORMATS_H_

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "generator/decode/float16.h"
#include "tools/sample_model/tensor_file.h"

namespace heddle {

using Words = std::vector<std::uint32_t>;

// Value `i` of `values` to bits [i * bits, ...) of a stream of words.
inline Words pack_stream(const std::vector<std::uint32_t>& values, int bits) {
  Words words((values.size() * static_cast<std::size_t>(bits) + 31) / 32);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (int b = 0; b < bits; ++b) {
      const std::size_t bit = i * static_cast<std::size_t>(bits) + static_cast<std::size_t>(b);
      words[bit / 32] |= (values[i] >> b & 1U) << (bit % 32);
    }
  }
  return words;
}

// A linear layer's codes, of which W is (code - zero) * scale.
struct SampleLayer {
  std::size_t n, k, group;
  int bits;
  std::vector<std::uint32_t> codes;   // [N, K]
  std::vector<std::uint32_t> zeros;   // [N, G]
  std::vector<std::uint16_t> scales;  // [N, G], FP16
  std::vector<std::int32_t> index;    // [K]

  std::size_t groups() const { return (k + group - 1) / group; }
  std::uint16_t value(std::size_t row, std::size_t column) const {
    const std::size_t meta = row * groups() + static_cast<std::size_t>(index[column]);
    const double integer = static_cast<double>(codes[row * k + column]) - zeros[meta];
    return float16_from_double(kBinary16, integer * float16_to_double(kBinary16, scales[meta]));
  }
};

inline SampleLayer random_layer(std::size_t n, std::size_t k, std::size_t group, int bits,
                                bool act_order, unsigned seed = 3) {
  std::mt19937 random(seed);
  SampleLayer layer{n, k, group, bits, {}, {}, {}, {}};
  layer.codes.resize(n * k);
  layer.zeros.resize(n * layer.groups());
  layer.scales.resize(n * layer.groups());
  for (auto& code : layer.codes) code = random() & ((1U << bits) - 1);
  for (auto& zero : layer.zeros) zero = random() & ((1U << bits) - 1);
  for (auto& scale : layer.scales) scale = static_cast<std::uint16_t>(0x1000 + random() % 0x1800);
  for (std::size_t i = 0; i < k; ++i) layer.index.push_back(static_cast<std::int32_t>(i / group));
  if (act_order) std::shuffle(layer.index.begin(), layer.index.end(), random);
  return layer;
}

template <class T>
std::vector<T> transposed(const std::vector<T>& from, std::size_t rows, std::size_t columns) {
  std::vector<T> to(from.size());
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) to[c * rows + r] = from[r * columns + c];
  }
  return to;
}

// Each row of [rows, columns] as a stream of its own.
inline Words pack_rows(const std::vector<std::uint32_t>& values, std::size_t columns, int bits) {
  Words words;
  for (std::size_t at = 0; at < values.size(); at += columns) {
    const Words row = pack_stream({values.begin() + static_cast<std::ptrdiff_t>(at),
                                   values.begin() + static_cast<std::ptrdiff_t>(at + columns)},
                                  bits);
    words.insert(words.end(), row.begin(), row.end());
  }
  return words;
}

inline SampleTensor tensor(std::string name, TensorType type, std::size_t rows, std::size_t columns,
                           std::vector<std::uint8_t> bytes) {
  return {std::move(name),
          type,
          {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)},
          std::move(bytes)};
}

// The first version (`minus_one`) subtracts a one in each field from each whole word of zero
// points; of 3 bits, whose fields lie across words, one from each field.
inline Words gptq_zeros(const SampleLayer& layer, bool minus_one) {
  const unsigned mask = (1U << layer.bits) - 1;
  std::vector<std::uint32_t> zeros = transposed(layer.zeros, layer.n, layer.groups());
  const bool whole = 32 % layer.bits == 0;
  for (auto& zero : zeros) zero = (zero - (minus_one && !whole ? 1 : 0)) & mask;
  Words words = pack_rows(zeros, layer.n, layer.bits);
  for (auto& word : words) word -= minus_one && whole ? 0xFFFFFFFFU / mask : 0;
  return words;
}

inline std::vector<SampleTensor> gptq(const SampleLayer& layer, const std::string& name,
                                      bool minus_one) {
  const auto bits = static_cast<std::size_t>(layer.bits);
  const std::size_t k_words = layer.k * bits / 32;
  return {tensor(name + ".qweight", TensorType::kI32, k_words, layer.n,
                 bytes_of_values(
                     transposed(pack_rows(layer.codes, layer.k, layer.bits), layer.n, k_words))),
          tensor(name + ".qzeros", TensorType::kI32, layer.groups(), layer.n * bits / 32,
                 bytes_of_values(gptq_zeros(layer, minus_one))),
          tensor(name + ".scales", TensorType::kF16, layer.groups(), layer.n,
                 bytes_of_values(transposed(layer.scales, layer.n, layer.groups()))),
          {name + ".g_idx",
           TensorType::kI32,
           {static_cast<std::int64_t>(layer.k)},
           bytes_of_values(layer.index)}};
}

// [N, M] to [M, N / 8] in AWQ's order.
inline Words awq_words(const std::vector<std::uint32_t>& values, std::size_t n, std::size_t m) {
  Words words(m * n / 8);
  for (std::size_t row = 0; row < m; ++row) {
    for (std::size_t w = 0; w < n / 8; ++w) {
      const std::size_t order[] = {0, 2, 4, 6, 1, 3, 5, 7};
      for (std::size_t i = 0; i < 8; ++i) {
        words[row * (n / 8) + w] |= values[(8 * w + order[i]) * m + row] << (4 * i);
      }
    }
  }
  return words;
}

inline std::vector<SampleTensor> awq(const SampleLayer& layer, const std::string& name) {
  return {tensor(name + ".qweight", TensorType::kI32, layer.k, layer.n / 8,
                 bytes_of_values(awq_words(layer.codes, layer.n, layer.k))),
          tensor(name + ".qzeros", TensorType::kI32, layer.groups(), layer.n / 8,
                 bytes_of_values(awq_words(layer.zeros, layer.n, layer.groups()))),
          tensor(name + ".scales", TensorType::kF16, layer.groups(), layer.n,
                 bytes_of_values(transposed(layer.scales, layer.n, layer.groups())))};
}

inline std::vector<SampleTensor> compressed(const SampleLayer& layer, const std::string& name) {
  const auto bits = static_cast<std::size_t>(layer.bits);
  const std::vector<std::uint32_t> by_group = transposed(layer.zeros, layer.n, layer.groups());
  const std::size_t zero_words = (layer.n * bits + 31) / 32;
  return {tensor(name + ".weight_packed", TensorType::kI32, layer.n, (layer.k * bits + 31) / 32,
                 bytes_of_values(pack_rows(layer.codes, layer.k, layer.bits))),
          tensor(name + ".weight_scale", TensorType::kF16, layer.n, layer.groups(),
                 bytes_of_values(layer.scales)),
          tensor(name + ".weight_zero_point", TensorType::kI32, zero_words, layer.groups(),
                 bytes_of_values(transposed(pack_rows(by_group, layer.n, layer.bits),
                                            layer.groups(), zero_words))),
          {name + ".weight_shape",
           TensorType::kI64,
           {2},
           bytes_of_values(std::vector<std::int64_t>{static_cast<std::int64_t>(layer.n),
                                                     static_cast<std::int64_t>(layer.k)})},
          {name + ".weight_g_idx",
           TensorType::kI32,
           {static_cast<std::int64_t>(layer.k)},
           bytes_of_values(layer.index)}};
}

}  // namespace heddle

#endif  // HEDDLE_TOOLS_SAMPLE_MODEL_QUANTISED_FORMATS_H_
