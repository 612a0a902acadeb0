#include "tools/gpu_harness/operations/gemm/device_weights.h"

#include "generator/layout/plain_sizes.h"
#include "heddle/weights.h"
#include "tools/gpu_harness/numbers/random_weights.h"
#include "tools/gpu_harness/operations/gemm/byte_activations.h"

namespace heddle {

DeviceWeights::DeviceWeights(const GemmSpec& spec, std::uint32_t seed, const OwnedStream& stream)
    : bf16_(spec.activation == DType::kBf16) {
  const MatrixShape shape{spec.shape.n, spec.shape.k};
  const QuantizedWeights weights = random_weights(shape, spec.weight, seed);
  const PlainNumbers plain = plain_numbers(shape, spec.weight, code_dtype(spec), weights);
  packed_ = pack_weights(spec, weights);
  codes_ = to_device(weights.codes, stream);
  values_ = to_device(plain.values, stream);
  scales_ = to_device(plain.scales, stream);
  zeros_ = to_device(plain.zeros, stream);
  plain_ = {codes_.get(),
            values_.get(),
            scales_.get(),
            zeros_.get(),
            plain.tensor_scale,
            static_cast<int>(shape.n),
            static_cast<int>(shape.k),
            static_cast<int>(plain.group_size),
            static_cast<int>(plain.group_offset),
            static_cast<int>(plain.groups),
            static_cast<int>(code_bytes(spec.weight))};
}

DeviceBuffer DeviceWeights::rounded(const HelperKernels& helpers, const OwnedStream& stream) const {
  DeviceBuffer rounded(2 * static_cast<std::size_t>(plain_.n) * static_cast<std::size_t>(plain_.k));
  helpers.round_weights(plain_, rounded.get(), bf16_, stream);
  return rounded;
}

}  // namespace heddle
