// Arrays in the host's memory: NumPy's, and what else has DLPack.
#ifndef HEDDLE_PYTHON_SRC_HOST_ARRAY_H_
#define HEDDLE_PYTHON_SRC_HOST_ARRAY_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "element.h"

namespace heddle::python {

namespace nb = nanobind;

// The bytes of a dense array of this type and shape. Throws Error(kUsage) that names the argument:
// "weights.argument", "weights.dtype", "weights.shape", "weights.layout".
std::vector<std::uint8_t> host_bytes(nb::handle value, const char* name, Element element,
                                     const std::vector<std::int64_t>& shape);

// Whether it is an array in the host's memory with such elements.
bool has_elements(nb::handle value, Element element);

// Memory that a function fills: contiguous, of any type.
struct HostMemory {
  nb::ndarray<> array;  // keeps it alive
  void* data = nullptr;
  std::size_t bytes = 0;
};
// Throws as host_bytes(), and for memory that is read-only.
HostMemory writable_memory(nb::handle value, const char* name);

// Memory that a function reads: contiguous, of any type.
struct HostView {
  nb::ndarray<nb::ro> array;  // keeps it alive
  const void* data = nullptr;
  std::size_t bytes = 0;
};
HostView readable_memory(nb::handle value, const char* name);

// A new NumPy array of these bytes; types that NumPy lacks become their bits.
nb::object numpy_array(std::vector<std::uint8_t> bytes, Element element,
                       const std::vector<std::size_t>& shape);
// A new NumPy array of uint8 zeros, and where its bytes are.
nb::object new_numpy_bytes(std::size_t bytes, std::uint8_t** data);

}  // namespace heddle::python

#endif  // HEDDLE_PYTHON_SRC_HOST_ARRAY_H_
