// Device memory that a launch takes: where it begins and how many bytes it has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle {

// Memory that a kernel reads, at least as many bytes as it does; null and 0 where the spec has
// none.
struct DeviceInput {
  const void* data = nullptr;
  std::size_t bytes = 0;
};

// Memory that a kernel writes, and may read.
struct DeviceOutput {
  void* data = nullptr;
  std::size_t bytes = 0;
  // NOLINTNEXTLINE(google-explicit-constructor): what one kernel has written another one reads.
  operator DeviceInput() const noexcept { return {data, bytes}; }
};

// Bytes of `count` elements; 0, which every launch refuses, where no memory has so many.
template <class T>
constexpr std::size_t device_bytes_of(std::size_t count) noexcept {
  return count <= SIZE_MAX / sizeof(T) ? count * sizeof(T) : 0;
}

// `count` elements of type T from `pointer` on, as in device_input(lengths, sequences).
template <class T>
constexpr DeviceInput device_input(const T* pointer, std::size_t count) noexcept {
  return {pointer, device_bytes_of<T>(count)};
}
template <class T>
constexpr DeviceOutput device_output(T* pointer, std::size_t count) noexcept {
  return {pointer, device_bytes_of<T>(count)};
}

}  // namespace heddle
