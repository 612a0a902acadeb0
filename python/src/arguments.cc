#include "arguments.h"

#include <string>
#include <utility>

#include "errors.h"

namespace heddle::python {
namespace {

std::string quoted(const char* name, const std::string& rest) { return std::string(name) + rest; }

void check_place(const DeviceArray& array, const Wanted& wanted, int device) {
  if (array.device != DeviceMemory::kUnknownDevice && array.device != device) {
    refuse("launch.device", quoted(wanted.name, " is on another device than the kernel"),
           "device " + std::to_string(array.device), "device " + std::to_string(device));
  }
  if (wanted.written && array.read_only) {
    refuse("launch.read_only", quoted(wanted.name, " is read-only, and the kernel writes it"));
  }
  // Arrays without elements may lie nowhere; a launch with none of them does nothing.
  if (!array.raw && array.bytes == 0) return;
  if (array.data == nullptr) refuse("launch.missing", quoted(wanted.name, " is a null pointer"));
  const auto address = reinterpret_cast<std::uintptr_t>(array.data);
  if (address % wanted.alignment != 0) {
    refuse(
        "launch.misaligned",
        quoted(wanted.name, " is not aligned to " + std::to_string(wanted.alignment) + " bytes"));
  }
}

void check_element(const DeviceArray& array, const Wanted& wanted) {
  if (array.raw || is_element(wanted.element, array.dtype)) return;
  refuse("launch.dtype", quoted(wanted.name, " has elements of another type"), name_of(array.dtype),
         allowed_text(wanted.element));
}

[[noreturn]] void refuse_shape(const DeviceArray& array, const Wanted& wanted) {
  refuse("launch.shape", quoted(wanted.name, " has another shape"), shape_text(array.shape),
         shape_text(wanted.shape));
}

std::size_t bytes_of_element(Element element) {
  switch (element) {
    case Element::kFp16:
    case Element::kBf16:
      return 2;
    case Element::kFp32:
    case Element::kInt32:
      return 4;
    default:
      return 1;
  }
}

void check_raw_bytes(const DeviceArray& array, const Wanted& wanted, std::size_t needed) {
  if (!array.raw || array.bytes >= needed) return;
  refuse("launch.too_small", quoted(wanted.name, " has too few bytes"), std::to_string(array.bytes),
         "at least " + std::to_string(needed));
}

std::size_t dense_bytes(const Wanted& wanted) {
  std::size_t bytes = bytes_of_element(wanted.element);
  for (const std::int64_t size : wanted.shape) bytes *= static_cast<std::size_t>(size);
  return bytes;
}

}  // namespace

DeviceArray Arguments::read(nb::handle value, const char* name) {
  if (!last_value_.is(value)) {
    last_ = device_array(value, name);
    last_value_ = value;
  }
  return last_;
}

DeviceArray Arguments::check(nb::handle value, const Wanted& wanted) {
  DeviceArray array = read(value, wanted.name);
  check_element(array, wanted);
  // An array without dimensions is one element.
  if (!array.raw && array.shape.empty() && wanted.shape == std::vector<std::int64_t>{1}) {
    array.shape = array.strides = {1};
  }
  if (!array.raw && array.shape != wanted.shape) refuse_shape(array, wanted);
  return array;
}

DeviceOutput Arguments::dense(nb::handle value, const Wanted& wanted) {
  if (value.is_none()) {
    if (!wanted.wanted) return {};
    refuse("launch.missing", quoted(wanted.name, " is None, but the kernel's spec has it"), {},
           "an array of the shape " + shape_text(wanted.shape));
  }
  if (!wanted.wanted) {
    refuse("launch.unexpected", quoted(wanted.name, " is given, but the kernel's spec has none"));
  }
  DeviceArray array = check(value, wanted);
  if (!array.raw && !array.is_dense()) {
    refuse("launch.layout",
           quoted(wanted.name, " is not contiguous: strides " + shape_text(array.strides) +
                                   " of shape " + shape_text(array.shape)));
  }
  check_place(array, wanted, device_);
  check_raw_bytes(array, wanted, dense_bytes(wanted));
  owners_.append(std::move(array.owner));
  return {array.data, array.bytes};
}

DeviceOutput Arguments::rows(nb::handle value, const Wanted& wanted, const Number& given_stride,
                             std::int64_t* stride) {
  *stride = 0;
  if (value.is_none() || !wanted.wanted) return dense(value, wanted);
  DeviceArray array = check(value, wanted);
  std::int64_t row = 1;
  for (std::size_t i = 1; i < wanted.shape.size(); ++i) row *= wanted.shape[i];
  if (array.raw) {
    *stride = given_stride.value_or(0);
    check_place(array, wanted, device_);
    owners_.append(std::move(array.owner));
    return {array.data, array.bytes};
  }
  if (given_stride) {
    refuse("launch.unexpected",
           quoted(wanted.name, "_stride is given, but the array has its own strides"));
  }
  // A row must be dense; where there is one row, or none, its stride means nothing.
  std::int64_t inner = 1;
  for (std::size_t i = wanted.shape.size(); i-- > 1;) {
    if (array.shape[i] != 1 && array.strides[i] != inner) {
      refuse("launch.layout", quoted(wanted.name, " has rows that are not contiguous: strides " +
                                                      shape_text(array.strides) + " of shape " +
                                                      shape_text(array.shape)));
    }
    inner *= array.shape[i];
  }
  const std::int64_t count = array.shape[0];
  if (count > 1 && array.strides[0] != row) *stride = array.strides[0];
  if (*stride != 0 && *stride < row) {
    refuse("launch.layout",
           quoted(wanted.name, " has rows that overlap: strides " + shape_text(array.strides)));
  }
  check_place(array, wanted, device_);
  owners_.append(std::move(array.owner));
  const std::int64_t elements = count == 0 ? 0 : (count - 1) * (*stride == 0 ? row : *stride) + row;
  return {array.data, static_cast<std::size_t>(elements) * bytes_of_element(wanted.element)};
}

DeviceOutput Arguments::memory(nb::handle value, const char* name, Element element, bool written,
                               std::size_t alignment) {
  if (value.is_none()) return {};
  const Wanted wanted{name, element, {}, true, written, alignment};
  DeviceArray array = read(value, name);
  check_element(array, wanted);
  if (!array.raw && !array.is_dense()) {
    refuse("launch.layout",
           quoted(name, " is not contiguous: strides " + shape_text(array.strides) + " of shape " +
                            shape_text(array.shape)));
  }
  check_place(array, wanted, device_);
  owners_.append(std::move(array.owner));
  return {array.data, array.bytes};
}

std::int64_t Arguments::size_along(bool last, nb::handle value, const char* name,
                                   const Number& given, const char* given_name) {
  if (value.is_none()) {
    refuse("launch.missing", quoted(name, " is None, but the kernel's spec has it"));
  }
  const DeviceArray array = read(value, name);
  if (array.raw) {
    if (given) return *given;
    refuse("launch.missing", quoted(given_name, " is not given, and a DeviceMemory has no shape"));
  }
  if (array.shape.empty()) refuse("launch.shape", quoted(name, " is a scalar"));
  const std::int64_t size = last ? array.shape.back() : array.shape.front();
  if (given && *given != size) {
    refuse("launch.shape",
           quoted(name, std::string(" has another shape than ") + given_name + " says"),
           shape_text(array.shape), std::string(given_name) + " = " + std::to_string(*given));
  }
  return size;
}

std::int64_t Arguments::size_of(nb::handle value, const char* name, const Number& given,
                                const char* given_name) {
  return size_along(false, value, name, given, given_name);
}

std::int64_t Arguments::last_size_of(nb::handle value, const char* name, const Number& given,
                                     const char* given_name) {
  return size_along(true, value, name, given, given_name);
}

}  // namespace heddle::python
