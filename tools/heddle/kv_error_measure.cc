#include "tools/heddle/kv_error_measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "generator/decode/float16.h"
#include "generator/kv/kv_rule.h"
#include "heddle/inspect/kv_codec.h"

namespace heddle {
namespace {

constexpr int kOutlierStep = 24;  // one channel in so many is large
constexpr float kOutlier = 6;
constexpr float kNvfp4Scales = 448;  // the largest e4m3

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

float rounded(DType dtype, float value) {
  const Float16Format format = float16_format(dtype);
  return static_cast<float>(float16_to_double(format, float16_from_double(format, value)));
}

KvGivenScale scale_of_all(const KvTensor& tensor, const std::vector<float>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const float most = std::max(std::fabs(*low), std::fabs(*high));
  const KvRule rule = kv_rule(tensor);
  if (tensor.dtype == KvDtype::kNvfp4) return {most / rule.divisor / kNvfp4Scales, 0};
  if (tensor.symmetric) return {most / rule.divisor, 0};
  const float scale = (std::max(*high, 0.0F) - std::min(*low, 0.0F)) / rule.divisor;
  return {scale, -std::min(*low, 0.0F) / scale};
}

std::vector<float> there_and_back(const KvTensor& tensor, const KvSample& sample,
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

// One head of Q: softmax(q K^T / sqrt(head_dim)) V.
std::vector<double> attention(const KvSample& sample, const std::vector<float>& k,
                              const std::vector<float>& v, int q_head) {
  const auto dim = static_cast<std::size_t>(sample.head_dim);
  const auto tokens = static_cast<std::size_t>(sample.tokens);
  const std::size_t row = static_cast<std::size_t>(sample.heads) * dim;
  const std::size_t head = static_cast<std::size_t>(q_head / sample.ratio) * dim;
  const float* q = &sample.q[static_cast<std::size_t>(q_head) * dim];
  std::vector<double> weights(tokens);
  for (std::size_t t = 0; t < tokens; ++t) {
    double logit = 0;
    for (std::size_t d = 0; d < dim; ++d) logit += double{q[d]} * double{k[t * row + head + d]};
    weights[t] = logit / std::sqrt(static_cast<double>(dim));
  }
  const double most = *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (double& weight : weights) sum += weight = std::exp(weight - most);
  std::vector<double> output(dim);
  for (std::size_t t = 0; t < tokens; ++t) {
    for (std::size_t d = 0; d < dim; ++d) {
      output[d] += weights[t] / sum * double{v[t * row + head + d]};
    }
  }
  return output;
}

double error_of(const KvSample& sample, const std::vector<float>& k, const std::vector<float>& v) {
  double difference = 0;
  double size = 0;
  for (int head = 0; head < sample.heads * sample.ratio; ++head) {
    const std::vector<double> exact = attention(sample, sample.k, sample.v, head);
    const std::vector<double> got = attention(sample, k, v, head);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      difference += (got[i] - exact[i]) * (got[i] - exact[i]);
      size += exact[i] * exact[i];
    }
  }
  return std::sqrt(difference / size);
}

std::string choice_name(const KvTensor& tensor) {
  std::string name(to_string(tensor.dtype));
  if (tensor.granularity != KvGranularity::kNone) {
    name += ' ' + std::string(to_string(tensor.granularity));
  }
  if (tensor.group_size != 0) name += fmt::format(" {}", tensor.group_size);
  return tensor.symmetric ? name : name + ", zero points";
}

// K and V of the same type.
std::string choice_name(const KvTensor& k, const KvTensor& v) {
  std::string of_v(to_string(v.granularity));
  if (v.group_size != 0) of_v += fmt::format(" {}", v.group_size);
  return fmt::format("{} K channel {}, V {}{}", to_string(k.dtype), k.group_size, of_v,
                     k.symmetric ? "" : ", zero points");
}

}  // namespace

KvSample make_kv_sample(int heads, int ratio, int head_dim, int tokens, DType dtype,
                        std::uint32_t seed) {
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
      sample.k.push_back(rounded(dtype, middle + normal.next()));
      sample.v.push_back(rounded(dtype, 0.5F * normal.next()));
    }
  }
  for (int i = 0; i < row * ratio; ++i) sample.q.push_back(rounded(dtype, normal.next()));
  return sample;
}

std::vector<KvChoice> kv_choices(int heads, int head_dim, DType dtype) {
  std::vector<KvChoice> choices;
  const auto add = [&](KvDtype type, KvGranularity granularity, int group, bool symmetric) {
    KvAppendSpec spec;
    spec.shape = {heads, head_dim};
    spec.activation = dtype;
    spec.kv.k = {type, granularity, group, symmetric, std::nullopt};
    const KvTensor tensor = Spec::from_kv_append(spec).kv().k;
    if (tensor.group_size != 0 && head_dim % tensor.group_size != 0) return;
    choices.push_back({choice_name(tensor), tensor, tensor});
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
    choices.push_back({choice_name(kv.k, kv.v), kv.k, kv.v});
  };
  add(dtype == DType::kBf16 ? KvDtype::kBf16 : KvDtype::kFp16, KvGranularity::kNone, 0, true);
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

KvError measure_kv_error(const KvSample& sample, const KvTensor& k_tensor,
                         const KvTensor& v_tensor) {
  KvError error;
  const std::vector<float> k = there_and_back(k_tensor, sample, sample.k);
  const std::vector<float> v = there_and_back(v_tensor, sample, sample.v);
  error.k_only = error_of(sample, k, sample.v);
  error.v_only = error_of(sample, sample.k, v);
  error.both = error_of(sample, k, v);
  return error;
}

}  // namespace heddle
