#include "tests/emulator/gemm_problem.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "generator/decode/float16.h"
#include "heddle/weights.h"
#include "runtime/launch/group_scales.h"
#include "tools/gpu_harness/numbers/activated.h"
#include "tools/gpu_harness/numbers/random_weights.h"
#include "tools/gpu_harness/operations/gemm/output_codes.h"

namespace heddle {
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
  const PlainNumbers plain = plain_numbers({n, k}, spec.weight, code_dtype(spec), weights);
  std::vector<double> values;
  for (std::int64_t i = 0; i < n * k; ++i) {
    const auto group = static_cast<std::size_t>(i / k * plain.groups +
                                                (i % k + plain.group_offset) / plain.group_size);
    const double value = plain.values[code_at(spec.weight, weights, static_cast<std::size_t>(i))];
    values.push_back((value - plain.zeros[group]) * plain.scales[group] * plain.tensor_scale);
  }
  return values;
}

namespace {

using emulator::Access;

void append_bytes(const double value, DType dtype, std::vector<std::uint8_t>* bytes) {
  std::uint8_t raw[4] = {};
  if (dtype == DType::kFp32) {
    const auto single = static_cast<float>(value);
    std::memcpy(raw, &single, 4);
  } else {
    const std::uint16_t bits = float16_from_double(float16_format(dtype), value);
    std::memcpy(raw, &bits, 2);
  }
  bytes->insert(bytes->end(), raw, raw + bytes_of(dtype));
}

double value_at(const std::uint8_t* bytes, DType dtype) {
  if (dtype == DType::kFp32) {
    float single = 0;
    std::memcpy(&single, bytes, 4);
    return single;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes, 2);
  return float16_to_double(float16_format(dtype), bits);
}

// Random values as a kernel reads them, in 16 or 32 bits, and what they are.
std::vector<double> random_stored(std::int64_t count, DType dtype, unsigned seed,
                                  std::vector<std::uint8_t>* bytes) {
  const DType drawn = dtype == DType::kFp32 ? DType::kFp16 : dtype;
  const std::vector<double> values = numbers(random_values(count, drawn, seed), drawn);
  for (const double value : values) append_bytes(value, dtype, bytes);
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

double error_limit(const GemmSpec& spec) {
  const bool bf16 = spec.activation == DType::kBf16 || spec.output_dtype() == DType::kBf16;
  return bf16 ? 4e-3 : 5e-4;
}

GemmProblem::GemmProblem(const GemmSpec& spec) : spec_(spec) {
  const std::int64_t n = spec.shape.n;
  const std::int64_t k = spec.shape.k;
  const std::int64_t m_max = spec.shape.m_max;
  const QuantizedWeights weights = random_weights({n, k}, spec.weight, 1);
  packed_ = pack_weights(spec, weights);
  std::vector<double> x = make_x(m_max);
  std::vector<double> bias, residual;
  if (spec.epilogue.bias) bias = random_stored(n, spec.bias_dtype(), 3, &bias_);
  const std::int64_t columns = spec.output_columns();
  if (spec.epilogue.residual) {
    residual = random_stored(m_max * columns, spec.residual_dtype(), 4, &residual_);
  }
  if (spec.pre_scale) pre_scale_ = random_values(k, spec.activation, 5);
  const std::vector<double> w = plain_weights(spec, weights);
  if (spec.pre_scale) {
    scale_columns(numbers(pre_scale_, spec.activation), spec.activation, &x);
  }
  const auto sum_of = [&](std::int64_t token, std::int64_t row) {
    const double* a = x.data() + token * k;
    const double* b = w.data() + row * k;
    double sums[4] = {};
    for (std::int64_t i = 0; i < k; i += 4) {
      for (int j = 0; j < 4; ++j) sums[j] += a[i + j] * b[i + j];
    }
    const double sum = sums[0] + sums[1] + sums[2] + sums[3];
    return bias.empty() ? sum : sum + bias[static_cast<std::size_t>(row)];
  };
  const EpilogueSpec& epilogue = spec.epilogue;
  for (std::int64_t token = 0; token < m_max; ++token) {
    for (std::int64_t row = 0; row < columns; ++row) {
      const double sum = sum_of(token, row);
      double y = epilogue.gated ? activated(epilogue, sum, sum_of(token, columns + row))
                                : activated(epilogue.activation, sum);
      if (!residual.empty()) y += residual[static_cast<std::size_t>(token * columns + row)];
      reference_.push_back(y);
    }
  }
  if (spec.has_byte_output()) y_scale_ = output_scale(spec.output_dtype(), reference_);
}

// X in numbers.
std::vector<double> GemmProblem::make_x(std::int64_t m) {
  constexpr unsigned kSeed = 2;
  if (!spec_.has_byte_activations()) {
    x_ = random_values(m * spec_.shape.k, spec_.activation, kSeed);
    return numbers(x_, spec_.activation);
  }
  bytes_ = random_byte_activations(spec_, m, kSeed);
  const std::vector<float> values = values_before_row_scales(spec_, bytes_);
  const std::vector<float> scales = row_scales(spec_, bytes_, m);
  std::vector<double> x(values.begin(), values.end());
  const auto k = static_cast<std::size_t>(spec_.shape.k);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= scales[i / k];
  return x;
}

std::size_t GemmProblem::value_bytes() const {
  return static_cast<std::size_t>(bytes_of(spec_.output_dtype()));
}

std::size_t GemmProblem::output_bytes(std::int64_t m) const {
  return static_cast<std::size_t>(m * spec_.output_columns()) * value_bytes();
}

std::size_t GemmProblem::scale_bytes(std::int64_t m) const {
  const bool finds = spec_.output_scale.granularity == RowGranularity::kGroup;
  return finds ? output_scales(spec_).bytes(m, 0) : 0;
}

std::vector<std::uint8_t> GemmProblem::written(const Buffers& buffers, std::int64_t m) const {
  std::vector<std::uint8_t> bytes(buffers.y, buffers.y + output_bytes(m));
  bytes.insert(bytes.end(), buffers.y_scales, buffers.y_scales + scale_bytes(m));
  return bytes;
}

GemmProblem::Buffers GemmProblem::allocate(emulator::GlobalMemory& memory, std::int64_t m) const {
  const auto copy = [&](const std::vector<std::uint16_t>& bits,
                        std::int64_t count) -> const std::uint8_t* {
    if (bits.empty()) return nullptr;
    return memory.allocate(bits.data(), static_cast<std::size_t>(2 * count), Access::kRead);
  };
  const auto copy_of = [&](const auto& values, std::int64_t count) -> const std::uint8_t* {
    const auto most = std::min(values.size(), static_cast<std::size_t>(count));
    if (values.empty()) return nullptr;
    return memory.allocate(values.data(), most * sizeof values[0], Access::kRead);
  };
  const bool is_bytes = spec_.has_byte_activations();
  const std::int64_t count = m * spec_.shape.k;
  const auto most_scales = static_cast<std::int64_t>(bytes_.scale_bits.size());
  const std::size_t outputs = output_bytes(m);
  const std::uint8_t* residual =
      residual_.empty()
          ? nullptr
          : memory.allocate(residual_.data(),
                            static_cast<std::size_t>(m * spec_.output_columns() *
                                                     bytes_of(spec_.residual_dtype())),
                            Access::kRead);
  return {is_bytes ? copy_of(bytes_.codes, count) : copy(x_, count),
          memory.allocate(packed_.data(), packed_.size(), Access::kReadEarly),
          copy_of(bias_, static_cast<std::int64_t>(bias_.size())),
          residual,
          copy(pre_scale_, spec_.shape.k),
          memory.allocate(outputs, Access::kWrite),
          copy_of(bytes_.scale_bits, bytes_.scale_stride == 0 ? m : most_scales),
          copy_of(bytes_.zero_points, m),
          bytes_.scale_stride,
          allocate_output_scales(memory, m)};
}

std::uint8_t* GemmProblem::allocate_output_scales(emulator::GlobalMemory& memory,
                                                  std::int64_t m) const {
  if (!spec_.has_byte_output()) return nullptr;
  if (const std::size_t bytes = scale_bytes(m); bytes != 0) {
    return memory.allocate(bytes, Access::kWrite);
  }
  return memory.allocate(&y_scale_, sizeof y_scale_, Access::kReadEarly);
}

Errors GemmProblem::errors(const std::uint8_t* y, std::int64_t m,
                           const std::uint8_t* scales) const {
  if (spec_.has_byte_output()) {
    const auto* const given = reinterpret_cast<const std::uint8_t*>(&y_scale_);
    const CodeErrors of_codes =
        code_errors(spec_, m, y, scales == nullptr ? given : scales, reference_.data());
    const auto values = static_cast<double>(m * spec_.output_columns());
    return {std::sqrt(of_codes.squares / of_codes.expected),
            of_codes.most / std::sqrt(of_codes.expected / values)};
  }
  double error = 0, norm = 0, most = 0;
  const auto count = static_cast<std::size_t>(m * spec_.output_columns());
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* at = y + value_bytes() * i;
    const double off = value_at(at, spec_.output_dtype()) - reference_[i];
    error += off * off;
    norm += reference_[i] * reference_[i];
    // Written so that a NaN stays.
    if (!(std::abs(off) <= most)) most = std::abs(off);
  }
  return {std::sqrt(error / norm), most / std::sqrt(norm / static_cast<double>(count))};
}

}  // namespace heddle
