#include "tools/gpu_harness/gemm_problem.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::size_t kGuardBytes = 4096;
constexpr unsigned char kPoison = 0xff;
constexpr int kScalePower = -7;  // scales lie between 2^-7 and 2^-6

std::int64_t groups_of(const GemmSpec& spec) {
  return spec.weight.group_size > 0 ? spec.shape.k / spec.weight.group_size : 1;
}

// The bits of a random scale of the given type, as many bytes as the type has.
std::uint32_t random_scale(std::mt19937& random, DType type) {
  const int mantissa = type == DType::kFp32 ? 23 : type == DType::kFp16 ? 10 : 7;
  const std::uint32_t bias = type == DType::kFp16 ? 15 : 127;
  return (bias + kScalePower) << mantissa | (random() & ((1U << mantissa) - 1));
}

QuantizedWeights random_weights(const GemmSpec& spec, std::uint32_t seed) {
  const auto n = static_cast<std::size_t>(spec.shape.n);
  const auto k = static_cast<std::size_t>(spec.shape.k);
  const std::size_t metadata = n * static_cast<std::size_t>(groups_of(spec));
  const auto mask = static_cast<std::uint32_t>((1 << spec.weight.bits) - 1);
  std::mt19937 random(seed);
  QuantizedWeights weights;
  weights.codes.resize(n * k);
  for (std::size_t i = 0; i < weights.codes.size(); i += 4) {
    std::uint32_t four = random();
    for (std::size_t j = i; j < std::min(i + 4, weights.codes.size()); ++j, four >>= 8) {
      weights.codes[j] = static_cast<std::uint8_t>(four & mask);
    }
  }
  const std::size_t scale_bytes = spec.weight.scale_dtype == DType::kFp32 ? 4 : 2;
  weights.scales.resize(metadata * scale_bytes);
  for (std::size_t i = 0; i < metadata; ++i) {
    const std::uint32_t bits = random_scale(random, spec.weight.scale_dtype);
    std::memcpy(&weights.scales[i * scale_bytes], &bits, scale_bytes);  // little-endian
  }
  if (spec.weight.zero_point == ZeroPoint::kInt) {
    weights.zeros.resize(metadata);
    for (std::uint8_t& zero : weights.zeros) zero = static_cast<std::uint8_t>(random() & mask);
  }
  return weights;
}

int scale_type_code(DType type) { return type == DType::kFp32 ? 2 : type == DType::kBf16 ? 1 : 0; }

int activation_code(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return 0;
    case Activation::kRelu:
      return 1;
    case Activation::kGelu:
      return 2;
    case Activation::kGeluTanh:
      return 3;
    case Activation::kSilu:
      return 4;
  }
  return 0;
}

}  // namespace

GemmProblem::GemmProblem(const Kernel& kernel, std::int64_t max_m, std::uint32_t seed)
    : spec_(kernel.plan().spec.gemm()) {
  if (spec_.weight.zero_point == ZeroPoint::kFloat) {
    throw Error(ErrorCategory::kUsage, "harness.zero_point",
                "the reference knows no float zero points");
  }
  const auto n = static_cast<std::uint64_t>(spec_.shape.n);
  const auto k = static_cast<std::uint64_t>(spec_.shape.k);
  const auto m = static_cast<std::uint64_t>(max_m);
  const QuantizedWeights weights = random_weights(spec_, seed);
  codes_ = to_device(weights.codes, stream_);
  scales_ = to_device(weights.scales, stream_);
  zeros_ = to_device(weights.zeros, stream_);
  packed_ = to_device(pack_weights(spec_, weights), stream_);
  x_ = random_activations(m * k, seed + 1);
  if (spec_.epilogue.bias) bias_ = random_activations(n, seed + 2);
  if (spec_.epilogue.residual) residual_ = random_activations(m * n, seed + 3);
  y_ = DeviceBuffer(2 * m * n + 2 * kGuardBytes);
  workspace_ = DeviceBuffer(kernel.max_workspace_bytes());
  workspace_.fill(0, stream_);
  sums_ = DeviceBuffer(2 * sizeof(double));
  weights_ = {codes_.get(),
              scales_.get(),
              zeros_.get(),
              static_cast<int>(n),
              static_cast<int>(k),
              static_cast<int>(groups_of(spec_)),
              spec_.weight.bits,
              spec_.weight.type == WeightType::kInt ? 1 : 0,
              scale_type_code(spec_.weight.scale_dtype)};
  stream_.synchronize();
}

