// Facts: the tables behind target_from_name.
#ifndef HEDDLE_GENERATOR_TARGET_FACTS_H_
#define HEDDLE_GENERATOR_TARGET_FACTS_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace heddle {

// What holds for every device of one compute capability.
struct ArchitectureFacts {
  int arch = 0;             // 10 * major + minor
  int shared_per_sm = 0;    // KiB
  int shared_reserved = 0;  // KiB of it that a block cannot have
  int threads_per_sm = 0;
  std::string_view device;  // whose figures stand for the architecture
};

struct DeviceFacts {
  std::string_view name;
  int arch = 0;
  int sm_count = 0;
  double l2_mib = 0;
  double memory_gb_per_s = 0;
  double sm_mhz = 0;
  double tensor_tflops = 0;  // as in Target
  double launch_us = 0;
  std::string_view driver_name = {};  // without brands, where it says more than the name
};

inline std::int64_t l2_bytes_of(const DeviceFacts& device) {
  return static_cast<std::int64_t>(device.l2_mib * (1 << 20));
}

std::span<const ArchitectureFacts> architecture_facts();
std::span<const DeviceFacts> device_facts();

// The device that the driver calls `driver_name` ("NVIDIA H200"); null if the table has none of
// that name.
const DeviceFacts* facts_of_device(std::string_view driver_name);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_TARGET_FACTS_H_
