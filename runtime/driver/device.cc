#include "runtime/driver/device.h"

#include <array>

#include "generator/target/facts.h"
#include "runtime/driver/driver.h"

namespace heddle {
namespace {

int attribute(cuda::CUdevice_attribute which, cuda::CUdevice device) {
  int value = 0;
  cuda::check(cuda::driver().cuDeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute");
  return value;
}

// Newer drivers may no longer tell the memory's clock: 0 then. It is in kHz, of a memory that
// moves two words per cycle.
double memory_gb_per_s(cuda::CUdevice device) {
  const cuda::Driver& cu = cuda::driver();
  int khz = 0;
  int bits = 0;
  if (cu.cuDeviceGetAttribute(&khz, cuda::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, device) !=
          cuda::CUDA_SUCCESS ||
      cu.cuDeviceGetAttribute(&bits, cuda::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, device) !=
          cuda::CUDA_SUCCESS) {
    return 0;
  }
  return 2.0 * khz * 1e3 * (bits / 8.0) / 1e9;
}

// 0 where the driver does not say it.
double sm_mhz(cuda::CUdevice device) {
  int khz = 0;
  const auto result =
      cuda::driver().cuDeviceGetAttribute(&khz, cuda::CU_DEVICE_ATTRIBUTE_CLOCK_RATE, device);
  return result == cuda::CUDA_SUCCESS ? khz / 1e3 : 0;
}

}  // namespace

Target target_of_device(cuda::CUdevice device) {
  std::array<char, 256> name{};
  cuda::check(cuda::driver().cuDeviceGetName(name.data(), static_cast<int>(name.size()), device),
              "cuDeviceGetName");
  Target target;
  target.name = name.data();
  target.major = attribute(cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  target.minor = attribute(cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  target.sm_count = attribute(cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  target.shared_per_block =
      attribute(cuda::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device);
  target.shared_per_sm =
      attribute(cuda::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, device);
  target.registers_per_sm =
      attribute(cuda::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, device);
  target.threads_per_sm =
      attribute(cuda::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device);
  target.l2_bytes = attribute(cuda::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device);
  target.memory_gb_per_s = memory_gb_per_s(device);
  target.sm_mhz = sm_mhz(device);
  if (const DeviceFacts* known = facts_of_device(target.name)) {
    // Equal to the digit to what there is on a machine without the GPU: plans follow from them.
    target.l2_bytes = l2_bytes_of(*known);
    target.memory_gb_per_s = known->memory_gb_per_s;
    target.sm_mhz = known->sm_mhz;
    target.tensor_tflops = known->tensor_tflops;
    target.launch_us = known->launch_us;
  }
  return target;
}

}  // namespace heddle
