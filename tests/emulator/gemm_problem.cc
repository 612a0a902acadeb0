#include "tests/emulator/gemm_problem.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "generator/decode/float16.h"
#include "heddle/weights.h"
#include "tools/gpu_harness/random_weights.h"

namespace heddle {
namespace {

using emulator::Access;

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kGelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
  }
  return x;
}

// Of variance 1.
std::vector<std::uint16_t> random_values(std::int64_t count, DType dtype, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<std::uint16_t> bits(static_cast<std::size_t>(count));
  for (std::uint16_t& value : bits) {
    value = float16_from_double(float16_format(dtype), normal(random));
  }
  return bits;
}

std::vector<double> numbers(const std::vector<std::uint16_t>& bits, DType dtype) {
  std::vector<double> values;
  for (const std::uint16_t value : bits) {
    values.push_back(float16_to_double(float16_format(dtype), value));
  }
  return values;
}

std::vector<double> plain_weights(const GemmSpec& spec, const QuantizedWeights& weights) {
  const auto [n, k, m_min, m_max] = spec.shape;
  const PlainNumbers plain = plain_numbers({n, k}, spec.weight, spec.activation, weights);
  std::vector<double> values;
  for (std::int64_t i = 0; i < n * k; ++i) {
    const auto group =
        static_cast<std::size_t>(i / k * (k / plain.group_size) + i % k / plain.group_size);
    const double value = plain.values[weights.codes[static_cast<std::size_t>(i)]];
    values.push_back((value - plain.zeros[group]) * plain.scales[group] * plain.tensor_scale);
  }
  return values;
}

// Each column times its factor, rounded as the kernel has to do it.
void scale_columns(const std::vector<double>& factors, DType dtype, std::vector<double>* x) {
  const Float16Format format = float16_format(dtype);
  for (std::size_t i = 0; i < x->size(); ++i) {
    (*x)[i] = float16_to_double(format,
                                float16_from_double(format, (*x)[i] * factors[i % factors.size()]));
  }
}

}  // namespace

double error_limit(DType activation) { return activation == DType::kFp16 ? 5e-4 : 4e-3; }

GemmProblem::GemmProblem(const GemmSpec& spec) : spec_(spec) {
  const auto [n, k, m_min, m_max] = spec.shape;
  const QuantizedWeights weights = random_weights({n, k}, spec.weight, 1);
  packed_ = pack_weights(spec, weights);
  x_ = random_values(m_max * k, spec.activation, 2);
  if (spec.epilogue.bias) bias_ = random_values(n, spec.activation, 3);
  if (spec.epilogue.residual) residual_ = random_values(m_max * n, spec.activation, 4);
  if (spec.pre_scale) pre_scale_ = random_values(k, spec.activation, 5);
  const std::vector<double> w = plain_weights(spec, weights);
  std::vector<double> x = numbers(x_, spec.activation);
  if (spec.pre_scale) {
    scale_columns(numbers(pre_scale_, spec.activation), spec.activation, &x);
  }
  const std::vector<double> bias = numbers(bias_, spec.activation);
  const std::vector<double> residual = numbers(residual_, spec.activation);
  for (std::int64_t token = 0; token < m_max; ++token) {
    for (std::int64_t row = 0; row < n; ++row) {
      const double* a = x.data() + token * k;
      const double* b = w.data() + row * k;
      double sums[4] = {};
      for (std::int64_t i = 0; i < k; i += 4) {
        for (int j = 0; j < 4; ++j) sums[j] += a[i + j] * b[i + j];
      }
      double y = sums[0] + sums[1] + sums[2] + sums[3];
      if (!bias.empty()) y += bias[static_cast<std::size_t>(row)];
      y = activated(spec.epilogue.activation, y);
      if (!residual.empty()) y += residual[static_cast<std::size_t>(token * n + row)];
      reference_.push_back(y);
    }
  }
}

GemmProblem::Buffers GemmProblem::allocate(emulator::GlobalMemory& memory, std::int64_t m) const {
  const auto copy = [&](const std::vector<std::uint16_t>& bits,
                        std::int64_t count) -> const std::uint8_t* {
    if (bits.empty()) return nullptr;
    return memory.allocate(bits.data(), static_cast<std::size_t>(2 * count), Access::kRead);
  };
  const std::int64_t n = spec_.shape.n;
  return {copy(x_, m * spec_.shape.k),
          memory.allocate(packed_.data(), packed_.size(), Access::kReadEarly),
          copy(bias_, n),
          copy(residual_, m * n),
          copy(pre_scale_, spec_.shape.k),
          memory.allocate(static_cast<std::size_t>(2 * m * n), Access::kWrite)};
}

Errors GemmProblem::errors(const std::uint8_t* y, std::int64_t m) const {
  double error = 0, norm = 0, most = 0;
  const auto count = static_cast<std::size_t>(m * spec_.shape.n);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, y + 2 * i, 2);
    const double off = float16_to_double(float16_format(spec_.activation), bits) - reference_[i];
    error += off * off;
    norm += reference_[i] * reference_[i];
    // Written so that a NaN stays.
    if (!(std::abs(off) <= most)) most = std::abs(off);
  }
  return {std::sqrt(error / norm), most / std::sqrt(norm / static_cast<double>(count))};
}

}  // namespace heddle
