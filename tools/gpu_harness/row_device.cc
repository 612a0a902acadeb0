#include "tools/gpu_harness/row_device.h"

#include <algorithm>

namespace heddle {
namespace {

using Halves = std::vector<std::uint16_t>;

DeviceBuffer between_guards(std::size_t bytes) {
  return bytes == 0 ? DeviceBuffer() : DeviceBuffer(bytes + 2 * DeviceRows::kGuardBytes);
}

DeviceOutput between_its_guards(const DeviceBuffer& buffer) {
  if (buffer.bytes() == 0) return {};
  return buffer.memory(DeviceRows::kGuardBytes, buffer.bytes() - 2 * DeviceRows::kGuardBytes);
}

bool is_poison(unsigned char byte) { return byte == DeviceRows::kGuardByte; }

std::vector<unsigned char> all_bytes(const DeviceBuffer& buffer, const OwnedStream& stream) {
  std::vector<unsigned char> bytes(buffer.bytes());
  if (!bytes.empty()) buffer.download(bytes.data(), 0, bytes.size(), stream);
  return bytes;
}

bool has_intact_guards(const std::vector<unsigned char>& bytes) {
  constexpr auto kGuard = static_cast<std::ptrdiff_t>(DeviceRows::kGuardBytes);
  return bytes.empty() || (std::all_of(bytes.begin(), bytes.begin() + kGuard, is_poison) &&
                           std::all_of(bytes.end() - kGuard, bytes.end(), is_poison));
}

}  // namespace

DeviceRows::DeviceRows(const RowProblem& problem, const OwnedStream& stream)
    : problem_(problem),
      x_(to_device(problem.x, stream)),
      weight_(to_device(problem.weight, stream)),
      bias_(to_device(problem.bias, stream)),
      y_(between_guards(static_cast<std::size_t>(2 * problem.m * problem.y_stride))),
      residual_(between_guards(2 * problem.residual.size())) {
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
  return args;
}

void DeviceRows::reset(const OwnedStream& stream) {
  y_.fill(kGuardByte, stream);
  residual_.fill(kGuardByte, stream);
  residual_.upload(problem_.residual.data(), 2 * problem_.residual.size(), stream, kGuardBytes);
}

Halves DeviceRows::y(const OwnedStream& stream) const {
  Halves values(static_cast<std::size_t>(problem_.m * problem_.y_stride));
  y_.download(values.data(), kGuardBytes, 2 * values.size(), stream);
  return values;
}

Halves DeviceRows::residual(const OwnedStream& stream) const {
  Halves values(problem_.residual.size());
  if (!values.empty()) residual_.download(values.data(), kGuardBytes, 2 * values.size(), stream);
  return values;
}

bool DeviceRows::guards_intact(std::int64_t columns, const OwnedStream& stream) const {
  const std::vector<unsigned char> y = all_bytes(y_, stream);
  if (!has_intact_guards(y) || !has_intact_guards(all_bytes(residual_, stream))) return false;
  for (std::int64_t row = 0; row < problem_.m; ++row) {
    const auto end = y.begin() + static_cast<std::ptrdiff_t>(kGuardBytes);
    const std::ptrdiff_t first = 2 * (row * problem_.y_stride + columns);
    const std::ptrdiff_t next = 2 * (row + 1) * problem_.y_stride;
    if (!std::all_of(end + first, end + next, is_poison)) return false;
  }
  return true;
}

}  // namespace heddle
