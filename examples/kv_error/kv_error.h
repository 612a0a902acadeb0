// What attention loses by a quantised cache: on the host, in FP64.
#ifndef HEDDLE_EXAMPLES_KV_ERROR_KV_ERROR_H_
#define HEDDLE_EXAMPLES_KV_ERROR_KV_ERROR_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/kv_cache.h"
#include "heddle/spec.h"

namespace heddle::kv_error {

// K, V and Q of one layer, rounded to 16 bits.
struct KvSample {
  int heads = 0;  // of K and V
  int ratio = 1;  // heads of Q for each of them
  int head_dim = 0;
  int tokens = 0;
  std::vector<float> k;  // [tokens][heads][head_dim]
  std::vector<float> v;
  std::vector<float> q;  // [heads * ratio][head_dim]
};

// How a cache may be kept, with its name: "int4 group 32, zero points". Both tensors are complete.
struct KvChoice {
  std::string name;
  KvTensor k;
  KvTensor v;
};

// |output - exact| / |exact|, with K alone quantised, V alone, and both.
struct KvError {
  double k_only = 0;
  double v_only = 0;
  double both = 0;
};

// About normal, the same everywhere: the sum of twelve uniform numbers, less six.
class Normal {
 public:
  explicit Normal(std::uint32_t seed) : random_(seed) {}
  float next() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += random_() * 0x1p-32;
    return static_cast<float>(sum);
  }

 private:
  std::mt19937 random_;
};

// A cache of 16 bits.
inline KvTensor plain_tensor(DType dtype) {
  KvTensor tensor;
  tensor.dtype = dtype == DType::kBf16 ? KvDtype::kBf16 : KvDtype::kFp16;
  tensor.granularity = KvGranularity::kNone;
  return tensor;
}

inline std::vector<float> rounded(DType dtype, const std::vector<float>& values) {
  const KvTensor plain = plain_tensor(dtype);
  const auto count = static_cast<int>(values.size());
  return dequantize_kv(plain, 1, count, quantize_kv(plain, 1, count, values.data()));
}

// K and V as a trained model has them in kind: K with channels that are large and far from zero in
// all tokens, V without any, Q so that some tokens weigh much more than others.
inline KvSample make_kv_sample(int heads, int ratio, int head_dim, int tokens, DType dtype,
                               std::uint32_t seed = 1) {
  constexpr int kOutlierStep = 24;  // one channel in so many is large
  constexpr float kOutlier = 6;
  Normal normal(seed);
  KvSample sample{heads, ratio, head_dim, tokens, {}, {}, {}};
  const int row = heads * head_dim;
  std::vector<float> center(static_cast<std::size_t>(row));
  for (int i = 0; i < row; ++i) {
    const bool large = (i + 7 * (i / head_dim)) % kOutlierStep == 0;
    center[static_cast<std::size_t>(i)] = (large ? kOutlier : 0.25F) * normal.next();
  }
  for (int t = 0; t < tokens; ++t) {
    for (const float middle : center) {
      sample.k.push_back(middle + normal.next());
      sample.v.push_back(0.5F * normal.next());
    }
  }
  for (int i = 0; i < row * ratio; ++i) sample.q.push_back(normal.next());
  for (auto* values : {&sample.k, &sample.v, &sample.q}) *values = rounded(dtype, *values);
  return sample;
}

inline std::string scales_name(const KvTensor& tensor) {
  std::string name(to_string(tensor.granularity));
  return tensor.group_size == 0 ? name : name + ' ' + std::to_string(tensor.group_size);
}

