#include "tools/gpu_harness/gemm_problem.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "generator/decode/float16.h"
#include "heddle/inspect/plan.h"
#include "tools/gpu_harness/byte_activations.h"
#include "tools/gpu_harness/output_codes.h"
#include "tools/gpu_harness/poison.h"

namespace heddle {

GemmProblem::GemmProblem(const GemmKernel& kernel, std::int64_t max_m, std::uint32_t seed)
    : GemmProblem(kernel.plan().spec.gemm(), max_m, seed) {
  renew_workspace(kernel);
  stream_.synchronize();
}

GemmProblem::GemmProblem(const GemmSpec& spec, std::int64_t max_m, std::uint32_t seed)
    : spec_(spec),
      weights_(spec_, seed, stream_),
      packed_(to_device(weights_.packed(), stream_)),
      tensors_(make_gemm_tensors(spec_, max_m, seed, helpers_, stream_)),
      sums_(2 * sizeof(double)),
      reference_x_(make_reference_x(max_m, seed)),
      columns_{tensors_.permutation.get(), tensors_.pre_scale.get(), reference_x_.scales.get()} {
  stream_.synchronize();
}

void GemmProblem::renew_workspace(const GemmKernel& kernel) {
  tensors_.renew_workspace(kernel.max_workspace_bytes(), stream_);
}

GemmArgs GemmProblem::args(std::int64_t m) const { return args(m, packed_.memory()); }

GemmArgs GemmProblem::args(std::int64_t m, const DeviceInput& weights) const {
  return tensors_.args(m, weights);
}

void GemmProblem::poison_output(std::int64_t) {
  tensors_.y.fill(kNanByte, stream_);
  if (spec_.output_scale.granularity != RowGranularity::kGroup) return;
  tensors_.y_scales.fill(kNanByte, stream_);
}

bool GemmProblem::guards_intact(std::int64_t m) const {
  const std::size_t end = kGuardBytes + static_cast<std::size_t>(m) * output_row_bytes(spec_);
  std::array<unsigned char, 2 * kGuardBytes> guards{};
  tensors_.y.download(guards.data(), 0, kGuardBytes, stream_);
  tensors_.y.download(guards.data() + kGuardBytes, end, kGuardBytes, stream_);
  return std::all_of(guards.begin(), guards.end(), [](unsigned char c) { return c == kNanByte; });
}

// Its rows are tokens, so that of fewer tokens is its beginning.
void GemmProblem::make_reference(std::int64_t m, bool with_epilogue) {
  if (with_epilogue == reference_has_epilogue_ && m <= reference_m_) return;
  reference_m_ = m;
  reference_has_epilogue_ = with_epilogue;
  ReferenceEpilogue epilogue = no_epilogue(spec_);
  if (with_epilogue) {
    epilogue = reference_epilogue(spec_);
    epilogue.bias = tensors_.bias.get();
    epilogue.residual = tensors_.residual.get();
  }
  const std::size_t bytes = sizeof(double) * static_cast<std::size_t>(reference_values(m));
  if (reference_.bytes() < bytes) reference_ = DeviceBuffer(bytes);
  const DeviceBuffer& x = spec_.has_byte_activations() ? reference_x_.values : tensors_.x;
  helpers_.reference_gemm(weights_.plain(), columns_, x.get(), epilogue, reference_.get(),
                          static_cast<int>(m), bf16(), stream_);
  const bool given = spec_.output_scale.granularity == RowGranularity::kTensor;
  if (with_epilogue && given) choose_output_scale();
}

std::vector<double> GemmProblem::expected(std::size_t count) const {
  std::vector<double> values(count);
  reference_.download(values.data(), 0, sizeof(double) * count, stream_);
  return values;
}

void GemmProblem::choose_output_scale() {
  constexpr std::int64_t kEnough = 1 << 16;
  const auto count = static_cast<std::size_t>(std::min(kEnough, reference_values(reference_m_)));
  const float scale = output_scale(spec_.output_dtype(), expected(count));
  tensors_.y_scales = to_device(std::vector<float>{scale}, stream_);
}

GemmProblem::ReferenceX GemmProblem::make_reference_x(std::int64_t max_m,
                                                      std::uint32_t seed) const {
  if (!spec_.has_byte_activations()) return {};
  const ByteActivations x = random_byte_activations(spec_, max_m, x_seed(seed));
  std::vector<std::uint16_t> halves;
  halves.reserve(x.codes.size());
  for (const float value : values_before_row_scales(spec_, x)) {
    halves.push_back(float16_from_double(kBinary16, value));
  }
  return {to_device(halves, stream_), to_device(row_scales(spec_, x, max_m), stream_)};
}

std::int64_t GemmProblem::reference_values(std::int64_t m) const noexcept {
  return m * (reference_has_epilogue_ ? spec_.output_columns() : spec_.shape.n);
}

double GemmProblem::relative_error(std::int64_t m) {
  const auto count = static_cast<std::uint64_t>(reference_values(m));
  if (reference_has_epilogue_ && spec_.has_byte_output()) return relative_error_of_codes(m);
  sums_.fill(0, stream_);
  helpers_.compare(tensors_.y.get(kGuardBytes), reference_.get(), count,
                   reference_has_epilogue_ ? spec_.output_dtype() : spec_.activation, sums_.get(),
                   stream_);
  std::array<double, 2> sums{};
  sums_.download(sums.data(), 0, sizeof sums, stream_);
  return std::sqrt(sums[0] / sums[1]);
}

// What the codes' own rounding does not explain.
double GemmProblem::relative_error_of_codes(std::int64_t m) const {
  const auto count = static_cast<std::size_t>(m * spec_.output_columns());
  const std::vector<double> values = expected(count);
  std::vector<std::uint8_t> codes(count);
  std::vector<std::uint8_t> scales(tensors_.y_scales.bytes());
  tensors_.y.download(codes.data(), kGuardBytes, count, stream_);
  tensors_.y_scales.download(scales.data(), 0, scales.size(), stream_);
  const CodeErrors errors = code_errors(spec_, m, codes.data(), scales.data(), values.data());
  return std::sqrt(errors.squares / errors.expected);
}

DeviceBuffer GemmProblem::rounded_weights() const { return weights_.rounded(helpers_, stream_); }

DeviceBuffer GemmProblem::arranged_x(std::int64_t m) const {
  DeviceBuffer arranged(static_cast<std::size_t>(2 * m * spec_.shape.k));
  helpers_.arrange_columns(columns_, tensors_.x.get(), arranged.get(),
                           static_cast<std::uint64_t>(m), static_cast<int>(spec_.shape.k), bf16(),
                           stream_);
  return arranged;
}

bool GemmProblem::has_epilogue() const noexcept {
  const EpilogueSpec& epilogue = spec_.epilogue;
  return epilogue.bias || epilogue.residual || epilogue.gated || spec_.output ||
         epilogue.activation != Activation::kNone;
}

}  // namespace heddle
