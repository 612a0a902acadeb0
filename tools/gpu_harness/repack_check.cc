#include "tools/gpu_harness/repack_check.h"

#include "runtime/context.h"

namespace heddle {

DeviceTensors::DeviceTensors(const CheckpointTensors& tensors, const OwnedStream& stream)
    : weights_(to_device(tensors.weights, stream)),
      scales_(to_device(tensors.scales, stream)),
      zeros_(to_device(tensors.zeros, stream)),
      permutation_(to_device(tensors.permutation, stream)) {}

WeightSource DeviceTensors::source() const {
  WeightSource source;
  source.weights = weights_.get();
  source.scales = scales_.get();
  source.zeros = zeros_.get();
  source.permutation = permutation_.get();
  return source;
}

std::size_t DeviceTensors::bytes() const {
  return weights_.bytes() + scales_.bytes() + zeros_.bytes() + permutation_.bytes();
}

ByteCheck run_repack(const Kernel& kernel, const CheckpointTensors& tensors) {
  const cuda::CurrentContext context;
  const OwnedStream stream;
  const DeviceTensors device(tensors, stream);
  return check_bytes(pack_on_host(kernel.plan().spec.weight_op(), tensors), stream,
                     [&](void* packed) {
                       kernel.launch(RepackArgs{device.source(), packed}, stream.get());
                     });
}

ByteCheck run_repack(const Kernel& kernel, std::uint32_t seed) {
  return run_repack(kernel, random_tensors(kernel.plan().spec.weight_op(), seed));
}

}  // namespace heddle
