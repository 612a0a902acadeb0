#include "tools/gpu_harness/row_device.h"

#include <algorithm>

#include "tools/gpu_harness/poison.h"
#include "tools/gpu_harness/row_codes.h"

namespace heddle {
namespace {

DeviceBuffer between_guards(std::size_t bytes) {
  return bytes == 0 ? DeviceBuffer() : DeviceBuffer(bytes + 2 * kGuardBytes);
}

DeviceOutput between_its_guards(const DeviceBuffer& buffer) {
  if (buffer.bytes() == 0) return {};
  return buffer.memory(kGuardBytes, buffer.bytes() - 2 * kGuardBytes);
}

bool is_poison(unsigned char byte) { return byte == kGuardByte; }

std::vector<unsigned char> all_bytes(const DeviceBuffer& buffer, const OwnedStream& stream) {
  std::vector<unsigned char> bytes(buffer.bytes());
  if (!bytes.empty()) buffer.download(bytes.data(), 0, bytes.size(), stream);
  return bytes;
}

bool has_intact_guards(const std::vector<unsigned char>& bytes) {
  constexpr auto kGuard = static_cast<std::ptrdiff_t>(kGuardBytes);
  return bytes.empty() || (std::all_of(bytes.begin(), bytes.begin() + kGuard, is_poison) &&
                           std::all_of(bytes.end() - kGuard, bytes.end(), is_poison));
}

// What lies between the guards.
template <class Value>
std::vector<Value> values_of(const DeviceBuffer& buffer, const OwnedStream& stream) {
  if (buffer.bytes() == 0) return {};
  const std::size_t bytes = buffer.bytes() - 2 * kGuardBytes;
  std::vector<Value> values(bytes / sizeof(Value));
  buffer.download(values.data(), kGuardBytes, bytes, stream);
  return values;
}

}  // namespace

DeviceRows::DeviceRows(const RowTransformSpec& spec, const RowProblem& problem,
                       const OwnedStream& stream)
    : spec_(spec),
      problem_(problem),
      x_(to_device(problem.x, stream)),
      weight_(to_device(problem.weight, stream)),
      bias_(to_device(problem.bias, stream)),
      pre_scale_(to_device(problem.pre_scale, stream)),
      y_(between_guards(
          static_cast<std::size_t>(problem.m * problem.y_stride * bytes_of(spec.output.dtype)))),
      residual_(between_guards(2 * problem.residual.size())),
      scales_(between_guards(row_scale_bytes(spec, problem.m, problem.scale_stride))) {
  if (spec.output.granularity == RowGranularity::kTensor) {
    tensor_scale_ = to_device(std::vector<float>{problem.tensor_scale}, stream);
  }
  if (!spec.output.symmetric) {
    zero_points_ = between_guards(static_cast<std::size_t>(problem.m) * sizeof(std::int32_t));
  }
  reset(stream);
}

RowTransformArgs DeviceRows::args() const {
  RowTransformArgs args;
  args.x = x_.memory();
  args.y = between_its_guards(y_);
  args.x_stride = problem_.x_stride;
  args.y_stride = problem_.y_stride;
  args.residual = between_its_guards(residual_);
  args.weight = weight_.memory();
  args.bias = bias_.memory();
  args.m = problem_.m;
  args.pre_scale = pre_scale_.memory();
  args.tensor_scale = tensor_scale_.memory();
  args.scales = between_its_guards(scales_);
  args.scale_stride = problem_.scale_stride;
  args.zero_points = between_its_guards(zero_points_);
  return args;
}

void DeviceRows::reset(const OwnedStream& stream) {
  for (DeviceBuffer* const buffer : {&y_, &residual_, &scales_, &zero_points_}) {
    if (buffer->bytes() != 0) buffer->fill(kGuardByte, stream);
  }
  residual_.upload(problem_.residual.data(), 2 * problem_.residual.size(), stream, kGuardBytes);
}

WrittenRows DeviceRows::written(const OwnedStream& stream) const {
  return {values_of<std::uint8_t>(y_, stream), values_of<std::uint16_t>(residual_, stream),
          values_of<std::uint8_t>(scales_, stream), values_of<std::int32_t>(zero_points_, stream)};
}

bool DeviceRows::guards_intact(const OwnedStream& stream) const {
  const std::vector<unsigned char> y = all_bytes(y_, stream);
  const std::vector<unsigned char> scales = all_bytes(scales_, stream);
  if (!has_intact_guards(y) || !has_intact_guards(scales) ||
      !has_intact_guards(all_bytes(residual_, stream)) ||
      !has_intact_guards(all_bytes(zero_points_, stream))) {
    return false;
  }
  const int element = bytes_of(spec_.output.dtype);
  for (std::int64_t row = 0; row < problem_.m; ++row) {
    const auto end = y.begin() + static_cast<std::ptrdiff_t>(kGuardBytes);
    const std::ptrdiff_t first = element * (row * problem_.y_stride + spec_.shape.columns);
    const std::ptrdiff_t next = element * (row + 1) * problem_.y_stride;
    if (!std::all_of(end + first, end + next, is_poison)) return false;
  }
  const std::vector<bool> written = written_scale_bytes(spec_, problem_);
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (!written[i] && !is_poison(scales[kGuardBytes + i])) return false;
  }
  return true;
}

}  // namespace heddle
