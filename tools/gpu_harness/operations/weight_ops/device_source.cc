#include "tools/gpu_harness/operations/weight_ops/device_source.h"

#include <cstring>
#include <vector>

namespace heddle {
namespace {

constexpr std::size_t kAlignment = 256;

}  // namespace

DeviceSource::DeviceSource(const SourceTensors& tensors, const OwnedStream& stream) {
  const std::array<const void*, kTensors> data = {tensors.weights.data(), tensors.scales.data(),
                                                  tensors.zeros.data(), tensors.group_index.data(),
                                                  tensors.permutation.data()};
  sizes_ = {tensors.weights.size(), tensors.scales.size(), tensors.zeros.size(),
            4 * tensors.group_index.size(), 4 * tensors.permutation.size()};
  std::size_t total = 0;
  for (std::size_t i = 0; i < kTensors; ++i) {
    offsets_[i] = total;
    total += (sizes_[i] + kAlignment - 1) / kAlignment * kAlignment;
  }
  std::vector<std::uint8_t> all(total);
  for (std::size_t i = 0; i < kTensors; ++i) {
    if (sizes_[i] > 0) std::memcpy(&all[offsets_[i]], data[i], sizes_[i]);
  }
  buffer_ = to_device(all, stream);
}

WeightSource DeviceSource::get() const noexcept {
  const auto at = [this](std::size_t i) {
    return sizes_[i] == 0 ? DeviceInput() : buffer_.memory(offsets_[i], sizes_[i]);
  };
  WeightSource source;
  source.weights = at(0);
  source.scales = at(1);
  source.zeros = at(2);
  source.group_index = at(3);
  source.permutation = at(4);
  return source;
}

}  // namespace heddle
