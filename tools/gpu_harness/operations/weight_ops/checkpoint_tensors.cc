#include "tools/gpu_harness/operations/weight_ops/checkpoint_tensors.h"

#include <cstring>

#include "checkpoint/codes/unpack_codes.h"

namespace heddle {
namespace {

std::vector<std::uint32_t> words_of(const std::vector<std::uint8_t>& bytes) {
  std::vector<std::uint32_t> words(bytes.size() / 4);
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), 4 * words.size());
  return words;
}

CodeOrder order_of(CheckpointFormat format) {
  return format == CheckpointFormat::kAwq ? CodeOrder::kAwq : CodeOrder::kAlongK;
}

// [N, K], columns in the packed order.
std::vector<std::uint8_t> codes_of(const WeightOpSpec& spec, const SourceTensors& tensors) {
  const auto n = static_cast<std::size_t>(spec.shape.n);
  const auto k = static_cast<std::size_t>(spec.shape.k);
  const std::vector<std::uint32_t> words = words_of(tensors.weights);
  std::vector<std::uint8_t> codes(n * k);
  unpack_codes({order_of(spec.format), spec.weight.bits, spec.shape.n, spec.shape.k, words.data()},
               0, spec.shape.n, codes.data());
  if (tensors.permutation.empty()) return codes;
  std::vector<std::uint8_t> permuted(n * k);
  for (std::size_t row = 0; row < n; ++row) {
    for (std::size_t j = 0; j < k; ++j) {
      permuted[row * k + j] = codes[row * k + static_cast<std::size_t>(tensors.permutation[j])];
    }
  }
  return permuted;
}

// [N, G]
std::vector<std::uint8_t> zeros_of(const WeightOpSpec& spec, const SourceTensors& tensors) {
  const auto n = static_cast<std::size_t>(spec.shape.n);
  const auto groups = static_cast<std::size_t>(groups_of(spec));
  const int bits = spec.weight.bits;
  std::vector<std::uint32_t> stored_words = words_of(tensors.zeros);
  std::vector<std::uint8_t> zeros(n * groups);
  if (spec.format == CheckpointFormat::kAwq) {
    unpack_codes({CodeOrder::kAwq, bits, spec.shape.n, groups_of(spec), stored_words.data()}, 0,
                 spec.shape.n, zeros.data());
    return zeros;
  }
  const std::uint32_t bias = spec.format == CheckpointFormat::kGptq ? 1 : 0;
  const auto word_bias = static_cast<std::uint32_t>(bias * gptq_word_bias(bits, 32));
  for (std::uint32_t& word : stored_words) word += word_bias;
  const std::size_t words = n * static_cast<std::size_t>(bits) / 32;
  for (std::size_t group = 0; group < groups; ++group) {
    for (std::size_t row = 0; row < n; ++row) {
      const std::uint32_t stored = stream_value(stored_words.data() + group * words, 1, bits,
                                                static_cast<std::int64_t>(row));
      zeros[row * groups + group] =
          static_cast<std::uint8_t>((stored + (word_bias == 0 ? bias : 0)) & ((1U << bits) - 1));
    }
  }
  return zeros;
}

}  // namespace

SourceTensors random_tensors(const WeightOpSpec& spec, std::uint32_t seed) {
  SourceTensors tensors = any_source(spec, seed);
  if (spec.act_order) tensors.permutation = random_permutation(spec.shape.k, seed + 1);
  return tensors;
}

std::vector<std::uint8_t> pack_on_host(const WeightOpSpec& spec, const SourceTensors& tensors) {
  const auto n = static_cast<std::size_t>(spec.shape.n);
  const auto groups = static_cast<std::size_t>(groups_of(spec));
  const auto width = static_cast<std::size_t>(bytes_of(spec.weight.scale_dtype));
  QuantizedWeights weights;
  weights.codes = codes_of(spec, tensors);
  weights.scales.resize(tensors.scales.size());
  for (std::size_t group = 0; group < groups; ++group) {
    for (std::size_t row = 0; row < n; ++row) {
      std::memcpy(&weights.scales[(row * groups + group) * width],
                  &tensors.scales[(group * n + row) * width], width);
    }
  }
  if (spec.weight.zero_point == ZeroPoint::kInt) weights.zeros = zeros_of(spec, tensors);
  return pack_weights(gemm_spec_of(spec), weights);
}

}  // namespace heddle
