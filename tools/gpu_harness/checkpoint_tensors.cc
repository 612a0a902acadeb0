#include "tools/gpu_harness/checkpoint_tensors.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "checkpoint/unpack_codes.h"

namespace heddle {
namespace {

std::int64_t groups_of(const WeightOpSpec& spec) {
  return spec.weight.group_size > 0 ? spec.shape.k / spec.weight.group_size : 1;
}

std::vector<std::uint32_t> random_words(std::int64_t count, std::mt19937& random) {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(count));
  for (std::uint32_t& word : words) word = random();
  return words;
}

CodeOrder order_of(CheckpointFormat format) {
  return format == CheckpointFormat::kAwq ? CodeOrder::kAwq : CodeOrder::kAlongK;
}

// [N, K], columns in the packed order.
std::vector<std::uint8_t> codes_of(const WeightOpSpec& spec, const CheckpointTensors& tensors) {
  const auto n = static_cast<std::size_t>(spec.shape.n);
  const auto k = static_cast<std::size_t>(spec.shape.k);
  std::vector<std::uint8_t> codes(n * k);
  unpack_codes(
      {order_of(spec.format), spec.weight.bits, spec.shape.n, spec.shape.k, tensors.weights.data()},
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
std::vector<std::uint8_t> zeros_of(const WeightOpSpec& spec, const CheckpointTensors& tensors) {
  const auto n = static_cast<std::size_t>(spec.shape.n);
  const auto groups = static_cast<std::size_t>(groups_of(spec));
  const int bits = spec.weight.bits;
  std::vector<std::uint8_t> zeros(n * groups);
  if (spec.format == CheckpointFormat::kAwq) {
    unpack_codes({CodeOrder::kAwq, bits, spec.shape.n, groups_of(spec), tensors.zeros.data()}, 0,
                 spec.shape.n, zeros.data());
    return zeros;
  }
  const std::uint32_t bias = spec.format == CheckpointFormat::kGptq ? 1 : 0;
  const std::size_t words = n * static_cast<std::size_t>(bits) / 32;
  for (std::size_t group = 0; group < groups; ++group) {
    for (std::size_t row = 0; row < n; ++row) {
      const std::uint32_t stored = stream_value(tensors.zeros.data() + group * words, 1, bits,
                                                static_cast<std::int64_t>(row));
      zeros[row * groups + group] = static_cast<std::uint8_t>((stored + bias) & ((1U << bits) - 1));
    }
  }
  return zeros;
}

}  // namespace

CheckpointTensors random_tensors(const WeightOpSpec& spec, std::uint32_t seed) {
  std::mt19937 random(seed);
  const std::int64_t bits = spec.weight.bits;
  const std::int64_t count = groups_of(spec) * spec.shape.n;
  CheckpointTensors tensors;
  tensors.weights = random_words(spec.shape.n * spec.shape.k * bits / 32, random);
  tensors.scales.resize(static_cast<std::size_t>(count * bytes_of(spec.weight.scale_dtype)));
  for (std::uint8_t& byte : tensors.scales) byte = static_cast<std::uint8_t>(random());
  if (spec.weight.zero_point == ZeroPoint::kInt) {
    tensors.zeros = random_words(count * bits / 32, random);
  }
  if (spec.act_order) {
    tensors.permutation.resize(static_cast<std::size_t>(spec.shape.k));
    std::iota(tensors.permutation.begin(), tensors.permutation.end(), 0);
    std::shuffle(tensors.permutation.begin(), tensors.permutation.end(), random);
  }
  return tensors;
}

GemmSpec gemm_spec_of(const WeightOpSpec& spec) {
  GemmSpec gemm;
  gemm.shape.n = spec.shape.n;
  gemm.shape.k = spec.shape.k;
  gemm.weight = spec.weight;
  return gemm;
}

std::vector<std::uint8_t> pack_on_host(const WeightOpSpec& spec, const CheckpointTensors& tensors) {
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