// Every type in the granularities that make sense for the head, the largest first.
inline std::vector<KvChoice> kv_choices(int heads, int head_dim, DType dtype) {
  std::vector<KvChoice> choices;
  const auto add = [&](KvDtype type, KvGranularity granularity, int group, bool symmetric) {
    KvAppendSpec spec;
    spec.shape = {heads, head_dim};
    spec.activation = dtype;
    spec.kv.k = {type, granularity, group, symmetric, std::nullopt};
    const KvTensor tensor = Spec::from_kv_append(spec).kv().k;
    if (tensor.group_size != 0 && head_dim % tensor.group_size != 0) return;
    std::string name(to_string(type));
    if (tensor.granularity != KvGranularity::kNone) name += ' ' + scales_name(tensor);
    choices.push_back({name + (symmetric ? "" : ", zero points"), tensor, tensor});
  };
  // K per channel; V, whose large values are in no channel, in groups of a token.
  const auto add_channel = [&](KvDtype type, int block, bool symmetric) {
    KvAppendSpec spec;
    spec.shape = {heads, head_dim};
    spec.activation = dtype;
    spec.kv.k = {type, KvGranularity::kChannel, block, symmetric, std::nullopt};
    spec.kv.v = {type, KvGranularity::kHead, 0, symmetric, std::nullopt};
    if (type != KvDtype::kInt8 && head_dim % 32 == 0) {
      spec.kv.v.granularity = KvGranularity::kGroup;
      spec.kv.v.group_size = 32;
    }
    const KvSpec kv = Spec::from_kv_append(spec).kv();
    choices.push_back({std::string(to_string(type)) + " K " + scales_name(kv.k) + ", V " +
                           scales_name(kv.v) + (symmetric ? "" : ", zero points"),
                       kv.k, kv.v});
  };
  add(plain_tensor(dtype).dtype, KvGranularity::kNone, 0, true);
  for (const KvDtype type : {KvDtype::kFp8E4m3, KvDtype::kFp8E5m2}) {
    for (const auto granularity : {KvGranularity::kTensor, KvGranularity::kHead}) {
      add(type, granularity, 0, true);
    }
  }
  for (const KvDtype type : {KvDtype::kInt8, KvDtype::kInt4, KvDtype::kInt2}) {
    for (const bool symmetric : {true, false}) {
      for (const auto granularity :
           {KvGranularity::kTensor, KvGranularity::kToken, KvGranularity::kHead}) {
        add(type, granularity, 0, symmetric);
      }
      for (const int group : {64, 32, 16}) {
        if (type != KvDtype::kInt8 || group == 64) {
          add(type, KvGranularity::kGroup, group, symmetric);
        }
      }
      for (const int block : {128, 32}) {
        if (type != KvDtype::kInt8 || block == 128) add_channel(type, block, symmetric);
      }
    }
  }
  add(KvDtype::kNvfp4, KvGranularity::kAuto, 0, true);
  return choices;
}

// What a caller would give for all of K, or of V: by the sample's own largest values.
inline KvGivenScale scale_of_all(const KvTensor& tensor, const std::vector<float>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const float most = std::max(std::fabs(*low), std::fabs(*high));
  const int half = 1 << (kv_bits(tensor.dtype) - 1);
  switch (tensor.dtype) {
    case KvDtype::kFp8E4m3:
      return {most / 448, 0};
    case KvDtype::kFp8E5m2:
      return {most / 57344, 0};
    case KvDtype::kNvfp4:
      return {most / 6 / 448, 0};
    default:
      break;
  }
  if (tensor.symmetric) return {most / static_cast<float>(half - 1), 0};
  const float width = std::max(*high, 0.0F) - std::min(*low, 0.0F);
  const float scale = width / static_cast<float>(2 * half - 1);
  return {scale, -std::min(*low, 0.0F) / scale};
}

inline std::vector<float> there_and_back(const KvTensor& tensor, const KvSample& sample,
                                         const std::vector<float>& values) {
  const KvGivenScale given = scale_of_all(tensor, values);
  const auto block = static_cast<std::size_t>(kv_block_tokens(tensor)) *
                     static_cast<std::size_t>(sample.heads) *
                     static_cast<std::size_t>(sample.head_dim);
  std::vector<float> back;
  for (std::size_t first = 0; first + block <= values.size(); first += block) {
    const KvToken token = quantize_kv(tensor, sample.heads, sample.head_dim, &values[first], given);
    const std::vector<float> one =
        dequantize_kv(tensor, sample.heads, sample.head_dim, token, given);
    back.insert(back.end(), one.begin(), one.end());
  }
  // Tokens in the residual window are not quantised.
  back.insert(back.end(), values.begin() + static_cast<std::ptrdiff_t>(back.size()), values.end());
  return back;
}

