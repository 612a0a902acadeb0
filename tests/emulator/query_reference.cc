#include "tests/emulator/query_reference.h"

#include <fmt/core.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include "generator/decode/float16.h"

namespace heddle {
namespace {

// Radians from one position to the next of pair i.
double angle_of(const RopeSpec& rope, int i) {
  const RopeScaling& scaling = rope.scaling;
  const double angle = std::pow(static_cast<double>(rope.base), -2.0 * i / rope.dim);
  if (scaling.type == RopeScalingType::kNone) return angle;
  const double slow = angle / *scaling.factor;
  if (scaling.type == RopeScalingType::kLinear) return slow;
  const auto original = static_cast<double>(*scaling.original_max_position_embeddings);
  double kept = 0;  // how much of the angle stays as it is
  if (scaling.type == RopeScalingType::kLlama3) {
    const double wave = 2 * std::numbers::pi / angle;
    kept = (original / wave - *scaling.low_freq_factor) /
           (*scaling.high_freq_factor - *scaling.low_freq_factor);
  } else {
    const auto pair = [&](double turns) {
      return rope.dim * std::log(original / (turns * 2 * std::numbers::pi)) /
             (2 * std::log(static_cast<double>(rope.base)));
    };
    double first = pair(*scaling.beta_fast);
    double last = pair(*scaling.beta_slow);
    if (scaling.truncate) first = std::floor(first), last = std::ceil(last);
    first = std::fmax(first, 0);
    last = std::fmin(last, rope.dim - 1);
    kept = 1 - (i - first) / (last - first);
  }
  kept = std::fmin(std::fmax(kept, 0), 1);
  return kept * angle + (1 - kept) * slow;
}

struct Element {
  double value = 0;
  double magnitude = 0;  // of what was added up for it
};

// What becomes of a head of Q.
std::vector<Element> head_in_fp64(const KvAppendSpec& spec, int position,
                                  const std::vector<double>& weights, std::vector<double> x) {
  if (spec.norm.epsilon) {
    double squares = 0;
    for (const double value : x) squares += value * value;
    const double root = std::sqrt(squares / static_cast<double>(x.size()) + *spec.norm.epsilon);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = x[i] / root * (weights[i] + spec.norm.weight_offset);
    }
  }
  std::vector<Element> head;
  for (const double value : x) head.push_back({value, std::abs(value)});
  if (spec.rope.pairing == RopePairing::kNone) return head;
  const double factor = spec.rope.scaling.attention_factor.value_or(1);
  const bool neox = spec.rope.pairing == RopePairing::kNeox;
  for (int i = 0; i < spec.rope.dim / 2; ++i) {
    const double cosine = factor * std::cos(position * angle_of(spec.rope, i));
    const double sine = factor * std::sin(position * angle_of(spec.rope, i));
    const auto a = static_cast<std::size_t>(neox ? i : 2 * i);
    const auto b = static_cast<std::size_t>(neox ? i + spec.rope.dim / 2 : 2 * i + 1);
    const double magnitude = factor * (std::abs(x[a]) + std::abs(x[b]));
    head[a] = {x[a] * cosine - x[b] * sine, magnitude};
    head[b] = {x[a] * sine + x[b] * cosine, magnitude};
  }
  return head;
}

}  // namespace

std::string query_difference(const KvAppendSpec& spec, const KvProblem& problem,
                             const std::vector<std::uint8_t>& output) {
  const Float16Format format = float16_format(spec.activation);
  const bool bf16 = spec.activation == DType::kBf16;
  const double largest = bf16 ? 1e38 : 65000;
  const double last_bit = bf16 ? 0x1p-8 : 0x1p-11;  // the largest error of one rounding
  const auto head_dim = static_cast<std::size_t>(spec.shape.head_dim);
  std::vector<double> weights;
  for (const std::uint16_t bits : problem.q_norm)
    weights.push_back(float16_to_double(format, bits));
  for (std::size_t sequence = 0; sequence < problem.lengths.size(); ++sequence) {
    const bool single = problem.offsets.empty();
    const int begin = single ? static_cast<int>(sequence) : problem.offsets[sequence];
    const int end = single ? begin + 1 : problem.offsets[sequence + 1];
    for (int token = begin; token < end; ++token) {
      const int position = problem.lengths[sequence] - (end - token);
      for (int head = 0; head < spec.query.heads; ++head) {
        const auto from = static_cast<std::size_t>(token * problem.q_stride) +
                          static_cast<std::size_t>(head) * head_dim;
        std::vector<double> x;
        bool ordinary = true;
        for (std::size_t i = 0; i < head_dim; ++i) {
          x.push_back(float16_to_double(format, problem.q[from + i]));
          ordinary = ordinary && std::abs(x.back()) < 1e15;
        }
        if (!ordinary) continue;
        const std::vector<Element> expected = head_in_fp64(spec, position, weights, x);
        for (std::size_t i = 0; i < head_dim; ++i) {
          const std::size_t at =
              static_cast<std::size_t>(token * spec.query.heads + head) * head_dim + i;
          std::uint16_t bits = 0;
          std::memcpy(&bits, &output[2 * at], sizeof bits);
          const auto [value, magnitude] = expected[i];
          if (std::abs(value) > largest) continue;
          const double got = float16_to_double(format, bits);
          const double tolerance = last_bit * std::abs(value) + 2e-6 * magnitude + 0x1p-24;
          if (std::abs(got - value) <= tolerance) continue;
          return fmt::format("element {} of head {} of token {} is {}, not {}", i, head, token, got,
                             value);
        }
      }
    }
  }
  return {};
}

}  // namespace heddle
