// Arguments: what a launch is given, checked against what its kernel wants, argument by argument.
#ifndef HEDDLE_PYTHON_SRC_ARGUMENTS_H_
#define HEDDLE_PYTHON_SRC_ARGUMENTS_H_

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "device_array.h"
#include "element.h"
#include "heddle/device_memory.h"
#include "heddle/kernel.h"

namespace heddle::python {

namespace nb = nanobind;

// A number that None leaves to the arrays' shapes.
using Number = std::optional<std::int64_t>;

// What an argument must be.
struct Wanted {
  const char* name;
  Element element;
  std::vector<std::int64_t> shape;
  bool wanted = true;  // false: the spec has no such argument, so it must be None
  bool written = false;
  std::size_t alignment = 16;
};

// All functions throw Error(kUsage) that begins with the argument's name: "launch.missing",
// "launch.unexpected", "launch.argument", "launch.dtype", "launch.shape", "launch.layout",
// "launch.device", "launch.misaligned", "launch.too_small", "launch.read_only".
class Arguments {
 public:
  explicit Arguments(const Kernel& kernel) : device_(kernel.device()) {}

  // A dense array.
  DeviceOutput dense(nb::handle value, const Wanted& wanted);
  // Rows that may be parts of wider ones. `shape` is [rows, columns ...]; `stride` is set to the
  // elements from a row to the next, 0 for dense rows. A DeviceMemory says its stride in
  // `given_stride`, where an array must have None.
  DeviceOutput rows(nb::handle value, const Wanted& wanted, const Number& given_stride,
                    std::int64_t* stride);
  // Memory without a shape, whose elements have one of the sizes `element` has; kernels check its
  // bytes. Null where `value` is None.
  DeviceOutput memory(nb::handle value, const char* name, Element element, bool written,
                      std::size_t alignment = 16);
  // The first number of an array's shape, which `given` (may be empty) must agree with; of a
  // DeviceMemory `given`, which must not be empty.
  std::int64_t size_of(nb::handle value, const char* name, const Number& given,
                       const char* given_name);
  // As above, of the last number.
  std::int64_t last_size_of(nb::handle value, const char* name, const Number& given,
                            const char* given_name);

  // All that must live as long as the arguments.
  nb::list take_owners() { return std::move(owners_); }

 private:
  // The array that was read last is not read again.
  DeviceArray read(nb::handle value, const char* name);
  DeviceArray check(nb::handle value, const Wanted& wanted);
  std::int64_t size_along(bool last, nb::handle value, const char* name, const Number& given,
                          const char* given_name);

  int device_;
  nb::handle last_value_;
  DeviceArray last_;
  nb::list owners_;
};

}  // namespace heddle::python

#endif  // HEDDLE_PYTHON_SRC_ARGUMENTS_H_