DeviceBuffer GemmProblem::random_activations(std::uint64_t count, std::uint32_t seed) const {
  DeviceBuffer buffer(2 * count);
  helpers_.fill_normal(buffer.get(), count, seed, 1.0F, bf16(), stream_);
  return buffer;
}

GemmArgs GemmProblem::args(std::int64_t m) const {
  GemmArgs args;
  args.x = x_.get();
  args.weights = packed_.get();
  args.y = y_.get(kGuardBytes);
  args.bias = bias_.get();
  args.residual = residual_.get();
  args.workspace = workspace_.get();
  args.workspace_bytes = workspace_.bytes();
  args.m = m;
  return args;
}

void GemmProblem::poison_output(std::int64_t) { y_.fill(kPoison, stream_); }

bool GemmProblem::guards_intact(std::int64_t m) const {
  const std::size_t end =
      kGuardBytes + 2 * static_cast<std::size_t>(m) * static_cast<std::size_t>(spec_.shape.n);
  std::array<unsigned char, 2 * kGuardBytes> guards{};
  y_.download(guards.data(), 0, kGuardBytes, stream_);
  y_.download(guards.data() + kGuardBytes, end, kGuardBytes, stream_);
  return std::all_of(guards.begin(), guards.end(), [](unsigned char c) { return c == kPoison; });
}

void GemmProblem::make_reference(std::int64_t m, bool with_epilogue) {
  const std::size_t bytes =
      sizeof(double) * static_cast<std::size_t>(m) * static_cast<std::size_t>(spec_.shape.n);
  if (reference_.bytes() < bytes) reference_ = DeviceBuffer(bytes);
  helpers_.reference_gemm(weights_, x_.get(), with_epilogue ? bias_.get() : nullptr,
                          with_epilogue ? residual_.get() : nullptr, reference_.get(),
                          static_cast<int>(m), bf16(),
                          with_epilogue ? activation_code(spec_.epilogue.activation) : 0, stream_);
}

double GemmProblem::relative_error(std::int64_t m) {
  const auto count = static_cast<std::uint64_t>(m) * static_cast<std::uint64_t>(spec_.shape.n);
  sums_.fill(0, stream_);
  helpers_.compare(y_.get(kGuardBytes), reference_.get(), count, bf16(), sums_.get(), stream_);
  std::array<double, 2> sums{};
  sums_.download(sums.data(), 0, sizeof sums, stream_);
  return std::sqrt(sums[0] / sums[1]);
}

DeviceBuffer GemmProblem::rounded_weights() const {
  DeviceBuffer rounded(2 * codes_.bytes());
  helpers_.round_weights(weights_, rounded.get(), bf16(), stream_);
  return rounded;
}

bool GemmProblem::has_epilogue() const noexcept {
  const EpilogueSpec& epilogue = spec_.epilogue;
  return epilogue.bias || epilogue.residual || epilogue.activation != Activation::kNone;
}

double GemmProblem::traffic_bytes(std::int64_t m) const noexcept {
  const double tokens = static_cast<double>(m);
  const double n = static_cast<double>(spec_.shape.n);
  const double k = static_cast<double>(spec_.shape.k);
  const double extra =
      (spec_.epilogue.bias ? 2 * n : 0) + (spec_.epilogue.residual ? 2 * tokens * n : 0);
  // The packed weights hold their scales and zero points.
  return static_cast<double>(packed_.bytes()) + 2 * tokens * (n + k) + extra;
}

}  // namespace heddle
