#include "tools/gpu_harness/gemm_problem.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "tools/gpu_harness/random_weights.h"

namespace heddle {
namespace {

constexpr std::size_t kGuardBytes = 4096;
constexpr unsigned char kPoison = 0xff;
// Each column once, in a random order.
std::vector<std::int32_t> random_permutation(std::int64_t k, std::uint32_t seed) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(k));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  return order;
}

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
  const auto n = static_cast<std::uint64_t>(spec_.shape.n);
  const auto k = static_cast<std::uint64_t>(spec_.shape.k);
  const auto m = static_cast<std::uint64_t>(max_m);
  const MatrixShape shape{spec_.shape.n, spec_.shape.k};
  const QuantizedWeights weights = random_weights(shape, spec_.weight, seed);
  const PlainNumbers plain = plain_numbers(shape, spec_.weight, spec_.activation, weights);
  codes_ = to_device(weights.codes, stream_);
  values_ = to_device(std::vector<float>(plain.values.begin(), plain.values.end()), stream_);
  scales_ = to_device(plain.scales, stream_);
  zeros_ = to_device(plain.zeros, stream_);
  packed_ = to_device(pack_weights(spec_, weights), stream_);
  x_ = random_activations(m * k, seed + 1);
  if (spec_.epilogue.bias) bias_ = random_activations(n, seed + 2);
  if (spec_.epilogue.residual) residual_ = random_activations(m * n, seed + 3);
  if (spec_.pre_scale) pre_scale_ = random_activations(k, seed + 4);
  if (spec_.act_order) permutation_ = to_device(random_permutation(spec_.shape.k, seed), stream_);
  y_ = DeviceBuffer(2 * m * n + 2 * kGuardBytes);
  workspace_ = DeviceBuffer(kernel.max_workspace_bytes());
  workspace_.fill(0, stream_);
  sums_ = DeviceBuffer(2 * sizeof(double));
  weights_ = {codes_.get(),        values_.get(),
              scales_.get(),       zeros_.get(),
              plain.tensor_scale,  static_cast<int>(n),
              static_cast<int>(k), static_cast<int>(plain.group_size)};
  columns_ = {permutation_.get(), pre_scale_.get()};
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
  args.pre_scale = pre_scale_.get();
  args.permutation = permutation_.get();
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
  helpers_.reference_gemm(weights_, columns_, x_.get(), with_epilogue ? bias_.get() : nullptr,
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

DeviceBuffer GemmProblem::arranged_x(std::int64_t m) const {
  DeviceBuffer arranged(static_cast<std::size_t>(2 * m * spec_.shape.k));
  helpers_.arrange_columns(columns_, x_.get(), arranged.get(), static_cast<std::uint64_t>(m),
                           static_cast<int>(spec_.shape.k), bf16(), stream_);
  return arranged;
}

bool GemmProblem::has_epilogue() const noexcept {
  const EpilogueSpec& epilogue = spec_.epilogue;
  return epilogue.bias || epilogue.residual || epilogue.activation != Activation::kNone;
}

double GemmProblem::traffic_bytes(std::int64_t m) const noexcept {
  const double tokens = static_cast<double>(m);
  const double n = static_cast<double>(spec_.shape.n);
  const double k = static_cast<double>(spec_.shape.k);
  const double extra = (spec_.epilogue.bias ? 2 * n : 0) + (spec_.pre_scale ? 2 * k : 0) +
                       (spec_.act_order ? 4 * k + 4 * tokens * k : 0) +
                       (spec_.epilogue.residual ? 2 * tokens * n : 0);
  // The packed weights hold their scales and zero points.
  return static_cast<double>(packed_.bytes()) + 2 * tokens * (n + k) + extra;
}

}  // namespace heddle
