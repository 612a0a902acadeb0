#include "tools/gpu_harness/operations/gemm/data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "generator/decode/float16.h"
#include "heddle/inspect/plan.h"
#include "tools/gpu_harness/operations/gemm/byte_activations.h"
#include "tools/gpu_harness/operations/gemm/output_codes.h"

namespace heddle {

GemmData::GemmData(const GemmKernel& kernel, std::int64_t max_m, std::uint32_t seed)
    : GemmData(kernel.plan().spec.gemm(), max_m, seed) {
  renew_workspace(kernel);
  stream_.synchronize();
}

GemmData::GemmData(const GemmSpec& spec, std::int64_t max_m, std::uint32_t seed)
    : spec_(spec),
      weights_(spec_, seed, stream_),
      packed_(to_device(weights_.packed(), stream_)),
      tensors_(make_gemm_tensors(spec_, max_m, seed, helpers_, stream_)),
      sums_(2 * sizeof(double)),
      reference_x_(make_reference_x(max_m, seed)),
      columns_{tensors_.permutation.get(), tensors_.pre_scale.get(), reference_x_.scales.get()} {
  stream_.synchronize();
}

void GemmData::renew_workspace(const GemmKernel& kernel) {
  tensors_.renew_workspace(kernel.max_workspace_bytes(), stream_);
}

GemmArgs GemmData::args(std::int64_t m) const { return args(m, packed_.memory()); }

GemmArgs GemmData::args(std::int64_t m, const DeviceInput& weights) const {
  return tensors_.args(m, weights);
}

CheckedLaunch::Output GemmData::output(std::int64_t m) {
  return {&tensors_.y, static_cast<std::size_t>(m) * output_row_bytes(spec_)};
}

void GemmData::poison_output() {
  tensors_.y.fill(kNanByte, stream_);
  poison_scales();
}

void GemmData::poison_scales() {
  if (spec_.output_scale.granularity != RowGranularity::kGroup) return;
  tensors_.y_scales.fill(kNanByte, stream_);
}

bool GemmData::guards_intact(std::int64_t m) const {
  return tensors_.y.guards_intact(kNanByte, static_cast<std::size_t>(m) * output_row_bytes(spec_),
                                  stream_);
}

std::vector<std::uint8_t> GemmData::read_output(std::int64_t m) const {
  return tensors_.y.read(static_cast<std::size_t>(m) * output_row_bytes(spec_), stream_);
}

// Its rows are tokens, so that of fewer tokens is its beginning.
void GemmData::make_reference(std::int64_t m, bool with_epilogue) {
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

std::vector<double> GemmData::expected(std::size_t count) const {
  std::vector<double> values(count);
  reference_.download(values.data(), 0, sizeof(double) * count, stream_);
  return values;
}

void GemmData::choose_output_scale() {
  constexpr std::int64_t kEnough = 1 << 16;
  const auto count = static_cast<std::size_t>(std::min(kEnough, reference_values(reference_m_)));
  const float scale = output_scale(spec_.output_dtype(), expected(count));
  tensors_.y_scales = to_device(std::vector<float>{scale}, stream_);
}

GemmData::ReferenceX GemmData::make_reference_x(std::int64_t max_m, std::uint32_t seed) const {
  if (!spec_.has_byte_activations()) return {};
  const ByteActivations x = random_byte_activations(spec_, max_m, x_seed(seed));
  std::vector<std::uint16_t> halves;
  halves.reserve(x.codes.size());
  for (const float value : values_before_row_scales(spec_, x)) {
    halves.push_back(float16_from_double(kBinary16, value));
  }
  return {to_device(halves, stream_), to_device(row_scales(spec_, x, max_m), stream_)};
}

std::int64_t GemmData::reference_values(std::int64_t m) const noexcept {
  return m * (reference_has_epilogue_ ? spec_.output_columns() : spec_.shape.n);
}

double GemmData::relative_error(std::int64_t m) {
  const auto count = static_cast<std::uint64_t>(reference_values(m));
  if (reference_has_epilogue_ && spec_.has_byte_output()) return relative_error_of_codes(m);
  sums_.fill(0, stream_);
  helpers_.compare(tensors_.y.get(), reference_.get(), count,
                   reference_has_epilogue_ ? spec_.output_dtype() : spec_.activation, sums_.get(),
                   stream_);
  std::array<double, 2> sums{};
  sums_.download(sums.data(), 0, sizeof sums, stream_);
  return std::sqrt(sums[0] / sums[1]);
}

// What the codes' own rounding does not explain.
double GemmData::relative_error_of_codes(std::int64_t m) const {
  const auto count = static_cast<std::size_t>(m * spec_.output_columns());
  const std::vector<double> values = expected(count);
  const std::vector<std::uint8_t> codes = tensors_.y.read(count, stream_);
  std::vector<std::uint8_t> scales(tensors_.y_scales.bytes());
  tensors_.y_scales.download(scales.data(), 0, scales.size(), stream_);
  const CodeErrors errors = code_errors(spec_, m, codes.data(), scales.data(), values.data());
  return std::sqrt(errors.squares / errors.expected);
}

DeviceBuffer GemmData::rounded_weights() const { return weights_.rounded(helpers_, stream_); }

DeviceBuffer GemmData::arranged_x(std::int64_t m) const {
  DeviceBuffer arranged(static_cast<std::size_t>(2 * m * spec_.shape.k));
  helpers_.arrange_columns(columns_, tensors_.x.get(), arranged.get(),
                           static_cast<std::uint64_t>(m), static_cast<int>(spec_.shape.k), bf16(),
                           stream_);
  return arranged;
}

bool GemmData::has_epilogue() const noexcept {
  const EpilogueSpec& epilogue = spec_.epilogue;
  return epilogue.bias || epilogue.residual || epilogue.gated || spec_.output ||
         epilogue.activation != Activation::kNone;
}

}  // namespace heddle
