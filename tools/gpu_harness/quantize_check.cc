#include "tools/gpu_harness/quantize_check.h"

#include <algorithm>
#include <random>

#include "heddle/inspect/plan.h"
#include "heddle/weight_kernels.h"
#include "heddle/weights.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/checkpoint_tensors.h"

namespace heddle {
namespace {

// 16-bit floats by their bits: `one` is 1.0's, `largest` the largest finite one's.
class RandomBits {
 public:
  RandomBits(DType dtype, std::uint32_t seed)
      : one_(dtype == DType::kBf16 ? 0x3F80 : 0x3C00),
        largest_(dtype == DType::kBf16 ? 0x7F7F : 0x7BFF),
        random_(seed) {}

  std::uint32_t any() { return random_(); }
  // The next bits of a run of the given kind.
  std::uint16_t next(std::uint32_t kind) {
    const std::uint32_t bits = random_();
    const std::uint32_t sign = bits & 0x8000;
    switch (kind) {
      case 0:
        return static_cast<std::uint16_t>(sign);
      case 1:
        return static_cast<std::uint16_t>(bits % one_);  // no negative one
      case 2:
        return static_cast<std::uint16_t>(0x8000 | bits % one_);
      case 3:
        return static_cast<std::uint16_t>(sign | (bits >> 16 & 0x7F));  // subnormals
      case 4:
        return static_cast<std::uint16_t>(sign | largest_);
      case 5:
        return static_cast<std::uint16_t>(bits);
      default:
        return static_cast<std::uint16_t>(sign | (one_ - (bits >> 16 & 0x07FF)));
    }
  }

 private:
  std::uint32_t one_;
  std::uint32_t largest_;
  std::mt19937 random_;
};

}  // namespace

std::vector<std::uint16_t> random_matrix(const WeightOpSpec& spec, std::uint32_t seed) {
  constexpr std::size_t kRun = 16;
  constexpr std::uint32_t kRunKinds = 40;  // most of them ordinary
  RandomBits values(spec.dtype, seed);
  std::vector<std::uint16_t> w(static_cast<std::size_t>(spec.shape.n * spec.shape.k));
  const std::size_t run = spec.weight.group_size > 0
                              ? static_cast<std::size_t>(spec.weight.group_size)
                              : static_cast<std::size_t>(spec.shape.k);
  for (std::size_t first = 0; first < w.size(); first += run) {
    // One kind for the group, and now and then another for a part of it.
    const std::uint32_t kind = values.any() % kRunKinds;
    for (std::size_t part = first; part < std::min(first + run, w.size()); part += kRun) {
      const std::uint32_t own = values.any() % 64 == 0 ? values.any() % 5 : kind;
      for (std::size_t i = part; i < part + kRun; ++i) w[i] = values.next(own);
    }
  }
  return w;
}

std::vector<std::uint8_t> quantize_on_host(const WeightOpSpec& spec,
                                           const std::vector<std::uint16_t>& w) {
  return pack_weights(gemm_spec_of(spec), quantize_weights(spec, w));
}

ByteCheck run_quantize_weight(const Kernel& kernel, std::uint32_t seed) {
  const cuda::CurrentContext context;
  const OwnedStream stream;
  const WeightOpSpec& spec = kernel.plan().spec.weight_op();
  const std::vector<std::uint16_t> w = random_matrix(spec, seed);
  const DeviceBuffer device = to_device(w, stream);
  return check_bytes(quantize_on_host(spec, w), stream, [&](const DeviceOutput& packed) {
    QuantizeWeightKernel(kernel).launch(QuantizeWeightArgs{device.memory(), packed}, stream.get());
  });
}

}  // namespace heddle
