// Device memory that Python objects stand for: by DLPack, by __cuda_array_interface__, or as a raw
// pointer with its number of bytes, heddle.DeviceMemory. Nothing is copied and no stream is waited
// for.
#ifndef HEDDLE_PYTHON_SRC_DEVICE_ARRAY_H_
#define HEDDLE_PYTHON_SRC_DEVICE_ARRAY_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::python {

namespace nb = nanobind;

// A raw pointer: neither its type nor its shape is known.
struct DeviceMemory {
  std::uintptr_t pointer = 0;
  std::size_t bytes = 0;
  int device = kUnknownDevice;
  static constexpr int kUnknownDevice = -1;
};

struct DeviceArray {
  void* data = nullptr;
  bool raw = false;  // of a DeviceMemory: the next four members mean nothing
  nb::dlpack::dtype dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // in elements
  bool read_only = false;
  std::size_t bytes = 0;  // of a dense array, or of the DeviceMemory
  int device = DeviceMemory::kUnknownDevice;
  nb::object owner;  // keeps the memory alive

  // Whether its elements lie one after the other, the last axis first.
  bool is_dense() const;
};

// Throws Error(kUsage) that names the argument: "launch.argument" for an object that is none of the
// three, "launch.device" for memory that is not of a CUDA device. With the GIL.
DeviceArray device_array(nb::handle value, const char* name);

// "[4, 128]"
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace heddle::python

#endif  // HEDDLE_PYTHON_SRC_DEVICE_ARRAY_H_
