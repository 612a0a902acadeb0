#include "tools/gpu_harness/operations/weight_ops/source_tensors.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "generator/layout/groups.h"
#include "generator/spec/byte_meaning.h"
#include "tools/gpu_harness/numbers/stored_scale.h"

namespace heddle {
namespace {

constexpr int kAwqRowOfNibble[8] = {0, 2, 4, 6, 1, 3, 5, 7};

void or_bits(std::vector<std::uint8_t>& bytes, std::size_t bit, unsigned value, int count) {
  for (int i = 0; i < count; ++i, ++bit) {
    if ((value >> i & 1) != 0) bytes[bit / 8] |= static_cast<std::uint8_t>(1U << (bit % 8));
  }
}

// [N, G] to [G, N].
std::vector<std::uint8_t> by_group(const WeightOpSpec& spec,
                                   const std::vector<std::uint8_t>& values, int bytes) {
  std::vector<std::uint8_t> result;
  for (std::int64_t g = 0; g < groups_of(spec); ++g) {
    for (std::int64_t n = 0; n < spec.shape.n; ++n) {
      append_bits(result, read_bits(values, meta_index(spec, n, g), bytes), bytes);
    }
  }
  return result;
}

// Value [row, column] of an AWQ tensor: which bit of row `column` of its words it starts at.
std::size_t awq_bit(std::int64_t n, std::int64_t row, std::int64_t column) {
  const auto* const nibble =
      std::find(std::begin(kAwqRowOfNibble), std::end(kAwqRowOfNibble), row % 8);
  const auto in_word = static_cast<std::int64_t>(nibble - std::begin(kAwqRowOfNibble));
  return static_cast<std::size_t>(32 * (column * (n / 8) + row / 8) + 4 * in_word);
}

// A stream of bits down K in each column of words.
std::size_t gptq_bit(const WeightOpSpec& spec, std::int64_t row, std::int64_t column, int j) {
  const std::int64_t bit = column * spec.weight.bits + j;
  return static_cast<std::size_t>((bit / 32 * spec.shape.n + row) * 32 + bit % 32);
}

// A 1 in each field; 0 where fields lie across words.
std::uint32_t word_of_ones(int bits) {
  std::uint32_t word = 0;
  for (int bit = 0; 32 % bits == 0 && bit < 32; bit += bits) word |= 1U << bit;
  return word;
}

SourceTensors checkpoint_tensors(const WeightOpSpec& spec, const QuantizedWeights& weights) {
  const auto [n, k] = spec.shape;
  const int bits = spec.weight.bits;
  const bool awq = spec.format == CheckpointFormat::kAwq;
  SourceTensors source;
  source.weights.resize(static_cast<std::size_t>(n * k * bits / 8));
  for (std::int64_t row = 0; row < n; ++row) {
    for (std::int64_t column = 0; column < k; ++column) {
      const unsigned code = weights.codes[static_cast<std::size_t>(row * k + column)];
      if (awq) {
        or_bits(source.weights, awq_bit(n, row, column), code, bits);
        continue;
      }
      for (int j = 0; j < bits; ++j) {
        or_bits(source.weights, gptq_bit(spec, row, column, j), code >> j & 1, 1);
      }
    }
  }
  source.scales = by_group(spec, weights.scales, bytes_of(spec.weight.scale_dtype));
  if (spec.weight.zero_point != ZeroPoint::kInt) return source;
  const std::int64_t groups = groups_of(spec);
  source.zeros.resize(static_cast<std::size_t>(groups * n * bits / 8));
  const bool v1 = spec.format == CheckpointFormat::kGptq;
  const std::uint32_t word_bias = v1 ? word_of_ones(bits) : 0;
  const unsigned less = v1 && word_bias == 0 ? 1 : 0;
  const unsigned mask = (1U << bits) - 1;
  for (std::int64_t g = 0; g < groups; ++g) {
    for (std::int64_t row = 0; row < n; ++row) {
      const unsigned zero = (weights.zeros[meta_index(spec, row, g)] - less) & mask;
      or_bits(source.zeros,
              awq ? awq_bit(n, row, g) : static_cast<std::size_t>((g * n + row) * bits), zero,
              bits);
    }
  }
  for (std::size_t at = 0; word_bias != 0 && at < source.zeros.size(); at += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, &source.zeros[at], 4);
    word -= word_bias;
    std::memcpy(&source.zeros[at], &word, 4);
  }
  return source;
}

std::vector<std::uint8_t> any_bytes(std::int64_t count, std::mt19937& random) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count + 3) / 4 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 4) {
    const auto four = static_cast<std::uint32_t>(random());
    std::memcpy(&bytes[i], &four, 4);
  }
  bytes.resize(static_cast<std::size_t>(count));
  return bytes;
}

}  // namespace

std::size_t SourceTensors::bytes() const noexcept {
  return weights.size() + scales.size() + zeros.size() +
         4 * (group_index.size() + permutation.size());
}

std::int64_t groups_of(const WeightOpSpec& spec) {
  return groups_along_k(spec.weight, spec.shape.k);
}

std::size_t meta_index(const WeightOpSpec& spec, std::int64_t row, std::int64_t group) {
  if (spec.weight.group_size == kPerTensor) return 0;
  return static_cast<std::size_t>(row / spec.weight.group_rows * groups_of(spec) + group);
}

SourceTensors write_source(const WeightOpSpec& spec, const QuantizedWeights& weights) {
  if (spec.format != CheckpointFormat::kHeddle) return checkpoint_tensors(spec, weights);
  SourceTensors source;
  source.weights = pack_weights(gemm_spec_of(spec), weights);
  return source;
}

SourceTensors any_source(const WeightOpSpec& spec, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto [n, k] = spec.shape;
  const std::int64_t metadata = n * groups_of(spec);
  SourceTensors source;
  if (spec.format == CheckpointFormat::kHeddle) {
    const WeightLayout layout = weight_layout(spec.shape, spec.weight);
    source.weights = any_bytes(static_cast<std::int64_t>(layout.total_bytes), random);
    return source;
  }
  source.weights = any_bytes(n * k * spec.weight.bits / 8, random);
  source.scales = any_bytes(metadata * bytes_of(spec.weight.scale_dtype), random);
  if (spec.weight.zero_point == ZeroPoint::kInt) {
    source.zeros = any_bytes(metadata * spec.weight.bits / 8, random);
    // Where GPTQ's first version has borrowed and carries the most: zero points that are all 0, and
    // all fields as large as they can be.
    const std::uint32_t words[] = {0U - word_of_ones(spec.weight.bits), ~0U};
    std::memcpy(source.zeros.data(), words, std::min(sizeof words, source.zeros.size()));
  }
  return source;
}

std::vector<std::int32_t> random_permutation(std::int64_t columns, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> order(static_cast<std::size_t>(columns));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

GemmSpec gemm_spec_of(const WeightOpSpec& spec) {
  if (spec.weight.interleave == Interleave::kSwizzle128b) return byte_gemm_of(spec);
  GemmSpec gemm;
  gemm.shape.n = spec.shape.n;
  gemm.shape.k = spec.shape.k;
  gemm.weight = spec.weight;
  gemm.epilogue.gated = spec.gated;
  return gemm;
}

}  // namespace heddle
