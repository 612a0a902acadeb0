// The streaming GEMM's kernels, run on the CPU, against FP64.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "generator/decode/float16.h"
#include "heddle/weights.h"
#include "runtime/gemm_launch.h"
#include "tests/emulator/machine.h"
#include "tests/emulator/stream_cases.h"
#include "tests/emulator/stream_kernels.h"
#include "tools/gpu_harness/random_weights.h"

namespace heddle {
namespace {

using emulator::Access;

// Interleavings of each M.
constexpr unsigned kSeeds = 4;

// Rounding the output alone gives about 2e-4 in FP16 and 1.7e-3 in BF16; rounding the scaled weight
// as well up to 1.5 times that.
double error_limit(DType type) { return type == DType::kFp16 ? 5e-4 : 4e-3; }

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

// Random numbers of variance 1, and their bits.
struct Values {
  std::vector<std::uint16_t> bits;
  std::vector<double> numbers;
};
Values random_values(std::int64_t count, DType dtype, unsigned seed) {
  const Float16Format format = float16_format(dtype);
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Values values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.bits.push_back(float16_from_double(format, normal(random)));
    values.numbers.push_back(float16_to_double(format, values.bits.back()));
  }
  return values;
}

// The data of one case, and its outputs in FP64.
class Problem {
 public:
  explicit Problem(const StreamCase& stream_case)
      : plan_(stream_case.plan()), spec_(plan_.spec.gemm()) {
    const auto [n, k, m_min, m_max] = spec_.shape;
    const QuantizedWeights weights = random_weights({n, k}, spec_.weight, 1);
    packed_ = pack_weights(spec_, weights);
    plain_ = plain_numbers({n, k}, spec_.weight, spec_.activation, weights);
    codes_ = weights.codes;
    x_ = random_values(m_max * k, spec_.activation, 2);
    if (spec_.epilogue.bias) bias_ = random_values(n, spec_.activation, 3);
    if (spec_.epilogue.residual) residual_ = random_values(m_max * n, spec_.activation, 4);
    if (spec_.pre_scale) pre_scale_ = random_values(k, spec_.activation, 5);
    for (std::int64_t token = 0; token < m_max; ++token) {
      for (std::int64_t row = 0; row < n; ++row) reference_.push_back(output(token, row));
    }
  }

  const GemmSpec& spec() const { return spec_; }

  // The bits of Y.
  std::vector<std::uint16_t> run(StreamKernel* kernel, std::int64_t m, unsigned seed) const {
    const auto [n, k, m_min, m_max] = spec_.shape;
    emulator::GlobalMemory memory;
    const auto copy = [&](const Values& values, std::int64_t count) -> const std::uint8_t* {
      if (values.bits.empty()) return nullptr;
      return memory.allocate(values.bits.data(), static_cast<std::size_t>(2 * count),
                             Access::kRead);
    };
    const std::uint8_t* weights =
        memory.allocate(packed_.data(), packed_.size(), Access::kReadEarly);
    const std::uint8_t* x = copy(x_, m * k);
    const std::uint8_t* bias = copy(bias_, n);
    const std::uint8_t* residual = copy(residual_, m * n);
    const std::uint8_t* pre_scale = copy(pre_scale_, k);
    std::uint8_t* y = memory.allocate(static_cast<std::size_t>(2 * m * n), Access::kWrite);
    const GemmVariant& variant = plan_.variants[0];
    const LaunchGrid grid = gemm_blocks(plan_, variant, m).grid;
    emulator::run(
        {static_cast<int>(grid.x), variant.cluster, variant.threads(), variant.shared_bytes, seed},
        memory,
        [&] { kernel(x, weights, y, bias, residual, pre_scale, nullptr, static_cast<int>(m)); });
    EXPECT_TRUE(memory.guards_intact());
    std::vector<std::uint16_t> bits(static_cast<std::size_t>(m * n));
    std::memcpy(bits.data(), y, 2 * bits.size());
    return bits;
  }

  // Relative Frobenius norm.
  double error_of(const std::vector<std::uint16_t>& y) const {
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double got = float16_to_double(float16_format(spec_.activation), y[i]);
      error += (got - reference_[i]) * (got - reference_[i]);
      norm += reference_[i] * reference_[i];
    }
    return std::sqrt(error / norm);
  }

 private:
  double weight(std::int64_t row, std::int64_t column) const {
    const std::int64_t groups = spec_.shape.k / plain_.group_size;
    const auto group = static_cast<std::size_t>(row * groups + column / plain_.group_size);
    const std::uint8_t code = codes_[static_cast<std::size_t>(row * spec_.shape.k + column)];
    return (static_cast<double>(plain_.values[code]) - plain_.zeros[group]) * plain_.scales[group] *
           plain_.tensor_scale;
  }
  double output(std::int64_t token, std::int64_t row) const {
    double sum = 0;
    for (std::int64_t i = 0; i < spec_.shape.k; ++i) {
      double x = x_.numbers[static_cast<std::size_t>(token * spec_.shape.k + i)];
      if (spec_.pre_scale) {
        // Rounded, as the kernel has to do it.
        const Float16Format format = float16_format(spec_.activation);
        x = float16_to_double(
            format,
            float16_from_double(format, x * pre_scale_.numbers[static_cast<std::size_t>(i)]));
      }
      sum += x * weight(row, i);
    }
    if (spec_.epilogue.bias) sum += bias_.numbers[static_cast<std::size_t>(row)];
    sum = activated(spec_.epilogue.activation, sum);
    if (spec_.epilogue.residual) {
      sum += residual_.numbers[static_cast<std::size_t>(token * spec_.shape.n + row)];
    }
    return sum;
  }

  Plan plan_;
  GemmSpec spec_;
  std::vector<std::uint8_t> packed_;
  PlainNumbers plain_;
  std::vector<std::uint8_t> codes_;
  Values x_, bias_, residual_, pre_scale_;
  std::vector<double> reference_;
};

class EmulatedStream : public testing::TestWithParam<std::size_t> {};

TEST_P(EmulatedStream, ComputesTheProduct) {
  const Problem problem(stream_cases()[GetParam()]);
  const GemmSpec& spec = problem.spec();
  for (std::int64_t m = spec.shape.m_min; m <= spec.shape.m_max; ++m) {
    const std::vector<std::uint16_t> y = problem.run(stream_kernels[GetParam()], m, 0);
    ASSERT_LE(problem.error_of(y), error_limit(spec.activation)) << "M " << m;
    // Sums are added in one order, whoever comes first.
    for (unsigned seed = 1; seed < kSeeds; ++seed) {
      ASSERT_EQ(problem.run(stream_kernels[GetParam()], m, seed), y)
          << "M " << m << ", seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedStream,
                         testing::Range<std::size_t>(0, stream_cases().size()),
                         [](const testing::TestParamInfo<std::size_t>& info) {
                           return stream_cases()[info.param].name;
                         });

}  // namespace
}  // namespace heddle
