#include "tests/decoder/reference.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace heddle {
namespace {

constexpr double kPi = 3.14159265358979323846;

std::vector<float> product(const ReferenceMatrix& w, const std::vector<float>& x) {
  std::vector<float> y(w.rows);
  for (std::size_t row = 0; row < w.rows; ++row) {
    const float* weights = &w.values[row * w.columns];
    float sum = 0;
    for (std::size_t i = 0; i < w.columns; ++i) sum += weights[i] * x[i];
    y[row] = sum;
  }
  return y;
}

// RMSNorm of the `size` values at `x`.
void normalise(float* x, std::size_t size, const std::vector<float>& weight, float epsilon) {
  float squares = 0;
  for (std::size_t i = 0; i < size; ++i) squares += x[i] * x[i];
  const float factor = 1 / std::sqrt(squares / static_cast<float>(size) + epsilon);
  for (std::size_t i = 0; i < size; ++i) x[i] *= factor * weight[i];
}

std::vector<float> product(const ReferenceLinear& w, const std::vector<float>& x) {
  std::vector<float> y = product(static_cast<const ReferenceMatrix&>(w), x);
  for (std::size_t row = 0; row < w.bias.size(); ++row) y[row] += w.bias[row];
  return y;
}

std::vector<float> normalised(std::vector<float> x, const std::vector<float>& weight,
                              float epsilon) {
  normalise(x.data(), x.size(), weight, epsilon);
  return x;
}

void rotate(float* head, const ReferenceModel& model, std::size_t position) {
  const std::size_t half = model.frequencies.size();
  for (std::size_t i = 0; i < half; ++i) {
    const double angle = model.frequencies[i] * static_cast<double>(position);
    const auto c = static_cast<float>(model.rotation_scale * std::cos(angle));
    const auto s = static_cast<float>(model.rotation_scale * std::sin(angle));
    const float a = head[i];
    const float b = head[half + i];
    head[i] = a * c - b * s;
    head[half + i] = b * c + a * s;
  }
}

void add(const std::vector<float>& from, std::vector<float>& to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

}  // namespace

ReferenceDecoder::ReferenceDecoder(const ReferenceModel& model)
    : model_(model), caches_(model.layers.size()) {}

std::vector<float> ReferenceDecoder::attend(const ReferenceLayer& layer,
                                            const std::vector<float>& h, Cache& cache) {
  const std::size_t dim = model_.head_dim;
  std::vector<float> q = product(layer.q, h);
  std::vector<float> k = product(layer.k, h);
  const std::vector<float> v = product(layer.v, h);
  const auto prepare = [&](std::vector<float>& heads, const std::vector<float>& norm) {
    for (std::size_t at = 0; at < heads.size(); at += dim) {
      if (!norm.empty()) normalise(&heads[at], dim, norm, model_.epsilon);
      rotate(&heads[at], model_, position_);
    }
  };
  prepare(q, layer.q_norm);
  prepare(k, layer.k_norm);
  cache.k.insert(cache.k.end(), k.begin(), k.end());
  cache.v.insert(cache.v.end(), v.begin(), v.end());

  std::vector<float> out(q.size());
  const std::size_t first =
      layer.window == 0 ? 0 : position_ + 1 - std::min(position_ + 1, layer.window);
  std::vector<float> weights(position_ + 1);
  for (std::size_t head = 0; head < model_.heads; ++head) {
    const std::size_t kv_head = head / (model_.heads / model_.kv_heads);
    const auto row = [&](std::size_t token) { return (token * model_.kv_heads + kv_head) * dim; };
    float most = layer.sinks.empty() ? -1e30F : layer.sinks[head];
    for (std::size_t token = first; token <= position_; ++token) {
      float sum = 0;
      for (std::size_t i = 0; i < dim; ++i) sum += q[head * dim + i] * cache.k[row(token) + i];
      weights[token] = sum / std::sqrt(static_cast<float>(dim));
      most = std::max(most, weights[token]);
    }
    float total = layer.sinks.empty() ? 0 : std::exp(layer.sinks[head] - most);
    for (std::size_t token = first; token <= position_; ++token) {
      total += weights[token] = std::exp(weights[token] - most);
    }
    for (std::size_t token = first; token <= position_; ++token) {
      for (std::size_t i = 0; i < dim; ++i) {
        out[head * dim + i] += weights[token] / total * cache.v[row(token) + i];
      }
    }
  }
  return out;
}

std::vector<float> ReferenceDecoder::feed_forward(const ReferenceFeedForward& one,
                                                  const std::vector<float>& h) {
  std::vector<float> inner = product(one.gate, h);
  const std::vector<float> up = product(one.up, h);
  const float clamp = model_.clamp;
  for (std::size_t j = 0; j < inner.size(); ++j) {
    if (clamp == 0) {
      inner[j] = inner[j] / (1 + std::exp(-inner[j])) * up[j];
    } else {
      const float gate = std::min(inner[j], clamp);
      inner[j] = gate / (1 + std::exp(-1.702F * gate)) * (std::clamp(up[j], -clamp, clamp) + 1);
    }
  }
  return product(one.down, inner);
}

std::vector<float> ReferenceDecoder::mixture(const ReferenceLayer& layer,
                                             const std::vector<float>& h) {
  std::vector<float> scores = product(layer.router, h);
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  const std::size_t count = model_.experts_per_token;
  const double squares = std::inner_product(scores.begin(), scores.end(), scores.begin(), 0.0);
  least_lead_ = std::min(least_lead_, (scores[order[count - 1]] - scores[order[count]]) /
                                          std::sqrt(squares / double(scores.size())));
  order.resize(count);
  const float most = scores[order[0]];
  float total = 0;
  for (float& score : scores) total += score = std::exp(score - most);
  if (model_.weights_add_up) {
    total = 0;
    for (const std::size_t expert : order) total += scores[expert];
  }
  std::vector<float> sum(h.size());
  for (const std::size_t expert : order) {
    const std::vector<float> y = feed_forward(layer.experts[expert], h);
    for (std::size_t i = 0; i < y.size(); ++i) sum[i] += scores[expert] / total * y[i];
  }
  return sum;
}

std::vector<float> ReferenceDecoder::step(int token) {
  const std::size_t hidden = model_.embeddings.columns;
  const auto begin = model_.embeddings.values.begin() +
                     static_cast<std::ptrdiff_t>(static_cast<std::size_t>(token) * hidden);
  std::vector<float> x(begin, begin + static_cast<std::ptrdiff_t>(hidden));
  for (std::size_t i = 0; i < model_.layers.size(); ++i) {
    const ReferenceLayer& layer = model_.layers[i];
    const std::vector<float> h = normalised(x, layer.input_norm, model_.epsilon);
    add(product(layer.o, attend(layer, h, caches_[i])), x);
    const std::vector<float> m = normalised(x, layer.middle_norm, model_.epsilon);
    add(layer.router.rows == 0 ? feed_forward(layer.experts[0], m) : mixture(layer, m), x);
  }
  ++position_;
  return product(model_.head, normalised(x, model_.final_norm, model_.epsilon));
}

// As the modelling code of Llama 3.1 in Transformers has it: by wavelengths.
std::vector<double> rope_frequencies(double base, std::size_t dim, const Llama3Scaling& scaling) {
  std::vector<double> frequencies;
  for (std::size_t i = 0; i < dim / 2; ++i) {
    double frequency = std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
    if (scaling.factor != 0) {
      const double wavelength = 2 * kPi / frequency;
      const double low = scaling.original_positions / scaling.low_freq_factor;
      const double high = scaling.original_positions / scaling.high_freq_factor;
      if (wavelength > low) {
        frequency /= scaling.factor;
      } else if (wavelength > high) {
        const double smooth = (scaling.original_positions / wavelength - scaling.low_freq_factor) /
                              (scaling.high_freq_factor - scaling.low_freq_factor);
        frequency = (1 - smooth) * frequency / scaling.factor + smooth * frequency;
      }
    }
    frequencies.push_back(frequency);
  }
  return frequencies;
}

std::vector<double> rope_frequencies(double base, std::size_t dim, const YarnScaling& scaling) {
  std::vector<double> frequencies = rope_frequencies(base, dim, Llama3Scaling());
  // The pair, as a number with a fraction, with so many rotations.
  const auto pair_with = [&](double rotations) {
    const double pair = static_cast<double>(dim) / 2 *
                        std::log(scaling.original_positions / (2 * kPi * rotations)) /
                        std::log(base);
    return std::clamp(pair, 0.0, static_cast<double>(dim) - 1);
  };
  const double first = pair_with(scaling.beta_fast);
  const double last = pair_with(scaling.beta_slow);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double divided = std::clamp((static_cast<double>(i) - first) / (last - first), 0.0, 1.0);
    frequencies[i] *= 1 - divided + divided / scaling.factor;
  }
  return frequencies;
}

}  // namespace heddle