// softmax(q K^T / sqrt(head_dim)) of one head of Q, a number for each token.
inline std::vector<double> weights_of(const KvSample& sample, const std::vector<float>& k,
                                      int q_head) {
  const auto dim = static_cast<std::size_t>(sample.head_dim);
  const auto tokens = static_cast<std::size_t>(sample.tokens);
  const std::size_t row = static_cast<std::size_t>(sample.heads) * dim;
  const std::size_t head = static_cast<std::size_t>(q_head / sample.ratio) * dim;
  const float* q = &sample.q[static_cast<std::size_t>(q_head) * dim];
  std::vector<double> weights(tokens);
  for (std::size_t t = 0; t < tokens; ++t) {
    const float* of_token = &k[t * row + head];
    double sums[4] = {};  // that do not wait for each other
    for (std::size_t d = 0; d < dim; ++d) sums[d % 4] += double{q[d]} * double{of_token[d]};
    weights[t] = (sums[0] + sums[1] + sums[2] + sums[3]) / std::sqrt(static_cast<double>(dim));
  }
  const double most = *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (double& weight : weights) sum += weight = std::exp(weight - most);
  for (double& weight : weights) weight /= sum;
  return weights;
}

// The same times V.
inline std::vector<double> output_of(const KvSample& sample, const std::vector<double>& weights,
                                     const std::vector<float>& v, int q_head) {
  const auto dim = static_cast<std::size_t>(sample.head_dim);
  const std::size_t row = static_cast<std::size_t>(sample.heads) * dim;
  const std::size_t head = static_cast<std::size_t>(q_head / sample.ratio) * dim;
  std::vector<double> output(dim);
  for (std::size_t t = 0; t < weights.size(); ++t) {
    const float* of_token = &v[t * row + head];
    for (std::size_t d = 0; d < dim; ++d) output[d] += weights[t] * double{of_token[d]};
  }
  return output;
}

// Attention over a sample as it is, which every choice is compared with, is computed once.
class ErrorMeter {
 public:
  explicit ErrorMeter(const KvSample& sample) : sample_(sample) {
    for (int head = 0; head < sample.heads * sample.ratio; ++head) {
      weights_.push_back(weights_of(sample, sample.k, head));
      exact_.push_back(output_of(sample, weights_.back(), sample.v, head));
      for (const double value : exact_.back()) size_ += value * value;
    }
    if (!(size_ > 0)) throw std::invalid_argument("attention over these values is zero everywhere");
  }

  // With scales per channel the last tokens, which fill no block, stay as they are.
  KvError measure(const KvTensor& k_tensor, const KvTensor& v_tensor) const {
    const std::vector<float> k = there_and_back(k_tensor, sample_, sample_.k);
    const std::vector<float> v = there_and_back(v_tensor, sample_, sample_.v);
    KvError sum;  // of squares
    for (std::size_t head = 0; head < exact_.size(); ++head) {
      const auto q_head = static_cast<int>(head);
      const std::vector<double> weights = weights_of(sample_, k, q_head);
      sum.k_only += distance(head, output_of(sample_, weights, sample_.v, q_head));
      sum.v_only += distance(head, output_of(sample_, weights_[head], v, q_head));
      sum.both += distance(head, output_of(sample_, weights, v, q_head));
    }
    return {std::sqrt(sum.k_only / size_), std::sqrt(sum.v_only / size_),
            std::sqrt(sum.both / size_)};
  }

 private:
  double distance(std::size_t head, const std::vector<double>& output) const {
    double squares = 0;
    for (std::size_t i = 0; i < output.size(); ++i) {
      const double difference = output[i] - exact_[head][i];
      squares += difference * difference;
    }
    return squares;
  }

  const KvSample& sample_;
  std::vector<std::vector<double>> weights_;  // of each head of Q
  std::vector<std::vector<double>> exact_;
  double size_ = 0;  // squared
};

}  // namespace heddle::kv_error

#endif  // HEDDLE_EXAMPLES_KV_ERROR_KV_ERROR_H_
