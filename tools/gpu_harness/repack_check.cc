#include "tools/gpu_harness/repack_check.h"

#include "heddle/inspect/plan.h"
#include "heddle/weight_kernels.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/device_source.h"

namespace heddle {

ByteCheck run_repack(const Kernel& kernel, const SourceTensors& tensors) {
  const cuda::CurrentContext context;
  const OwnedStream stream;
  const DeviceSource device(tensors, stream);
  return check_bytes(pack_on_host(kernel.plan().spec.weight_op(), tensors), stream,
                     [&](const DeviceOutput& packed) {
                       RepackKernel(kernel).launch(RepackArgs{device.get(), packed}, stream.get());
                     });
}

ByteCheck run_repack(const Kernel& kernel, std::uint32_t seed) {
  return run_repack(kernel, random_tensors(kernel.plan().spec.weight_op(), seed));
}

}  // namespace heddle
