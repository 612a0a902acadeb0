#ifndef HEDDLE_RUNTIME_LAUNCH_BYTE_POINTERS_H_
#define HEDDLE_RUNTIME_LAUNCH_BYTE_POINTERS_H_

#include <cstdint>

#include "heddle/device_memory.h"

namespace heddle {

// The caller's memory as the parameters of kernels have it.
inline unsigned char* bytes(const DeviceOutput& memory) noexcept {
  return static_cast<unsigned char*>(memory.data);
}
inline const unsigned char* bytes(const DeviceInput& memory) noexcept {
  return static_cast<const unsigned char*>(memory.data);
}
inline const std::int32_t* integers(const DeviceInput& memory) noexcept {
  return static_cast<const std::int32_t*>(memory.data);
}
inline std::int32_t* integers(const DeviceOutput& memory) noexcept {
  return static_cast<std::int32_t*>(memory.data);
}
inline const float* floats(const DeviceInput& memory) noexcept {
  return static_cast<const float*>(memory.data);
}
inline float* floats(const DeviceOutput& memory) noexcept {
  return static_cast<float*>(memory.data);
}

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_LAUNCH_BYTE_POINTERS_H_
